package maintain_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// errKilled is the error of everything that a killed process still tries.
var errKilled = errors.New("killed")

// killed is the catalog of a process that is killed when the first file has been deleted: nothing
// that it does afterwards has an effect.
type killed struct {
	catalog.Store
	dead atomic.Bool
}

func (k *killed) RecordFileDeletion(ctx context.Context, d catalog.FileDeletion) error {
	if k.dead.Load() {
		return errKilled
	}
	return k.Store.RecordFileDeletion(ctx, d)
}

func (k *killed) EndWrite(ctx context.Context, id catalog.WriteLeaseID) error {
	if k.dead.Load() {
		return errKilled
	}
	return k.Store.EndWrite(ctx, id)
}

// killing is a bucket of that process.
type killing struct {
	objstore.Bucket
	process *killed
}

func (b killing) Delete(ctx context.Context, name string) error {
	err := b.Bucket.Delete(ctx, name)
	if !b.process.dead.CompareAndSwap(false, true) {
		return errKilled
	}
	return err
}

// killingOpener opens buckets of that process.
type killingOpener struct {
	dir     oneDirectory
	process *killed
}

// Bucket implements lake.Opener.
func (o killingOpener) Bucket(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	bucket, err := o.dir.Bucket(ctx, config)
	return killing{bucket, o.process}, err
}

func opened(ctx context.Context, t *testing.T, l *opstest.Lake) access.Table {
	t.Helper()
	table, err := l.Tables.Open(ctx, l.Caller(ctx), access.Ref{Path: l.Path("t")})
	require.NoError(t, err)
	return table
}

// TestDeletionsOfAKilledProcessAreRecorded kills a vacuum, and a drop with purge, after the first
// file is deleted. The next process of the same name records the deletion.
func TestDeletionsOfAKilledProcessAreRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		delete func(ctx context.Context, o maintain.Service, files table.Files, l *opstest.Lake) error
		all    bool // all files are deleted
	}{
		"vacuum": {func(ctx context.Context, o maintain.Service, _ table.Files, l *opstest.Lake) error {
			none := time.Duration(0)
			_, _, err := o.Vacuum(ctx, l.Path("t"), maintain.Vacuum{Retention: &none, Insist: true}, time.Minute,
				func(maintain.Vacuumed) any { return nil })
			return err
		}, false},
		"drop with purge": {func(ctx context.Context, _ maintain.Service, files table.Files, l *opstest.Lake) error {
			return files.Drop(ctx, l.Path("t"), true)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			made := l.Create("t", table.ColumnDefinition{Name: "n", Type: "long"})
			l.Insert("t", `[{"n": 1}]`)
			l.Insert("t", `[{"n": 2}]`)
			admin := l.Member(catalog.RoleAdmin)
			stray := filepath.Join(l.Dir, opened(admin, t, l).Located().Path, "stray.parquet")
			require.NoError(t, os.WriteFile(stray, []byte("x"), 0o600))
			long := time.Now().Add(-24 * time.Hour)
			require.NoError(t, os.Chtimes(stray, long, long))

			system := authz.System(t.Context(), "test")
			process := &killed{Store: l.Store}
			log := slog.New(slog.DiscardHandler)
			leases := write.Leases{Store: process, Logger: log, Holder: "one"}
			data := lake.New(killingOpener{oneDirectory{l.Dir}, process}, delta.Options{})
			tables := access.New(process, data, access.Options{Permissions: l.Store})
			deletions, err := deletion.New(system, process, time.Now)
			require.NoError(t, err)
			auditor := caller.NewAuditor(system, l.Store, log)
			t.Cleanup(auditor.Close)
			runner := operation.NewRunner(system, l.Store,
				operation.Options{Name: "one", Logger: log, Audit: auditor,
					Describe: func(error) catalog.OperationProblem { return catalog.OperationProblem{Code: "internal"} }})
			t.Cleanup(func() { require.NoError(t, runner.Close(context.Background())) })
			service := maintain.Service{Tables: tables, Operations: operation.Service{Store: l.Store, Runner: runner}, Leases: leases,
				Deletions: deletions, Metrics: maintain.NewMetrics(prometheus.NewRegistry()), Logger: log}
			files := table.Files{Store: process, Tables: tables, Leases: leases, Deletions: deletions}

			require.ErrorIs(t, c.delete(admin, service, files, l), errKilled)
			require.True(t, process.dead.Load())
			recorded := func() []catalog.FileDeletion {
				found, err := l.Store.FileDeletionsSince(system, 0)
				require.NoError(t, err)
				return found
			}
			require.Empty(t, recorded())
			_, err = write.Leases{Store: l.Store, Logger: log, Holder: "one"}.EndFormer(system)
			require.NoError(t, err)
			found := recorded()
			require.Len(t, found, 1)
			require.Equal(t, made.DeltaID, found[0].Table)
			require.True(t, found[0].Concerns(made.DeltaID, 1, 0), "a version whose files are gone")
			require.Equal(t, c.all, found[0].Kept == catalog.NoVersion)
		})
	}
}
