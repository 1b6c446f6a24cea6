package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// keyArgument is replaced by a drawn value in a statement's arguments.
const keyArgument = "$key"

// point compares one short statement on a warm session with the same statement in
// plain DuckDB, in each of the workload's modes.
func (r *runner) point(ctx context.Context) error {
	subjects := []Subject{r.user}
	names := []string{subjectServer}
	for _, mode := range r.workload.Modes {
		peer, err := startDuckDB(ctx, r.cfg, r.plain(mode))
		if err != nil {
			return err
		}
		defer func() { _ = peer.Close() }()
		subjects, names = append(subjects, peer), append(names, "duckdb."+mode)
	}

	taken := make([]Samples, len(subjects))
	random := rand.New(rand.NewPCG(r.workload.Seed, 0))
	for round := range r.workload.Warmup + r.workload.Runs {
		st := draw(r.statements[round%len(r.statements)], random)
		var rows int64
		for i, s := range subjects {
			answer, err := s.Ask(ctx, st)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", st.Name, names[i], err)
			}
			if i > 0 && answer.Rows != rows {
				return fmt.Errorf("%s on %s: %d rows, on the server %d", st.Name, names[i], answer.Rows, rows)
			}
			rows = answer.Rows
			if round >= r.workload.Warmup {
				taken[i] = append(taken[i], millis(answer.Total))
			}
		}
	}
	for i, name := range names {
		r.out.add("p50."+name, taken[i].Median(), "ms")
		r.out.add("p95."+name, taken[i].Quantile(0.95), "ms")
	}
	for i, name := range names[1:] {
		r.out.add("overhead."+name, taken[0].Median()-taken[i+1].Median(), "ms")
		r.out.addRelative("ratio."+name, taken[0].Median()/taken[i+1].Median(), false)
	}
	return nil
}

// draw returns a statement with drawn arguments.
func draw(st Statement, random *rand.Rand) Statement {
	args := make([]any, len(st.Args))
	for i, arg := range st.Args {
		if arg == keyArgument {
			arg = random.IntN(st.Keys) + 1
		}
		args[i] = arg
	}
	st.Args = args
	return st
}

// first runs the first statement of each of several new users.
func (r *runner) first(ctx context.Context) error {
	// The process is warm; only the user is new.
	if _, err := r.user.Ask(ctx, r.statements[0]); err != nil {
		return err
	}
	var taken Samples
	for i := range r.workload.Users {
		user, err := r.server.addUser(ctx, fmt.Sprintf("new%03d@bench.example", i))
		if err != nil {
			return err
		}
		answer, err := user.in(r.schema).Ask(ctx, r.statements[i%len(r.statements)])
		if err != nil {
			return fmt.Errorf("first statement of user %d: %w", i, err)
		}
		taken = append(taken, millis(answer.Total))
	}
	r.out.add("p50", taken.Median(), "ms")
	r.out.add("p95", taken.Quantile(0.95), "ms")
	return nil
}

// unknownFunction is at the end of the statements of refuse, so that the whole
// statement is parsed and checked before it is refused.
const unknownFunction = "bench_no_such_function(r_name)"

// refuse measures statements that are refused because of their last expression,
// minus the cost of a request that is refused because of its form.
func (r *runner) refuse(ctx context.Context) error {
	floor, _, err := r.refusals(ctx, []byte(`{"sql": 0}`))
	if err != nil {
		return err
	}
	r.out.add("p50.unreadable", floor.Median(), "ms")
	for _, size := range r.workload.Sizes {
		body, err := r.user.body(Statement{SQL: statementOf(size)})
		if err != nil {
			return err
		}
		taken, status, err := r.refusals(ctx, body)
		if err != nil {
			return err
		}
		r.out.add(fmt.Sprintf("validation.%d", size), taken.Median()-floor.Median(), "ms")
		r.out.note("%d bytes: status %d, p95 %.2f ms", size, status, taken.Quantile(0.95))
	}
	return nil
}

func (r *runner) refusals(ctx context.Context, body []byte) (Samples, int, error) {
	var (
		taken Samples
		last  int
	)
	for round := range r.workload.Warmup + r.workload.Runs {
		status, elapsed, err := r.user.status(ctx, "/v1/query", mediaJSON, body)
		if err != nil {
			return nil, 0, err
		}
		if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
			return nil, 0, fmt.Errorf("a statement that must be refused was answered %d", status)
		}
		last = status
		if round >= r.workload.Warmup {
			taken = append(taken, millis(elapsed))
		}
	}
	return taken, last, nil
}

// statementOf returns a statement of about size bytes that is valid except for its
// last term.
func statementOf(size int) string {
	const head, term = "SELECT count(*) FROM region WHERE ", "(r_name = 'EUROPE' AND length(r_comment) > %d) OR "
	var sql strings.Builder
	sql.WriteString(head)
	for i := 0; sql.Len()+len(term)+len(unknownFunction) < size; i++ {
		fmt.Fprintf(&sql, term, i)
	}
	sql.WriteString(unknownFunction)
	return sql.String()
}
