package ops

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/rules"
	"github.com/lakewarden/lakewarden/engine/skipping"
	"github.com/lakewarden/lakewarden/sessions"
)

// ForeignCommits checks the keys and constraints of tables after commits of other
// writers, which may not know them. A check becomes due when this replica first sees
// such a commit. Checks run one at a time, and only while no statement waits for
// memory. One check of a table covers all commits since the last one. The next check
// of the table starts after ten times as long as the last one took. The outcome is a
// metric and a log line.
type ForeignCommits struct {
	Store   catalog.Constraints
	Queries *Queries
	Metrics *ForeignMetrics
	Logger  *slog.Logger

	mu     sync.Mutex
	tables map[foreignKey]*foreignTable
	wake   chan struct{} // has room for one signal
}

// Limits of the checks.
const (
	maxForeignTables = 4096             // tables held in memory
	foreignCheckTime = 30 * time.Minute // time of one check, including its wait for memory
	foreignAttempts  = 3                // attempts of one failing check
	foreignRest      = time.Minute      // least time between two checks of a table
	foreignRests     = 10               // the same as a multiple of the last check's time
)

type foreignKey struct {
	config catalog.ConfigID
	path   string
}

// foreignTable is a table that another writer has committed to.
type foreignTable struct {
	config catalog.StorageConfig
	path   string
	// pending reports whether a check is due at the time in due.
	pending  bool
	due      time.Time
	attempts int
	// id and checked are the id and the version of the table in its last check.
	id      string
	checked int64
}

// Watch registers f for the commits that the lake sees. It must be called once, before
// the lake is used.
func (f *ForeignCommits) Watch() {
	f.tables, f.wake = map[foreignKey]*foreignTable{}, make(chan struct{}, 1)
	f.Queries.Lake.foreign = f.observe
}

