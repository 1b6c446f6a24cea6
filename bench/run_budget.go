package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// patience is how long the users of a budget workload go on altogether.
	patience = 5 * time.Minute
	// codeBusy is the code of a full queue, the only error that a budget workload
	// allows: a 503 because an engine died is a failure.
	codeBusy = "server_busy"
)

// budget runs statements of many users at once, each a few drawn from the
// workload's, and measures the memory of the server and its processes.
func (r *runner) budget(ctx context.Context) error {
	users := make([]*client, r.workload.Users)
	for i := range users {
		user, err := r.server.addUser(ctx, fmt.Sprintf("user%04d@bench.example", i))
		if err != nil {
			return err
		}
		users[i] = user.in(r.schema)
	}

	work, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t := tally{rows: map[string]int64{}, failures: map[string]int{}}
	stop := watch(ctx, r.server.proc.PID(), 50*time.Millisecond)
	start := time.Now()
	var group sync.WaitGroup
	for i, user := range users {
		group.Go(func() {
			random := rand.New(rand.NewPCG(r.workload.Seed, uint64(i)))
			for range r.workload.Runs {
				t.ask(work, user, r.statements[random.IntN(len(r.statements))])
			}
			user.http.CloseIdleConnections()
		})
	}
	group.Wait()
	elapsed, peak := time.Since(start), stop()
	if err := ctx.Err(); err != nil {
		return err
	}

	r.out.add("elapsed", elapsed.Seconds(), "s")
	r.out.add("p50", t.taken.Median(), "ms")
	r.out.add("p95", t.taken.Quantile(0.95), "ms")
	r.out.add("answered", float64(len(t.taken))/float64(r.workload.Users*r.workload.Runs), "")
	r.out.add("busy", float64(t.busy), "")
	r.out.add("failed", float64(t.failed), "")
	r.out.add("rss_peak", megabytes(peak), "MB")
	r.out.addRelative("rss_of_budget", megabytes(peak)/float64(r.workload.BudgetMiB), false)
	for _, cause := range slices.Sorted(maps.Keys(t.failures)) {
		r.out.note("%d times: %s", t.failures[cause], cause)
	}
	return nil
}

// tally counts the answers to the users of a budget workload. Its fields are
// guarded by mu.
type tally struct {
	mu           sync.Mutex
	taken        Samples
	rows         map[string]int64 // by statement
	busy, failed int
	failures     map[string]int // by message
}

// ask repeats a statement until the server is not busy, waiting as long as the
// server asks, or until the context ends, which leaves the statement without an
// answer.
func (t *tally) ask(ctx context.Context, user *client, st Statement) {
	for {
		answer, wait, err := user.try(ctx, st)
		if ctx.Err() != nil {
			return
		}
		if !t.note(st, answer, err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// note counts one answer and reports whether the statement has to be repeated.
func (t *tally) note(st Statement, answer Answer, err error) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if status := new(StatusError); errors.As(err, &status) {
		if status.Code() == codeBusy {
			t.busy++
			return true
		}
		// Without the body, which has the request's id.
		err = errors.New(strings.TrimSpace(fmt.Sprintf("status %d %s", status.Status, status.Code())))
	}
	rows, known := t.rows[st.Name]
	if err == nil && known && rows != answer.Rows {
		err = fmt.Errorf("%d rows, others %d", answer.Rows, rows)
	}
	if err != nil {
		t.failed++
		t.failures[st.Name+": "+err.Error()]++
		return false
	}
	t.rows[st.Name] = answer.Rows
	t.taken = append(t.taken, millis(answer.Total))
	return false
}
