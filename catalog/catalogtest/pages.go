package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func pages(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, "", "c")
	v := catalog.MemberViewer(org, owner)
	// The byte order of these names differs from the order of any language.
	for _, path := range []string{"b", "_a", "a", "a_b", "ab", "Z", "z1"} {
		w.table(config, path)
	}
	for _, size := range []int{1, 2, 3, 7, 8} {
		var names []string
		for _, table := range all(w, size, func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
			return w.ListTables(w.ctx, v, catalog.TableFilter{}, page)
		}) {
			names = append(names, table.Name)
		}
		require.Equal(t, []string{"_a", "a", "a_b", "ab", "b", "Z", "z1"}, names, size)
	}

	// Many records with the same time: the id breaks the tie.
	frozen := w.now()
	still := w.open(func() time.Time { return frozen })
	for i := range 7 {
		_, err := still.CreatePolicy(w.ctx, catalog.NewPolicy{Org: org, PolicySpec: rowPolicy(catalog.DeltaID(fmt.Sprint(i))), By: owner})
		require.NoError(t, err)
	}
	seen := map[catalog.PolicyID]int{}
	for _, p := range all(w, 2, func(page catalog.Page) (catalog.List[catalog.Policy], error) {
		return w.ListPolicies(w.ctx, org, catalog.PolicyFilter{}, page)
	}) {
		seen[p.ID]++
	}
	require.Len(t, seen, 7)

	// The next page is found although its predecessor was removed.
	first, err := w.ListTables(w.ctx, v, catalog.TableFilter{}, catalog.Page{Size: 2})
	require.NoError(t, err)
	require.NoError(t, w.DropTable(w.ctx, v, first.Items[1].Table.ID, catalog.AnyVersion))
	next, err := w.ListTables(w.ctx, v, catalog.TableFilter{}, catalog.Page{Size: 1, Token: first.Next})
	require.NoError(t, err)
	require.Equal(t, "a_b", next.Items[0].Name)

	for name, page := range map[string]catalog.Page{
		"page_size":  {Size: catalog.MaxPageSize + 1},
		"page_token": {Token: "garbage"},
	} {
		_, err = w.ListTables(w.ctx, v, catalog.TableFilter{}, page)
		require.Equal(t, []string{name}, fieldsOf(w, err))
	}
	_, err = w.ListTables(w.ctx, v, catalog.TableFilter{}, catalog.Page{Size: -1})
	require.Equal(t, []string{"page_size"}, fieldsOf(w, err))
	_, err = w.ListPolicies(w.ctx, org, catalog.PolicyFilter{}, catalog.Page{Token: first.Next})
	require.Equal(t, []string{"page_token"}, fieldsOf(w, err), "a token of another list")
	_, err = w.ListPolicies(w.ctx, org, catalog.PolicyFilter{}, catalog.Page{Token: catalog.Cursor{List: "policies", Key: "x",
		ID: "y"}.Token()})
	require.Equal(t, []string{"page_token"}, fieldsOf(w, err), "a token that was made up")
}

// hostileText checks that names with a meaning in SQL, JSON or a shell are stored like
// any other text, and that text which a database cannot store unchanged is refused.
func hostileText(t *testing.T, w *world) {
	org, owner := w.org()
	for _, name := range []string{
		`'; DROP TABLE users; --`, `" OR 1=1`, `$1 ? ?1 :a @b`, `\'`, `%_`, `{"a":1}`, `Ünïcødé 漢字 🦆`, `../../etc/passwd`, `NULL`, `O'Hara`,
	} {
		workspace, err := w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: name})
		require.NoError(t, err, name)
		require.Equal(t, name, workspace.Name)
		config := w.config(org, owner, "", name)
		require.Equal(t, name, config.Name)
		require.Equal(t, config.Slug, catalog.Slug(config.Slug), "a slug needs no quoting")
		spec := rowPolicy(catalog.DeltaID(name))
		spec.Column, spec.Text = name, name
		p := w.policy(org, owner, spec)
		w.same(spec, p.PolicySpec)
		enabled, err := w.EnabledPolicies(w.ctx, org, []catalog.DeltaID{catalog.DeltaID(name)})
		require.NoError(t, err)
		require.Len(t, enabled, 1)
		for _, read := range []func() error{
			func() error { _, err := w.Workspace(w.ctx, catalog.OrgID(name), catalog.WorkspaceID(name)); return err },
			func() error { _, err := w.APIKeyByPrefix(w.ctx, name); return err },
			func() error { _, err := w.UserByEmail(w.ctx, name); return err },
			func() error {
				_, err := w.StorageConfig(w.ctx, catalog.MemberViewer(org, catalog.UserID(name)), config.ID)
				return err
			},
		} {
			require.ErrorIs(t, read(), catalog.ErrNotFound)
		}
	}
	for _, name := range []string{"a\x00b", "\xff\xfe", "a\u202eb", "tab\t", " a", "a ", "line\nbreak"} {
		_, err := w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: name})
		require.Equal(t, []string{"name"}, fieldsOf(w, err), "%q", name)
	}
}
