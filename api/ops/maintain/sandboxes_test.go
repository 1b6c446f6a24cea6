package maintain_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// oneDirectory opens the only configuration of a test.
type oneDirectory struct{ dir string }

// Bucket implements lake.Opener.
func (o oneDirectory) Bucket(context.Context, catalog.StorageConfig) (objstore.Bucket, error) {
	return file.New(o.dir)
}

// TestUnusedTablesOfSandboxes moves the clock over the life of two tables, of which one is
// used.
func TestUnusedTablesOfSandboxes(t *testing.T) {
	ctx := authz.System(t.Context(), "test")
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := func() time.Time { return clock }
	raw, err := sqlstore.Open(ctx, filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	owner, err := raw.CreateUser(ctx, catalog.NewUser{Email: "owner@example.com"})
	require.NoError(t, err)
	org, err := raw.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Acme", Owner: owner.ID,
		Config: catalog.OrganisationConfig{Features: map[string]bool{catalog.FeatureSandbox: true}}})
	require.NoError(t, err)
	dir := t.TempDir()
	config, err := raw.CreateSandbox(ctx, org.ID, catalog.NewLocation("file", dir))
	require.NoError(t, err)
	tables := map[string]catalog.TableID{}
	for _, name := range []string{"idle", "used"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o750))
		bucket, err := file.New(filepath.Join(dir, name))
		require.NoError(t, err)
		schema := delta.Struct{Fields: []delta.Field{{Name: "v", Type: delta.String, Nullable: true}}}
		snap, err := delta.Create(ctx, bucket, delta.CreateOptions{Schema: schema})
		require.NoError(t, err)
		registered, err := raw.RegisterTable(ctx, catalog.MemberViewer(org.ID, owner.ID),
			catalog.NewTable{Config: config.ID, DeltaID: catalog.DeltaID(snap.TableID()), Path: name})
		require.NoError(t, err)
		tables[name] = registered.ID
	}
	sandboxes := maintain.Sandboxes{Store: authz.New(raw), Lake: lake.New(oneDirectory{dir}, delta.Options{}), Now: now,
		Logger: slog.New(slog.DiscardHandler)}
	state := func(name string) (registered, files bool) {
		require.NoError(t, sandboxes.Sweep(t.Context()))
		found, err := raw.Table(ctx, catalog.SystemViewer(org.ID), tables[name])
		if err != nil {
			require.ErrorIs(t, err, catalog.ErrNotFound)
		}
		_, statErr := os.Stat(filepath.Join(dir, name, "_delta_log", "00000000000000000000.json"))
		return err == nil && found.State == catalog.TableLive, statErr == nil
	}
	expect := func(name string, registered, files bool, message string) {
		t.Helper()
		isRegistered, hasFiles := state(name)
		require.Equal(t, [2]bool{registered, files}, [2]bool{isRegistered, hasFiles}, message)
	}
	clock = clock.Add(29 * 24 * time.Hour)
	expect("idle", true, true, "after 29 days")
	require.NoError(t, raw.UseTable(ctx, tables["used"]))
	clock = clock.Add(24*time.Hour + access.UseInterval)
	expect("idle", true, true, "a use may be recorded an hour late")
	clock = clock.Add(time.Second)
	expect("idle", false, true, "dropped, and statements that read it may end")
	clock = clock.Add(time.Hour + time.Second)
	expect("idle", false, false, "the files are gone")
	_, err = raw.Table(ctx, catalog.SystemViewer(org.ID), tables["idle"])
	require.ErrorIs(t, err, catalog.ErrNotFound, "so is the tombstone")
	expect("used", true, true, "used within 30 days")

	off := catalog.OrganisationConfig{}
	_, err = raw.UpdateOrganisation(ctx, org.ID, catalog.AnyVersion, catalog.OrganisationChange{Config: &off})
	require.NoError(t, err)
	clock = clock.Add(90 * 24 * time.Hour)
	expect("used", true, true, "nothing is dropped while the sandbox is off")
	on := org.Config
	_, err = raw.UpdateOrganisation(ctx, org.ID, catalog.AnyVersion, catalog.OrganisationChange{Config: &on})
	require.NoError(t, err)
	expect("used", true, true, "the time starts again")
	clock = clock.Add(31 * 24 * time.Hour)
	expect("used", false, true, "unused since")
}
