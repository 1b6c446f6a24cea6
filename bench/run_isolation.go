package bench

import (
	"context"
	"fmt"
)

// Where the engine runs, by the names of the server's setting.
const (
	isolationProcess = "process"
	isolationNone    = "none"
)

// isolation asks the same of two servers in turn: the workload's own, whose
// engine runs in processes of its own, and one whose engine does not.
func (r *runner) isolation(ctx context.Context) (err error) {
	other, err := startServer(ctx, r.cfg, []string{"LAKEWARDEN_ISOLATION=" + isolationNone})
	if err != nil {
		return fmt.Errorf("start second server: %w", err)
	}
	defer func() {
		if stopped := other.stop(err != nil); stopped != nil && err == nil {
			err = fmt.Errorf("stop second server: %w", stopped)
		}
	}()
	user, err := r.analyst(ctx, other, r.store)
	if err != nil {
		return err
	}
	subjects := [...]renamed{{r.user, isolationProcess}, {user, isolationNone}}

	for _, st := range r.statements {
		var taken [len(subjects)]Samples
		repeat := max(1, st.Repeat)
		for round := range (r.workload.Warmup + r.workload.Runs) * repeat {
			var rows int64
			for i, s := range subjects {
				answer, err := s.Ask(ctx, st)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", st.Name, s.Name(), err)
				}
				if i > 0 && answer.Rows != rows {
					return fmt.Errorf("%s on %s: %d rows, other %d", st.Name, s.Name(), answer.Rows, rows)
				}
				rows = answer.Rows
				if round >= r.workload.Warmup*repeat {
					taken[i] = append(taken[i], millis(answer.Total))
				}
			}
		}
		for i, s := range subjects {
			r.out.add("p50."+st.Name+"."+s.Name(), taken[i].Median(), "ms")
		}
		r.out.add("added."+st.Name, taken[0].Median()-taken[1].Median(), "ms")
		r.out.addRelative("ratio."+st.Name, taken[0].Median()/taken[1].Median(), false)
	}
	return nil
}
