package catalogtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// next returns a number that is unique in this world.
func (w *world) next() int64 { return w.count.Add(1) }

func (w *world) user() catalog.UserID {
	w.Helper()
	n := w.next()
	u, err := w.CreateUser(w.ctx, catalog.NewUser{Email: fmt.Sprintf("user%04d@example.com", n), DisplayName: fmt.Sprint("User ", n)})
	require.NoError(w, err)
	return u.ID
}

// org creates an organisation and its owner.
func (w *world) org() (catalog.OrgID, catalog.UserID) {
	w.Helper()
	owner := w.user()
	o, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: fmt.Sprint("Organisation ", w.next()), Owner: owner})
	require.NoError(w, err)
	return o.ID, owner
}

func (w *world) member(org catalog.OrgID, role catalog.Role) catalog.UserID {
	w.Helper()
	user := w.user()
	_, err := w.AddMember(w.ctx, org, user, role)
	require.NoError(w, err)
	return user
}

func (w *world) workspace(org catalog.OrgID, members ...catalog.UserID) catalog.WorkspaceID {
	w.Helper()
	created, err := w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: fmt.Sprint("Workspace ", w.next())})
	require.NoError(w, err)
	for _, user := range members {
		_, err := w.SetWorkspaceMember(w.ctx, org, created.ID, user, catalog.RoleViewer)
		require.NoError(w, err)
	}
	return created.ID
}

func (w *world) defaultWorkspace(org catalog.OrgID) catalog.WorkspaceID {
	w.Helper()
	found, err := w.DefaultWorkspace(w.ctx, org)
	require.NoError(w, err)
	return found.ID
}

// config creates a configuration at a unique location.
func (w *world) config(org catalog.OrgID, owner catalog.UserID, workspace catalog.WorkspaceID, name string) catalog.StorageConfig {
	w.Helper()
	created, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{
		Org: org, Name: name, Kind: catalog.KindLocal, Workspace: workspace, Owner: owner,
		Location: catalog.NewLocation("file", "data", fmt.Sprint("place", w.next())),
		Settings: json.RawMessage(`{"root":"somewhere"}`),
	})
	require.NoError(w, err)
	return created
}

func (w *world) delta() catalog.DeltaID { return catalog.DeltaID(catalog.NewID[catalog.TableID]()) }

func (w *world) table(config catalog.StorageConfig, path string) catalog.Table {
	w.Helper()
	created, err := w.RegisterTable(w.ctx, catalog.SystemViewer(config.Org),
		catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: path})
	require.NoError(w, err)
	return created
}

// sync runs a discovery and returns the result.
func (w *world) sync(config catalog.StorageConfig, d catalog.Discovery) catalog.DiscoveryResult {
	w.Helper()
	result, err := w.SyncTables(w.ctx, catalog.SystemViewer(config.Org), config.ID, d)
	require.NoError(w, err)
	return result
}

// vanish has two discoveries miss a table.
func (w *world) vanish(config catalog.StorageConfig, path string) {
	w.Helper()
	for range 2 {
		w.sync(config, catalog.Discovery{Missing: []string{path}, Complete: true})
	}
}

func (w *world) reload(t catalog.Table) catalog.Table {
	w.Helper()
	found, err := w.Store.Table(w.ctx, catalog.SystemViewer(t.Org), t.ID)
	require.NoError(w, err)
	return found.Table
}

func rowPolicy(table catalog.DeltaID) catalog.PolicySpec {
	return catalog.PolicySpec{Table: table, Kind: catalog.PolicyRows, Text: "permit (principal, action, resource);", Enabled: true}
}

func (w *world) policy(org catalog.OrgID, by catalog.UserID, spec catalog.PolicySpec) catalog.Policy {
	w.Helper()
	created, err := w.CreatePolicy(w.ctx, catalog.NewPolicy{Org: org, PolicySpec: spec, By: by})
	require.NoError(w, err)
	return created
}

// newKey returns the input for a key of 90 days.
func (w *world) newKey(org catalog.OrgID, user catalog.UserID) catalog.NewAPIKey {
	prefix := fmt.Sprintf("lw_%08d", w.next())
	return catalog.NewAPIKey{
		Org: org, User: user, Name: "key", Prefix: prefix, Hash: sha256.Sum256([]byte(prefix)),
		Scopes: []string{"tables:read", "org:read", "tables:read"}, ExpiresAt: w.now().Add(90 * 24 * time.Hour),
	}
}

func (w *world) key(org catalog.OrgID, user catalog.UserID) catalog.APIKey {
	w.Helper()
	created, err := w.CreateAPIKey(w.ctx, w.newKey(org, user))
	require.NoError(w, err)
	return created
}

// epochNow returns the epoch.
func (w *world) epochNow() uint64 {
	w.Helper()
	e, err := w.Epoch(w.ctx)
	require.NoError(w, err)
	return e
}

// same compares records field by field.
func (w *world) same(want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("records differ (-want +got):\n%s", diff)
	}
}

// all returns the items of all pages of a list.
func all[T any](w *world, size int, fetch func(catalog.Page) (catalog.List[T], error)) []T {
	w.Helper()
	page := catalog.Page{Size: size}
	items := []T{}
	for {
		list, err := fetch(page)
		require.NoError(w, err)
		require.NotNil(w, list.Items)
		items = append(items, list.Items...)
		if list.Next == "" {
			return items
		}
		require.Len(w, list.Items, size, "only the last page may be short")
		page.Token = list.Next
	}
}

// fieldsOf returns the fields that an error names.
func fieldsOf(w *world, err error) []string {
	w.Helper()
	var invalid catalog.FieldErrors
	require.ErrorAs(w, err, &invalid)
	require.ErrorIs(w, err, catalog.ErrInvalid)
	fields := []string{}
	for _, f := range invalid {
		fields = append(fields, f.Field)
	}
	return fields
}

// existing asserts that a unique field is taken.
func existing(w *world, err error, field string) {
	w.Helper()
	var exists *catalog.ExistsError
	require.ErrorAs(w, err, &exists)
	require.ErrorIs(w, err, catalog.ErrExists)
	require.Equal(w, field, exists.Field)
}

// stale asserts a version conflict that carries the current version.
func stale(w *world, err error, current int64) {
	w.Helper()
	var conflict *catalog.VersionConflictError
	require.ErrorAs(w, err, &conflict)
	require.ErrorIs(w, err, catalog.ErrVersionConflict)
	require.Equal(w, current, conflict.Current)
}

func sorted[T ~string](items []T) []T {
	items = slices.Clone(items)
	slices.Sort(items)
	return items
}

func ptr[T any](v T) *T { return &v }
