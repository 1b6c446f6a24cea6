package bench

import (
	"context"
	"fmt"
)

// Values of the server's isolation setting.
const (
	isolationProcess = "process"
	isolationNone    = "none"
)

// isolation compares two servers: the workload's, whose engine runs in separate
// processes, and one whose engine runs in the server's process.
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
