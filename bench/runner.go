package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Run measures one workload on a new server. A failure is part of the outcome, so
// that other workloads are still measured.
func Run(ctx context.Context, cfg Config, w Workload) Outcome {
	outcome := Outcome{Workload: w.Name, Title: w.Title}
	if err := run(ctx, cfg, w, &outcome); err != nil {
		outcome.Error = err.Error()
	}
	outcome.compareTargets(w.Targets)
	return outcome
}

func run(ctx context.Context, cfg Config, w Workload, outcome *Outcome) (err error) {
	if w.Kind == KindLog {
		return logLoads(ctx, cfg, w, outcome)
	}
	store, err := openStore(ctx, cfg, w)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := store.Close(); stopped != nil && err == nil {
			err = fmt.Errorf("stop object store: %w", stopped)
		}
	}()
	srv, err := startServer(ctx, cfg, w.settings())
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	defer func() {
		if stopped := srv.stop(err != nil); stopped != nil && err == nil {
			err = fmt.Errorf("stop server: %w", stopped)
		}
	}()

	r := &runner{cfg: cfg, workload: w, server: srv, store: store, out: outcome}
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
	case KindIsolation:
		return r.isolation(ctx)
	case KindBudget:
		return r.budget(ctx)
	case KindKills:
		return r.kills(ctx)
	case KindMaintain:
		return r.maintain(ctx)
	case KindWrite:
		return r.write(ctx)
	case KindBodies:
		return r.bodies(ctx)
	case KindFlood:
		return r.flood(ctx)
	case KindInfer:
		return r.infer(ctx)
	case KindAllowed:
		return r.allowed(ctx)
	case KindRequests:
		return r.requests(ctx)
	case KindSharing:
		return r.sharing(ctx)
	case KindSlow:
		return r.slow(ctx)
	case KindMove:
		return r.move(ctx)
	case KindDiscover:
		return r.discover(ctx)
	case KindAnalysis:
		return r.analysis(ctx)
	}
	return fmt.Errorf("unknown kind %q", w.Kind)
}

// runner is the state of one workload's run.
type runner struct {
	cfg        Config
	workload   Workload
	server     *server
	store      *objectStore // nil unless the workload is remote
	user       *client      // a viewer, with the workload's tables as default schema
	schema     string
	filters    []Filter // those in force
	statements []Statement
	out        *Outcome
}

// The folders of the tables that Prepare creates.
const (
	folderTPCH    = "tpch"
	folderTPCDS   = "tpcds"
	folderMany    = "many"
	folderCommits = "commits"
)

// prepare reads filters and statements and sets up the server for them.
func (r *runner) prepare(ctx context.Context) (err error) {
	if r.workload.Filtered {
		if r.filters, err = filtersOf(filepath.Join(r.cfg.Data, r.workload.folder())); err != nil {
			return err
		}
	}
	if r.user, err = r.analyst(ctx, r.server, r.store); err != nil {
		return err
	}
	r.schema = r.user.schema

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

// analyst registers the tables with a server, sets the filters and adds a user to
// whom the policies apply, unlike to the administrator. The tables are those of the
// store, or on disk if it is nil. A workload without prepared tables gets an empty
// folder.
func (r *runner) analyst(ctx context.Context, s *server, store *objectStore) (*client, error) {
	schema, err := r.register(ctx, s, store)
	if err != nil {
		return nil, err
	}
	for _, f := range r.filters {
		if err := s.filter(ctx, schema, f); err != nil {
			return nil, err
		}
	}
	user, err := s.addUser(ctx, "analyst@bench.example")
	if err != nil {
		return nil, err
	}
	return user.in(schema), nil
}

func (r *runner) register(ctx context.Context, s *server, store *objectStore) (string, error) {
	if !r.workload.prepared() {
		own := filepath.Join(filepath.Base(s.dir), "tables")
		if err := os.Mkdir(filepath.Join(r.cfg.Data, own), 0o755); err != nil {
			return "", fmt.Errorf("make folder of tables: %w", err)
		}
		return s.storage(ctx, own)
	}
	if store != nil {
		return s.remoteStorage(ctx, r.workload.folder(), store)
	}
	return s.storage(ctx, r.workload.folder())
}

// filtersOf returns the filters on tables of a folder.
func filtersOf(folder string) ([]Filter, error) {
	all, err := Filters()
	if err != nil {
		return nil, err
	}
	tables, err := tableFolders(folder)
	if err != nil {
		return nil, err
	}
	own := filepath.Base(folder)
	if !slices.ContainsFunc(all, func(f Filter) bool { return f.Folder == own }) {
		own = ""
	}
	return slices.DeleteFunc(all, func(f Filter) bool { return tables[f.Table] == "" || f.Folder != own }), nil
}
