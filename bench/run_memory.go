package bench

import (
	"context"
	"fmt"
	"math"
	"time"
)

// stream reads a large result and measures the server's memory. The base is the
// server after a first small statement of the same user, so that the session exists
// already.
func (r *runner) stream(ctx context.Context) error {
	if _, err := r.user.Ask(ctx, Statement{SQL: "SELECT count(*) FROM region"}); err != nil {
		return err
	}
	before, err := usage(r.server.proc.PID())
	if err != nil {
		return err
	}
	var (
		growth      int64
		first, rate Samples
		rows, bytes int64
	)
	for range r.workload.Runs {
		for _, st := range r.statements {
			stop := watch(ctx, r.server.proc.PID(), 10*time.Millisecond)
			answer, err := r.user.Ask(ctx, st)
			growth = max(growth, stop()-before.RSS)
			if err != nil {
				return fmt.Errorf("%s: %w", st.Name, err)
			}
			rows, bytes = answer.Rows, answer.Bytes
			first = append(first, millis(answer.First))
			rate = append(rate, megabytes(answer.Bytes)/answer.Total.Seconds())
		}
	}
	r.out.add("rows", float64(rows), "")
	r.out.add("result", megabytes(bytes), "MB")
	r.out.add("rss_before", megabytes(before.RSS), "MB")
	r.out.add("rss_growth", megabytes(growth), "MB")
	r.out.add("first_byte", first.Median(), "ms")
	r.out.Metrics = append(r.out.Metrics, Metric{Name: "rate", Value: rate.Median(), Unit: "MB/s", HigherIsBetter: true})
	return nil
}

// idleWarm is how long the server may keep a session warm (a minute), then its
// process (another). The others bound how long idle waits, how often it checks, and
// which changes of memory it ignores.
const (
	idleWarm   = 2*time.Minute + 10*time.Second
	idleWait   = 5 * time.Minute
	idleStep   = 5 * time.Second
	idleSteady = 1 << 20
)

// idle lets many users run one statement each, and measures the memory that remains
// afterwards. A tenth of the users is measured first as the base, so that what all
// users share does not count.
func (r *runner) idle(ctx context.Context) error {
	schema, err := r.server.storage(ctx, folderMany)
	if err != nil {
		return err
	}
	base := r.workload.Users / 10
	if err := r.visit(ctx, schema, 0, base); err != nil {
		return err
	}
	before, err := r.settled(ctx)
	if err != nil {
		return err
	}
	if err := r.visit(ctx, schema, base, base+r.workload.Users); err != nil {
		return err
	}
	after, err := r.settled(ctx)
	if err != nil {
		return err
	}
	r.out.add("users", float64(r.workload.Users), "")
	r.out.add("rss_before", megabytes(before.RSS), "MB")
	r.out.add("rss_after", megabytes(after.RSS), "MB")
	r.out.add("per_user", megabytes(after.RSS-before.RSS)/float64(r.workload.Users), "MB")
	r.out.add("threads_added", float64(after.Threads-before.Threads), "")
	return nil
}

func (r *runner) visit(ctx context.Context, schema string, from, to int) error {
	for i := from; i < to; i++ {
		if i%100 == 0 {
			r.cfg.Progress("%s: user %d", r.workload.Name, i)
		}
		user, err := r.server.addUser(ctx, fmt.Sprintf("idle%04d@bench.example", i))
		if err != nil {
			return err
		}
		if _, err := user.in(schema).Ask(ctx, r.statements[i%len(r.statements)]); err != nil {
			return fmt.Errorf("user %d: %w", i, err)
		}
		user.http.CloseIdleConnections()
	}
	return nil
}

// settled waits until the users count as idle, then until memory and threads no
// longer fall, and returns their minimum.
func (r *runner) settled(ctx context.Context) (Usage, error) {
	least := Usage{RSS: math.MaxInt64, Threads: math.MaxInt}
	deadline := time.Now().Add(idleWait)
	warm, step := idleWarm, idleStep
	if r.cfg.Settle > 0 {
		warm, step = 0, r.cfg.Settle
	}
	select {
	case <-ctx.Done():
		return Usage{}, ctx.Err()
	case <-time.After(warm):
	}
	for steady := 0; steady < 6 && time.Now().Before(deadline); {
		now, err := usage(r.server.proc.PID())
		if err != nil {
			return Usage{}, err
		}
		if now.RSS < least.RSS-idleSteady || now.Threads < least.Threads {
			steady = 0
		} else {
			steady++
		}
		least.RSS, least.Threads = min(least.RSS, now.RSS), min(least.Threads, now.Threads)
		select {
		case <-ctx.Done():
			return Usage{}, ctx.Err()
		case <-time.After(step):
		}
	}
	return least, nil
}
