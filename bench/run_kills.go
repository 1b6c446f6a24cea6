package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

// killPause lets a new process start its statement before it is killed; killTime
// bounds all kills together.
const (
	killPause = 5 * time.Millisecond
	killTime  = 15 * time.Minute
)

// victimSQL keeps the processors busy for longer than its process lives.
const victimSQL = "SELECT sum(i) FROM range(400000000) t(i)"

// kills measures one organisation's statements while those of another run
// undisturbed, and again while the other's process is killed repeatedly.
func (r *runner) kills(ctx context.Context) error {
	who, err := r.server.command(ctx, "bootstrap", "--org", "victim", "--email", "victim@bench.example", "--json")
	if err != nil {
		return err
	}
	victim := newClient(r.server.base, who.APIKey)
	st := r.statements[0]
	if _, err := r.user.Ask(ctx, st); err != nil {
		return err
	}
	spared, err := r.workers()
	if err != nil {
		return err
	}

	var calm, stormy Samples
	lost := 0
	err = under(ctx, func(ctx context.Context) { lost = insist(ctx, victim) }, func(ctx context.Context) error {
		if calm, err = r.sample(ctx, st, r.workload.Runs); err != nil {
			return err
		}
		done, stop := context.WithCancel(ctx)
		defer stop()
		var killed error
		var group sync.WaitGroup
		group.Go(func() {
			defer stop()
			killed = r.kill(ctx, spared)
		})
		for done.Err() == nil {
			more, err := r.sample(ctx, st, 1)
			if err != nil {
				stop()
				group.Wait()
				return err
			}
			stormy = append(stormy, more...)
		}
		group.Wait()
		return killed
	})
	if err != nil {
		return err
	}
	r.out.add("kills", float64(r.workload.Kills), "")
	r.out.add("lost.victim", float64(lost), "")
	r.out.add("statements.calm", float64(len(calm)), "")
	r.out.add("statements.kills", float64(len(stormy)), "")
	r.out.add("p99.calm", calm.Quantile(0.99), "ms")
	r.out.add("p99.kills", stormy.Quantile(0.99), "ms")
	r.out.addRelative("ratio.p99", stormy.Quantile(0.99)/calm.Quantile(0.99), false)
	return nil
}

// under runs work while load runs.
func under(ctx context.Context, load func(context.Context), work func(context.Context) error) error {
	loaded, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { load(loaded) })
	err := work(ctx)
	stop()
	group.Wait()
	return err
}

// insist repeats a statement until the context ends, and counts the failures.
func insist(ctx context.Context, c *client) (failed int) {
	for ctx.Err() == nil {
		if _, err := c.Ask(ctx, Statement{SQL: victimSQL}); err != nil && ctx.Err() == nil {
			failed++
		}
	}
	return failed
}

// sample runs a statement n times, without failures.
func (r *runner) sample(ctx context.Context, st Statement, n int) (Samples, error) {
	var taken Samples
	for range n {
		answer, err := r.user.Ask(ctx, st)
		if err != nil {
			return nil, fmt.Errorf("%s during the kills: %w", st.Name, err)
		}
		taken = append(taken, millis(answer.Total))
	}
	return taken, nil
}

// workers returns the server's child processes.
func (r *runner) workers() ([]int, error) { return childrenOf(r.server.proc.PID()) }

// kill kills child processes that are not spared, as often as the workload says.
func (r *runner) kill(ctx context.Context, spared []int) error {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	pause := time.NewTicker(killPause)
	defer pause.Stop()
	killed := map[int]bool{} // an ended process stays a child until the server waits for it
	for len(killed) < r.workload.Kills {
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %d kills: %w", len(killed), ctx.Err())
		case <-pause.C:
		}
		pids, err := r.workers()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if !slices.Contains(spared, pid) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
	}
	return nil
}
