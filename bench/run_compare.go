package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
)

// A statement is slower than on a peer if it takes more than both bounds.
const (
	slowRatio  = 1.5
	slowMillis = 30
)

// compare runs every statement on the server and on each peer in turn, so that
// disturbances of the machine affect all of them.
func (r *runner) compare(ctx context.Context) error {
	subjects, closers, err := r.subjects(ctx)
	defer func() {
		for _, c := range closers {
			_ = c.Close() // the measurements are complete
		}
	}()
	if err != nil {
		return err
	}

	taken := map[string]map[string]Samples{} // subject, statement
	for _, s := range subjects {
		taken[s.Name()] = map[string]Samples{}
		r.out.Subjects = append(r.out.Subjects, s.Name())
	}
	rows, cold := map[string]int64{}, make([]float64, len(subjects))
	random := rand.New(rand.NewPCG(r.workload.Seed, 0))
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		for _, i := range random.Perm(len(r.statements)) {
			st := r.statements[i]
			for i, s := range subjects {
				answer, err := s.Ask(ctx, st)
				if round == 0 {
					cold[i] += millis(answer.Total)
				}
				if err == nil && r.workload.Again {
					answer, err = s.Ask(ctx, st)
				}
				if err != nil {
					return fmt.Errorf("%s on %s: %w", st.Name, s.Name(), err)
				}
				// A wrong result invalidates the measurement.
				if known, ok := rows[st.Name]; ok && known != answer.Rows {
					return fmt.Errorf("%s on %s: %d rows, others %d", st.Name, s.Name(), answer.Rows, known)
				}
				rows[st.Name] = answer.Rows
				if round >= r.workload.Warmup {
					taken[s.Name()][st.Name] = append(taken[s.Name()][st.Name], millis(answer.Total))
				}
			}
		}
	}

	totals, slower := make([]float64, len(subjects)), make([]float64, len(subjects))
	for _, st := range r.statements {
		line := Line{Statement: st.Name, Rows: rows[st.Name]}
		for i, s := range subjects {
			median := taken[s.Name()][st.Name].Median()
			line.Millis = append(line.Millis, median)
			totals[i] += median
			if own := line.Millis[0]; own > slowRatio*median && own > median+slowMillis {
				slower[i]++
			}
		}
		r.out.Lines = append(r.out.Lines, line)
	}
	for i, s := range subjects {
		r.out.add("total."+s.Name(), totals[i], "ms")
		r.out.add("cold."+s.Name(), cold[i], "ms")
	}
	for i, s := range subjects[1:] {
		if s.Name() == peerRoapi {
			r.out.addRelative("speedup."+s.Name(), totals[i+1]/totals[0], true)
		} else {
			r.out.addRelative("ratio."+s.Name(), totals[0]/totals[i+1], false)
			r.out.add("slower."+s.Name(), slower[i+1], "statements")
		}
	}
	return nil
}

// subjects starts the workload's peers and returns all subjects, the server first.
// The closers close what was started, even after an error.
func (r *runner) subjects(ctx context.Context) ([]Subject, []io.Closer, error) {
	subjects := []Subject{r.user}
	var closers []io.Closer
	for _, name := range r.workload.Peers {
		peer, err := r.peer(ctx, name)
		if err != nil {
			return nil, closers, err
		}
		subjects = append(subjects, peer)
		if c, ok := peer.(io.Closer); ok {
			closers = append(closers, c)
		}
	}
	return subjects, closers, nil
}

func (r *runner) peer(ctx context.Context, name string) (Subject, error) {
	switch name {
	case peerDuckDB:
		return startDuckDB(ctx, r.cfg, r.plain(modeScan))
	case peerVisible:
		plain, err := startDuckDB(ctx, r.cfg, plainTables{folder: r.workload.folder() + "-visible", mode: modeScan})
		return visibleRows{plain}, err
	case peerRoapi:
		return startRoapi(ctx, r.cfg, r.workload.folder())
	case peerLocal:
		return r.startLocal(ctx)
	}
	return nil, fmt.Errorf("unknown peer %q", name)
}

// plain returns the tables that plain DuckDB reads, which are those of the server.
func (r *runner) plain(mode string) plainTables {
	tables := plainTables{folder: r.workload.folder(), mode: mode, filters: r.filters}
	if r.store != nil {
		tables.endpoint = r.store.endpoint
	}
	return tables
}
