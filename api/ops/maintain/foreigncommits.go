package maintain

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/sessions"
)

// ForeignCommits checks the keys, constraints and domains of tables after commits of other
// writers, which may not know them. A check becomes due when this replica first sees
// such a commit. Checks run one at a time, and only while no statement waits for
// memory. Rules that such a writer has lost with the metadata of fields are written again if
// the rows satisfy them. Organisations take turns. One check of a table covers all commits since the
// last one. The next check of the table starts after ten times as long as the last one
// took. The outcome is a metric and a log line. The size of a table in a sandbox is
// recorded.
type ForeignCommits struct {
	Store   ForeignRules
	Lake    *lake.Lake
	Tables  access.Tables
	Domains *write.Domains
	Parser  engine.Parser
	Pool    *sessions.Pool
	// Leases are those of the commits that write lost rules again. They must be set before
	// Run is called.
	Leases  write.Leases
	Metrics *ForeignMetrics
	Logger  *slog.Logger

	mu     sync.Mutex
	tables map[foreignKey]*foreignTable
	orgs   map[catalog.OrgID]*foreignOrg // those with pending tables
	turn   int64                         // counts the checks
	wake   chan struct{}                 // of one
}

// ForeignRules stores the rules that other writers do not know, and the sizes of tables in
// sandboxes.
type ForeignRules interface {
	catalog.Constraints
	TableDomains(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (catalog.TableDomains, error)
	MeasureTable(ctx context.Context, config catalog.ConfigID, path string, size catalog.TableSize) error
}

// The limits of checks.
const (
	maxForeignTables  = 4096             // tables that are remembered
	maxForeignPending = 512              // tables of one organisation that wait for a check
	foreignCheckTime  = 30 * time.Minute // of one check, its wait for memory included
	foreignAttempts   = 3                // of one check that fails
	foreignRest       = time.Minute      // between two checks of a table, at least
	foreignRests      = 10               // the same, in times that the last one took
)

type foreignKey struct {
	config catalog.ConfigID
	path   string
}

// foreignTable is a table that another writer has committed to.
type foreignTable struct {
	config catalog.StorageConfig
	path   string
	// pending says that a check is due at a time.
	pending  bool
	due      time.Time
	attempts int
	// id and checked are the table and the version that were checked last.
	id      string
	checked int64
}

// foreignOrg is an organisation with pending tables.
type foreignOrg struct {
	pending int
	// turn is that of its last check, or of its first pending table: the lowest one
	// is served next.
	turn int64
}

// Watch registers the checks with the lake. It must be called once, before the lake is used.
func (f *ForeignCommits) Watch() {
	f.tables, f.orgs, f.wake = map[foreignKey]*foreignTable{}, map[catalog.OrgID]*foreignOrg{}, make(chan struct{}, 1)
	f.Lake.OnForeign = f.seen
}

// seen notes a commit of another writer. It does not block.
func (f *ForeignCommits) seen(config catalog.StorageConfig, path string, snap *delta.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := foreignKey{config.ID, path}
	t := f.tables[k]
	if t != nil && t.id == snap.TableID() && !snap.ForeignSince(t.checked) {
		return // the table was evicted and loaded again
	}
	if t == nil || !t.pending {
		org := f.orgs[config.Org]
		if org != nil && org.pending >= maxForeignPending || t == nil && len(f.tables) >= maxForeignTables && !f.forget() {
			f.Metrics.checked.WithLabelValues("dropped").Inc()
			return
		}
	}
	if t == nil {
		t = &foreignTable{path: path}
		f.tables[k] = t
	}
	t.config, t.attempts = config, 0
	f.await(t)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// await makes a table pending. A table that was not due before is due now.
func (f *ForeignCommits) await(t *foreignTable) {
	if t.pending {
		return
	}
	t.pending = true
	if now := time.Now(); t.due.Before(now) {
		t.due = now
	}
	org := f.orgs[t.config.Org]
	if org == nil {
		org = &foreignOrg{turn: f.turn}
		f.orgs[t.config.Org] = org
	}
	org.pending++
}

// forget makes room among the tables that are not to be checked.
func (f *ForeignCommits) forget() bool {
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

// next takes the table whose check has been due longest, of the organisation whose
// turn it is, or says how long to wait.
func (f *ForeignCommits) next() (*foreignTable, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first *foreignTable
	now, wait := time.Now(), time.Hour
	for _, t := range f.tables {
		switch {
		case !t.pending:
		case t.due.After(now):
			wait = min(wait, t.due.Sub(now))
		case first == nil || f.before(t, first):
			first = t
		}
	}
	if first == nil {
		return nil, wait
	}
	first.pending = false
	f.turn++
	org := f.orgs[first.config.Org]
	org.turn = f.turn
	if org.pending--; org.pending == 0 {
		delete(f.orgs, first.config.Org)
	}
	return first, 0
}

// before reports whether a is checked before b, when both are due.
func (f *ForeignCommits) before(a, b *foreignTable) bool {
	if x, y := f.orgs[a.config.Org].turn, f.orgs[b.config.Org].turn; x != y {
		return x < y
	}
	return a.due.Before(b.due)
}

func (f *ForeignCommits) check(ctx context.Context, t *foreignTable) {
	begun := time.Now()
	f.mu.Lock()
	config := t.config
	f.mu.Unlock()
	bounded, cancel := context.WithTimeout(authz.System(ctx, "commits of other writers"), foreignCheckTime)
	defer cancel()
	found, err := f.countBroken(bounded, config, t.path)
	if err == nil {
		err = f.memory().NoteDropped(bounded, found.located, found.snap)
	}
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
		f.await(t)
	}
	f.mu.Unlock()
	switch {
	case errors.Is(err, delta.ErrTableNotFound):
	case err != nil:
		f.Metrics.checked.WithLabelValues("failed").Inc()
		f.Logger.WarnContext(ctx, "check after a commit of another writer", "config_id", string(config.ID), "error", err)
	default:
		f.reportLost(ctx, found)
		if found.asked > 0 {
			f.report(ctx, found)
		}
	}
}

func (f *ForeignCommits) report(ctx context.Context, found foreignCheck) {
	if len(found.broken) == 0 {
		f.Metrics.checked.WithLabelValues("held").Inc()
		return
	}
	attrs := []any{"table_id", found.snap.TableID(), "version", found.snap.Version()}
	for _, kind := range slices.Sorted(maps.Keys(found.broken)) {
		f.Metrics.violations.WithLabelValues(kind).Add(float64(found.broken[kind]))
		attrs = append(attrs, kind, found.broken[kind])
	}
	f.Logger.WarnContext(ctx, "another writer broke rules of a table", attrs...)
	f.Metrics.checked.WithLabelValues("broken").Inc() // last: who sees it finds the rest
}

// ForeignMetrics counts checks after commits of other writers. Their labels name no table. Their values
// depend on the contents of tables: who may write to a bucket could ask for values of a table that a
// domain refers to. They are for operators only.
type ForeignMetrics struct{ checked, violations, lost *prometheus.CounterVec }

// NewForeignMetrics registers lakewarden_foreign_commits_checked_total{outcome},
// lakewarden_foreign_violations_total{kind} and lakewarden_foreign_lost_rules_total{outcome}.
func NewForeignMetrics(registerer prometheus.Registerer) *ForeignMetrics {
	m := &ForeignMetrics{
		checked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_foreign_commits_checked_total", Help: "Checks of tables after commits of other writers, by what they came to.",
		}, []string{"outcome"}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_foreign_violations_total", Help: "Rules that such checks found broken.",
		}, []string{"kind"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_foreign_lost_rules_total", Help: "Rules of logs that other writers lost, by what became of them.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{"held", "broken", "failed", "dropped"} {
		m.checked.WithLabelValues(outcome)
	}
	for _, kind := range []string{"primary_key", "unique", "not_null", "check", "domain"} {
		m.violations.WithLabelValues(kind)
	}
	for _, outcome := range []string{"restored", "kept", "dropped"} {
		m.lost.WithLabelValues(outcome)
	}
	registerer.MustRegister(m.checked, m.violations, m.lost)
	return m
}
