package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// SlowReaders describes connections of one user, each of which reads an endless result too slowly.
// If the server ends the statement of a connection, another connection replaces it.
type SlowReaders struct {
	// Stalled is the number of connections that read nothing after the header of the reply,
	// Trickling the number of those that read a byte a second.
	Stalled   int `json:"stalled"`
	Trickling int `json:"trickling"`
}

// endlessSQL has more rows than any client reads.
const endlessSQL = "SELECT repeat('x', 1000) AS v FROM t a, t b, t c"

// slowSpillMiB bounds the disk space of results that nobody reads.
const slowSpillMiB = 1024

// slow measures statements of one user, first alone and then while another user of the organisation
// reads slowly. The times include the waits of a client that is told to retry.
func (r *runner) slow(ctx context.Context) error {
	if _, err := r.sharedTable(ctx); err != nil {
		return err
	}
	reader, err := r.server.addUser(ctx, "slow@bench.example")
	if err != nil {
		return err
	}
	readers := slowReaders{SlowReaders: *r.workload.Slow, user: reader.in(r.schema), figures: r.figures}
	var alone, beside Samples
	if _, err := r.paced(ctx, r.workload.Warmup); err != nil {
		return err
	}
	if alone, err = r.paced(ctx, r.workload.Runs); err != nil {
		return err
	}
	err = under(ctx, readers.run, func(ctx context.Context) (err error) {
		if err := pause(ctx, settling); err != nil {
			return err
		}
		beside, err = r.paced(ctx, r.workload.Runs)
		return err
	})
	if err != nil {
		return err
	}
	r.out.add("readers.begun", float64(readers.begun.Load()), "")
	r.out.add("readers.refused", float64(readers.refused.Load()), "")
	for _, one := range []struct {
		name  string
		taken Samples
	}{{"alone", alone}, {"beside", beside}} {
		r.out.add("p50."+one.name, one.taken.Median(), "ms")
		r.out.add("p99."+one.name, one.taken.Quantile(0.99), "ms")
		r.out.add("max."+one.name, one.taken.Quantile(1), "ms")
	}
	return nil
}

// paced runs the statements of the workload n times, with pauses, and returns their times.
func (r *runner) paced(ctx context.Context, n int) (taken Samples, err error) {
	for range n {
		for _, st := range r.statements {
			begun := time.Now()
			if _, err := r.user.Ask(ctx, st); err != nil { // waits and repeats if the server is busy
				return taken, fmt.Errorf("%s: %w", st.Name, err)
			}
			taken = append(taken, millis(time.Since(begun)))
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return taken, err
			}
		}
	}
	return taken, nil
}

// slowReaders are connections that read too slowly.
type slowReaders struct {
	SlowReaders
	user *client
	// figures reads the server's metrics.
	figures func(context.Context) (figures, error)
	// begun counts the replies that began, refused the requests that got none.
	begun, refused atomic.Int64
}

// run opens connections, until ctx ends, whenever fewer statements than described are running or
// waiting. It counts statements by the server's metrics, because a reader notices the end of its
// statement only after it has read everything that was sent before.
func (s *slowReaders) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	all := s.Stalled + s.Trickling
	for started := 0; ctx.Err() == nil; {
		if now, err := s.figures(ctx); err == nil {
			for n := int(now.sessions["running"] + now.sessions["queued"]); n < all; n++ {
				trickle := started%all >= s.Stalled
				started++
				group.Go(func() { s.read(ctx, trickle) })
			}
		}
		_ = pause(ctx, 200*time.Millisecond)
	}
}

// settling is the time until the readers hold as much of the server's resources as they can.
const settling = 15 * time.Second

// read begins to read an endless result, and holds the connection until ctx ends.
func (s *slowReaders) read(ctx context.Context, trickle bool) {
	response, err := s.begin(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.refused.Add(1)
		}
		return
	}
	defer response.Body.Close()
	s.begun.Add(1)
	one := make([]byte, 1)
	for trickle && pause(ctx, time.Second) == nil {
		if _, err := io.ReadFull(response.Body, one); err != nil {
			return
		}
	}
	<-ctx.Done()
}

// begin requests an endless result. It returns when the reply has begun.
func (s *slowReaders) begin(ctx context.Context) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"sql": endlessSQL, "schema": s.user.schema, "timeout_ms": (10 * time.Minute).Milliseconds()})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.user.base+"/v1/query", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = s.user.header.Clone()
	request.Header.Set("Accept", arrowStream)
	response, err := s.user.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, statusError(response)
	}
	return response, nil
}
