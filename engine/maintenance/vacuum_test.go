package maintenance_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// vacuum runs one and returns the names of what it found, sorted.
func vacuum(t require.TestingT, snap *delta.Snapshot, opts maintenance.VacuumOptions) []string {
	names := []string{}
	opts.Deleted = func(files []objstore.Object) {
		for _, f := range files {
			names = append(names, f.Name)
		}
	}
	n, err := maintenance.Vacuum(context.Background(), snap, opts)
	require.NoError(t, err)
	require.Len(t, names, int(n))
	slices.Sort(names)
	return names
}

// TestVacuumAgreesWithDeltaRS compares vacuums of random histories with what
// delta-rs would delete. Files of versions within the retention are known from the
// history.
func TestVacuumAgreesWithDeltaRS(t *testing.T) {
	oracle, root := oracletest.StartProcess(t, deltaRSScript), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		require.NoError(t, err)
		p := newHistory(t, rapid.Bool().Draw(t, "partitioned"), map[string]string{"delta.deletedFileRetentionDuration": "interval 60 days"})
		for range rapid.IntRange(3, 20).Draw(t, "steps") {
			p.step()
		}
		p.now = time.Now()
		// The time of no step: the two programs read the clock one after the other.
		hours := p.hours()
		retention := time.Duration(hours)*time.Hour + 30*time.Second
		since := p.now.Add(-retention)
		for _, at := range p.times() {
			if at.Sub(since).Abs() < 2*time.Minute {
				t.Skip("too close to tell")
			}
		}
		needed := p.needed(since)
		opts := maintenance.VacuumOptions{Retention: &retention, AllowShortRetention: true, DryRun: true}
		dry := vacuum(t, p.snap, opts)
		require.Subset(t, p.present(), append(needed, dry...), "a dry run deletes nothing")
		p.copyTo(dir)
		theirs := ask[[]string](t, oracle, map[string]any{"do": "vacuum", "path": dir, "retention_hours": hours, "dry_run": true, "full": true})
		require.Equal(t, theirs, dry)

		opts.DryRun = false
		before := p.present()
		require.Equal(t, dry, vacuum(t, p.snap, opts))
		require.Empty(t, vacuum(t, p.snap, opts), "a second run finds nothing")
		after := p.present()
		require.Subset(t, after, needed)
		require.Len(t, after, len(before)-len(dry))
	})
}

// TestVacuumKeepsVersions keeps the files of every version that can be
// reconstructed, however old, also if the log starts at a checkpoint.
func TestVacuumKeepsVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newHistory(t, false, map[string]string{
			"delta.deletedFileRetentionDuration": "interval 1 days", "delta.checkpointInterval": "3",
		})
		for range rapid.IntRange(3, 20).Draw(t, "steps") {
			p.step()
		}
		p.now = time.Now()
		none := time.Duration(0)
		opts := maintenance.VacuumOptions{Retention: &none, AllowShortRetention: true, KeepVersions: true}
		if rapid.Bool().Draw(t, "lite") {
			opts.Mode = maintenance.VacuumLite
		}
		gone := vacuum(t, p.snap, opts)
		require.Subset(t, p.present(), p.needed(time.Time{}))
		for _, name := range gone {
			require.NotContains(t, p.needed(time.Time{}), name)
		}
	})
}

// TestLongRetentionAfterCheckpoints uses a retention longer than the table's own,
// for which checkpoints lack removals.
func TestLongRetentionAfterCheckpoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newHistory(t, false, map[string]string{
			"delta.deletedFileRetentionDuration": "interval 1 days", "delta.checkpointInterval": "1",
		})
		for range rapid.IntRange(8, 24).Draw(t, "steps") {
			p.step()
		}
		p.now = time.Now()
		snap, err := delta.Load(context.Background(), p.bucket, delta.Options{})
		require.NoError(t, err)
		retention := time.Duration(max(24, p.hours())) * time.Hour
		vacuum(t, snap, maintenance.VacuumOptions{Retention: &retention})
		require.Subset(t, p.present(), p.needed(p.now.Add(-retention)))
	})
}

// TestLiteFindsWhatTheLogTells checks that a lite vacuum deletes the same files as
// a full one, except those that no commit has named.
func TestLiteFindsWhatTheLogTells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newHistory(t, rapid.Bool().Draw(t, "partitioned"), nil)
		for range rapid.IntRange(3, 20).Draw(t, "steps") {
			p.step()
		}
		p.now = time.Now()
		none := time.Duration(0)
		opts := maintenance.VacuumOptions{Retention: &none, AllowShortRetention: true, DryRun: true}
		full := vacuum(t, p.snap, opts)
		opts.Mode = maintenance.VacuumLite
		lite := vacuum(t, p.snap, opts)
		ever := p.needed(time.Time{})
		full = slices.DeleteFunc(full, func(name string) bool { return !slices.Contains(ever, name) })
		require.Equal(t, full, lite)
	})
}
