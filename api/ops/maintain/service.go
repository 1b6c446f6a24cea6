package maintain

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/sessions"
)

// Service keeps tables small and quick to read.
type Service struct {
	Tables     access.Tables
	Operations operation.Service
	Leases     write.Leases
	Deletions  *deletion.Deletions
	Pool       *sessions.Pool
	Plans      *query.Plans
	// Temp is an existing absolute directory, where files are written before they
	// are uploaded.
	Temp    string
	Metrics *Metrics
	Logger  *slog.Logger
}

// maintained is a table that the caller may maintain, at its newest version.
type maintained struct {
	access.Changeable
	actor caller.Identity
	snap  *delta.Snapshot
	// rights are those that the work needs.
	rights access.Writable
}

// find opens the newest version for a caller who must have tables:modify where the table
// is. A table whose identity is in doubt is not maintained.
func (o Service) find(ctx context.Context, path access.Path) (maintained, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return maintained{}, err
	}
	t, err := o.Tables.OpenChangeable(ctx, a, access.Ref{Path: path, Newest: true, Rows: true, Scope: auth.ScopeTablesModify})
	return maintained{t, a, t.Snapshot(), t}, err
}

// needWhole requires the right to change the whole table. Error: access.ErrPartlyVisible.
func (m *maintained) needWhole(ctx context.Context, dryRun bool) error {
	purpose := access.Changing
	if dryRun {
		purpose = access.Previewing
	}
	whole, err := m.WholeFor(ctx, purpose)
	m.rights = whole
	return err
}

// seesAll reports whether the policies hide nothing of the table from the caller.
func (m maintained) seesAll() bool { return m.AsSeen().Whole() }

// learnsNumbers reports whether the reply has the numbers of files: for callers who see all of
// the table, and for work that needs the right to change the whole table.
func (m maintained) learnsNumbers() bool {
	_, whole := m.rights.(access.WholeTable)
	return whole || m.seesAll()
}

// progress returns the function that reports how many files are done, if the caller sees the
// whole table.
func (m maintained) progress(t *operation.Task) func(files int64) {
	return func(files int64) {
		if m.seesAll() {
			t.Progress(catalog.Progress{Done: files, Unit: "files"})
		}
	}
}

// Metrics counts what maintenance does.
type Metrics struct {
	files, bytes *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
}

// NewMetrics registers lakewarden_maintenance_files_total{op,change},
// lakewarden_maintenance_bytes_total{op,change} and
// lakewarden_maintenance_seconds{op,outcome}.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		files: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_maintenance_files_total", Help: "Files of tables that maintenance added and removed.",
		}, []string{"op", "change"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_maintenance_bytes_total", Help: "Their bytes.",
		}, []string{"op", "change"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lakewarden_maintenance_seconds", Help: "Time of maintenance, dry runs included.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10),
		}, []string{"op", "outcome"}),
	}
	registerer.MustRegister(m.files, m.bytes, m.seconds)
	return m
}

// The values of label change.
const (
	changeAdded   = "added"
	changeRemoved = "removed"
)

// maintenanceRun is one piece of maintenance to be counted.
type maintenanceRun struct {
	op    catalog.OperationKind
	began time.Time
}

// finish counts a run and logs what it did.
func (o Service) finish(ctx context.Context, r maintenanceRun, m maintained, err error, attrs ...slog.Attr) {
	outcome, level := "ok", slog.LevelInfo
	if err != nil {
		outcome, level = "failed", slog.LevelWarn
		attrs = append(attrs, slog.Any("error", err))
	}
	// The next request sees the commit.
	m.Changed(ctx)
	took := time.Since(r.began)
	o.Metrics.seconds.WithLabelValues(string(r.op), outcome).Observe(took.Seconds())
	attrs = append(attrs, slog.String("table_id", string(m.Located().DeltaID)), slog.Float64("seconds", took.Seconds()),
		slog.String("outcome", outcome))
	o.Logger.LogAttrs(ctx, level, string(r.op), attrs...)
}

// count counts files and bytes only if the caller may know them: a caller who alone
// maintains a table could derive them from the sum.
func (o Service) count(op catalog.OperationKind, m maintained, change string, files, bytes int64) {
	if !m.seesAll() {
		return
	}
	o.Metrics.files.WithLabelValues(string(op), change).Add(float64(files))
	o.Metrics.bytes.WithLabelValues(string(op), change).Add(float64(bytes))
}
