package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Run measures one workload on a server of its own. A failure is part of the
// outcome, so that one workload does not take the others' figures along.
func Run(ctx context.Context, cfg Config, w Workload) Outcome {
	outcome := Outcome{Workload: w.Name, Title: w.Title}
	if err := run(ctx, cfg, w, &outcome); err != nil {
		outcome.Error = err.Error()
	}
	outcome.judge(w.Targets)
	return outcome
}

func run(ctx context.Context, cfg Config, w Workload, outcome *Outcome) (err error) {
	srv, err := startServer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	defer func() {
		if stopped := srv.stop(err != nil); stopped != nil && err == nil {
			err = fmt.Errorf("stop server: %w", stopped)
		}
	}()

	r := &runner{cfg: cfg, workload: w, server: srv, out: outcome}
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	switch w.Kind {
	case KindCompare:
		return r.compare(ctx)
	case KindPoint:
		return r.point(ctx)
	case KindFirst:
		return r.first(ctx)
	case KindValidate:
		return r.refuse(ctx)
	case KindStream:
		return r.stream(ctx)
	case KindIdle:
		return r.idle(ctx)
	}
	return fmt.Errorf("unknown kind %q", w.Kind)
}

// runner is the state of one workload's run.
type runner struct {
	cfg        Config
	workload   Workload
	server     *server
	user       *client // a viewer, with the TPC-H tables as default schema
	schema     string
	filters    []Filter // those in force
	statements []Statement
	out        *Outcome
}

// The folders that data/tpch.py makes.
const (
	folderTPCH = "tpch"
	folderMany = "many"
)

// prepare registers the tables, sets the filters and adds a user who, unlike
// the administrator, is what the policies are about.
func (r *runner) prepare(ctx context.Context) error {
	schema, err := r.server.storage(ctx, folderTPCH)
	if err != nil {
		return err
	}
	r.schema = schema
	if r.workload.Filtered {
		if r.filters, err = Filters(); err != nil {
			return err
		}
		for _, f := range r.filters {
			if err := r.server.filter(ctx, schema, f); err != nil {
				return err
			}
		}
	}
	user, err := r.server.addUser(ctx, "analyst@bench.example")
	if err != nil {
		return err
	}
	r.user = user.in(schema)

	r.statements = r.workload.Statements
	if r.workload.Queries != "" {
		text, err := os.ReadFile(filepath.Join(r.cfg.Data, r.workload.Queries))
		if err != nil {
			return fmt.Errorf("read statements: %w", err)
		}
		if r.statements, err = ParseQueries(string(text)); err != nil {
			return fmt.Errorf("%s: %w", r.workload.Queries, err)
		}
	}
	return nil
}
