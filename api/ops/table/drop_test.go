package table_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

func TestDropAndPurgeNeedTheWholeTable(t *testing.T) {
	l, made := items(t)
	l.Policy(made, catalog.PolicyRows, "", `permit (principal in Role::"admin", action, resource);`)
	require.ErrorIs(t, l.Files.Drop(l.Member(catalog.RoleBuilder), l.Path("items"), true), access.ErrPartlyVisible)
	require.ErrorIs(t, l.Files.Drop(l.Member(catalog.RoleBuilder), l.Path("items"), false), access.ErrPartlyVisible)
	admin := l.Member(catalog.RoleAdmin)
	require.NoError(t, l.Files.Drop(admin, l.Path("items"), true))
	_, err := l.Tables.Get(admin, l.Path("items"))
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// TestPurgeIsRefusedDuringAnother checks that files are deleted by one request at a time.
func TestPurgeIsRefusedDuringAnother(t *testing.T) {
	l, made := items(t)
	admin := l.Member(catalog.RoleAdmin)
	lease, err := l.Store.BeginWrite(authz.System(t.Context(), "another purge"),
		catalog.NewWrite{Org: made.Org, Table: made.DeltaID, Kind: catalog.WriteVacuum})
	require.NoError(t, err)
	require.ErrorIs(t, l.Files.Drop(admin, l.Path("items"), true), table.ErrVacuumRunning)
	require.NoError(t, l.Store.EndWrite(authz.System(t.Context(), "another purge"), lease))
	_, err = l.Tables.Get(admin, l.Path("items"))
	require.NoError(t, err)
	require.NoError(t, l.Files.Drop(admin, l.Path("items"), true))
}

// meeting is a store of leases in which two begin before either is used.
type meeting struct {
	write.LeaseStore
	begun sync.WaitGroup
}

func (m *meeting) CheckPlace(ctx context.Context, t catalog.Table) error {
	m.begun.Done()
	m.begun.Wait()
	return m.LeaseStore.CheckPlace(ctx, t)
}

// TestPurgesThatBeginAtOnce checks that at most one of two purges deletes files.
func TestPurgesThatBeginAtOnce(t *testing.T) {
	l, _ := items(t)
	admin := l.Member(catalog.RoleAdmin)
	at := &meeting{LeaseStore: l.Files.Leases.Store}
	at.begun.Add(2)
	files := l.Files
	files.Leases.Store = at
	var both sync.WaitGroup
	var errs [2]error
	for i := range errs {
		both.Go(func() { errs[i] = files.Drop(admin, l.Path("items"), true) })
	}
	both.Wait()
	require.True(t, errors.Is(errs[0], table.ErrVacuumRunning) || errors.Is(errs[1], table.ErrVacuumRunning), "%v", errs)
	for _, err := range errs {
		require.True(t, err == nil || errors.Is(err, table.ErrVacuumRunning), "%v", err)
	}
}

// replacing is a store in which something happens before a table is read by its id.
type replacing struct {
	catalog.Store
	replace func()
}

func (r replacing) Table(ctx context.Context, v catalog.Viewer, id catalog.TableID) (catalog.LocatedTable, error) {
	r.replace()
	return r.Store.Table(ctx, v, id)
}

// TestPurgeDoesNotDropANewTable has the table dropped and created anew during a purge.
func TestPurgeDoesNotDropANewTable(t *testing.T) {
	l, made := items(t)
	admin := l.Member(catalog.RoleAdmin)
	var created table.Created
	slow := l.Files
	slow.Store = replacing{l.Files.Store, func() {
		require.NoError(t, l.Files.Drop(admin, l.Path("items"), false))
		created = l.Create("items", table.ColumnDefinition{Name: "id", Type: "long"})
	}}
	require.ErrorIs(t, slow.Drop(admin, l.Path("items"), true), catalog.ErrNotFound)
	require.Equal(t, made.ID, created.ID)
	require.NotEqual(t, made.DeltaID, created.DeltaID)
	_, err := l.Tables.Get(admin, l.Path("items"))
	require.NoError(t, err)
}