// observe records a commit of another writer. It does not block on a check.
func (f *ForeignCommits) observe(config catalog.StorageConfig, path string, snap *delta.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := foreignKey{config.ID, path}
	t := f.tables[k]
	if t == nil {
		if len(f.tables) >= maxForeignTables && !f.evict() {
			f.Metrics.checked.WithLabelValues("dropped").Inc()
			return
		}
		t = &foreignTable{path: path}
		f.tables[k] = t
	}
	if t.id == snap.TableID() && !snap.ForeignSince(t.checked) {
		return // the table was evicted from memory and loaded again
	}
	t.config, t.pending, t.attempts = config, true, 0
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// evict removes a table that has no pending check, and reports whether there was one.
func (f *ForeignCommits) evict() bool {
	for k, t := range f.tables {
		if !t.pending {
			delete(f.tables, k)
			return true
		}
	}
	return false
}

// Run checks tables until ctx ends.
func (f *ForeignCommits) Run(ctx context.Context) {
	for ctx.Err() == nil {
		t, wait := f.next()
		if t != nil {
			f.check(ctx, t)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next returns the pending check that has been due longest, or how long to wait for
// it.
func (f *ForeignCommits) next() (*foreignTable, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first *foreignTable
	for _, t := range f.tables {
		if t.pending && (first == nil || t.due.Before(first.due)) {
			first = t
		}
	}
	switch {
	case first == nil:
		return nil, time.Hour
	case time.Until(first.due) > 0:
		return nil, time.Until(first.due)
	}
	first.pending = false
	return first, 0
}

// foreignCheck is the outcome of a check.
type foreignCheck struct {
	snap *delta.Snapshot
	// asked is the number of rules checked. broken counts the violated ones by kind.
	asked  int
	broken map[string]int
}

func (f *ForeignCommits) check(ctx context.Context, t *foreignTable) {
	begun := time.Now()
	f.mu.Lock()
	config := t.config
	f.mu.Unlock()
	bounded, cancel := context.WithTimeout(authz.System(ctx, "commits of other writers"), foreignCheckTime)
	defer cancel()
	found, err := f.brokenRules(bounded, config, t.path)
	if ctx.Err() != nil {
		return
	}
	took := time.Since(begun)
	f.mu.Lock()
	if t.due = time.Now(); err != nil || found.asked > 0 {
		t.due = t.due.Add(max(foreignRest, foreignRests*took))
	}
	if err == nil {
		t.id, t.checked = found.snap.TableID(), found.snap.Version()
	} else if t.attempts++; t.attempts < foreignAttempts {
		t.pending = true
	}
	f.mu.Unlock()
	switch {
	case errors.Is(err, delta.ErrTableNotFound):
	case err != nil:
		f.Metrics.checked.WithLabelValues("failed").Inc()
		f.Logger.WarnContext(ctx, "check after a commit of another writer", "config_id", string(config.ID), "error", err)
	case found.asked > 0:
		f.report(ctx, found)
	}
}

func (f *ForeignCommits) report(ctx context.Context, found foreignCheck) {
	if len(found.broken) == 0 {
		f.Metrics.checked.WithLabelValues("held").Inc()
		return
	}
	f.Metrics.checked.WithLabelValues("broken").Inc()
	attrs := []any{"table_id", found.snap.TableID(), "version", found.snap.Version()}
	for _, kind := range sortedKeys(found.broken) {
		f.Metrics.violations.WithLabelValues(kind).Add(float64(found.broken[kind]))
		attrs = append(attrs, kind, found.broken[kind])
	}
	f.Logger.WarnContext(ctx, "another writer broke rules of a table", attrs...)
}

// brokenRules checks the rules that other writers do not know: keys, and the
// constraints that only the catalog holds.
func (f *ForeignCommits) brokenRules(ctx context.Context, config catalog.StorageConfig, path string) (foreignCheck, error) {
	snap, err := f.Queries.Lake.Any(ctx, config, path)
	if err != nil {
		return foreignCheck{}, err
	}
	out := foreignCheck{snap: snap, broken: map[string]int{}}
	kept, err := f.Store.Constraints(ctx, config.Org, catalog.DeltaID(snap.TableID()))
	if err != nil {
		return out, err
	}
	kept = slices.DeleteFunc(kept, func(c catalog.Constraint) bool { return logged(ctx, f.Queries.Plans.parser, snap, c) })
	if keys := rules.KeysOf(snap.Schema(), snap.Properties()); len(kept)+len(keys.Primary)+len(keys.Unique) == 0 {
		return out, nil
	}
	if err := checkReadable(ctx, snap); err != nil {
		return out, err
	}
	set, err := ruleSet(ctx, f.Store, f.Queries.Plans.parser, config.Org, snap)
	if err != nil {
		return out, err
	}
	checks := slices.DeleteFunc(set.Rows(), func(r rules.Rule) bool {
		return r.Kind != rules.Checked || !slices.ContainsFunc(kept, func(c catalog.Constraint) bool { return c.Name == r.Name })
	})
	source := sourceOf(catalog.LocatedTable{Table: catalog.Table{Path: path}, StorageConfig: config}, snap)
	if files, ok := skipping.List(snap, columnsOf(snap), engine.Condition{}); ok {
		source.Files = files
	}
	held, err := f.session(ctx, config)
	if err != nil {
		return out, err
	}
	defer held.Release()
	scope := rules.Scope{Session: held, Sources: []engine.Source{source}, Lease: held.Lease}
	rows := rules.Relation{From: source.Relation()}
	note := func(kind string, n int64, err error) error {
		if out.asked++; n > 0 {
			out.broken[kind]++
		}
		return err
	}
	for _, key := range set.AllKeys() {
		n, err := scope.CountRepeated(ctx, key, rows)
		if err := note(kindOfKey(key), n, err); err != nil {
			return out, err
		}
	}
	for _, rule := range checks {
		n, err := scope.CountBroken(ctx, rule, rows)
		if err := note("check", n, err); err != nil {
			return out, err
		}
	}
	return out, nil
}

// session waits until no statement waits for memory, and acquires a session then.
func (f *ForeignCommits) session(ctx context.Context, config catalog.StorageConfig) (*sessions.Held, error) {
	for f.Queries.Pool.Stats().Queued > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return openWhenFree(ctx, f.Queries.Pool, sessions.Key{Org: string(config.Org), Roots: []string{sessionRoot(config)}}, "")
}

// kindOfKey returns the name of a key's kind in replies and metrics.
func kindOfKey(key rules.Key) string {
	if key.NullsEqual {
		return "primary_key"
	}
	return "unique"
}

// ForeignMetrics counts checks after commits of other writers. The labels name no
// table and the values count rules, not rows, because metrics are readable without a
// credential.
type ForeignMetrics struct{ checked, violations *prometheus.CounterVec }

// NewForeignMetrics registers lakewarden_foreign_commits_checked_total{outcome} and
// lakewarden_foreign_violations_total{kind}.
func NewForeignMetrics(registerer prometheus.Registerer) *ForeignMetrics {
	m := &ForeignMetrics{
		checked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_foreign_commits_checked_total", Help: "Checks of tables after commits of other writers, by what they came to.",
		}, []string{"outcome"}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_foreign_violations_total", Help: "Rules that such checks found broken.",
		}, []string{"kind"}),
	}
	for _, outcome := range []string{"held", "broken", "failed", "dropped"} {
		m.checked.WithLabelValues(outcome)
	}
	for _, kind := range []string{"primary_key", "unique", "check"} {
		m.violations.WithLabelValues(kind)
	}
	registerer.MustRegister(m.checked, m.violations)
	return m
}
