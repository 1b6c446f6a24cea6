package delta

import (
	"context"
	"sync"
)

// pipeline fetches n items, several at a time, and uses them in order.
type pipeline[T any] struct {
	n int
	// ahead bounds the number of concurrent fetches, room the sum of their sizes. At
	// least one fetch is always allowed.
	ahead int
	room  int64
	size  func(i int) int64
	// fetch runs in goroutines of its own, use in that of run.
	fetch func(ctx context.Context, i int) (T, error)
	use   func(i int, value T) error
}

type fetched[T any] struct {
	value T
	err   error
}

// run returns the first error in the order of the items, after every fetch has ended.
func (p *pipeline[T]) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	results := make([]chan fetched[T], min(p.n, p.ahead))
	for i := range results {
		results[i] = make(chan fetched[T], 1)
	}
	next, bytes := 0, int64(0)
	for i := range p.n {
		for next < p.n && next < i+len(results) && (next == i || bytes+p.size(next) <= p.room) {
			bytes += p.size(next)
			n, result := next, results[next%len(results)]
			running.Go(func() {
				value, err := p.fetch(ctx, n)
				result <- fetched[T]{value, err}
			})
			next++
		}
		got := <-results[i%len(results)]
		if got.err != nil {
			return got.err
		}
		if err := p.use(i, got.value); err != nil {
			return err
		}
		bytes -= p.size(i)
	}
	return nil
}
