package auth_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/auth"
)

// matrix repeats the table of the documentation.
var matrix = map[auth.Role][]string{
	auth.RoleViewer: {"org:read", "tables:read", "tables:query", "domains:read", "storage:read"},
	auth.RoleEditor: {"rows:insert", "rows:update", "rows:delete"},
	auth.RoleBuilder: {"tables:create", "tables:modify", "domains:write", "storage:write", "storage:configure", "storage_configs:share",
		"rls_policies:read", "apikeys:create"},
	auth.RoleAdmin: {"rls_policies:write", "provider_apps:write", "org:update", "users:write"},
}

func TestRoleScopesAreExactlyTheDocumentedOnes(t *testing.T) {
	var want []string
	for _, role := range auth.Roles() {
		want = append(want, matrix[role]...)
		require.ElementsMatch(t, want, role.Scopes().Strings(), "role %s", role)
	}
	require.ElementsMatch(t, want, auth.AllScopes().Strings())
	require.True(t, auth.Role("owner").Scopes().Empty())
	require.True(t, auth.Role("").Scopes().Empty())
	require.True(t, auth.Role("Admin").Scopes().Empty(), "roles are case-sensitive")
}

func TestExpandScopes(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want auth.ScopeSet
	}{
		{"nil means viewer", nil, auth.RoleViewer.Scopes()},
		{"empty means viewer", []string{}, auth.RoleViewer.Scopes()},
		{"read is viewer", []string{"read"}, auth.RoleViewer.Scopes()},
		{"write is builder", []string{"write"}, auth.RoleBuilder.Scopes()},
		{"admin is everything", []string{"admin"}, auth.AllScopes()},
		{"one granular scope is only that", []string{"rows:insert"}, auth.NewScopeSet(auth.ScopeRowsInsert)},
		{"presets and scopes mix", []string{"read", "rows:insert", "read"},
			auth.RoleViewer.Scopes().Union(auth.NewScopeSet(auth.ScopeRowsInsert))},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := auth.ExpandScopes(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestExpandScopesNamesEveryUnknownOne(t *testing.T) {
	got, err := auth.ExpandScopes([]string{"read", "tables:reed", "admin", "", "Admin", "editor"})
	require.ErrorIs(t, err, auth.ErrUnknownScope)
	require.True(t, got.Empty(), "a refused list grants nothing")
	var unknown *auth.UnknownScopesError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []int{1, 3, 4, 5}, unknown.Indexes)
	var fields []string
	for field, message := range unknown.FieldProblems() {
		fields = append(fields, field)
		require.NotContains(t, message, "reed")
	}
	require.Equal(t, []string{"scopes[1]", "scopes[3]", "scopes[4]", "scopes[5]"}, fields)
}

func TestStoredScopesIgnoresWhatItDoesNotKnow(t *testing.T) {
	require.Equal(t, auth.NewScopeSet(auth.ScopeOrgRead), auth.StoredScopes([]string{"org:read", "future:scope", "admin", ""}))
}

// The operations of ScopeSet are compared with those of a map of strings.
func TestScopeSetBehavesAsASet(t *testing.T) {
	all := auth.AllScopes().Strings()
	draw := func(t *rapid.T, label string) ([]string, auth.ScopeSet) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(t, label)
		return names, auth.StoredScopes(names)
	}
	rapid.Check(t, func(t *rapid.T) {
		an, a := draw(t, "a")
		bn, b := draw(t, "b")
		for _, name := range all {
			inA, inB := slices.Contains(an, name), slices.Contains(bn, name)
			s := auth.Scope(name)
			require.Equal(t, inA, a.Has(s))
			require.Equal(t, inA && inB, a.Intersect(b).Has(s))
			require.Equal(t, inA || inB, a.Union(b).Has(s))
			require.Equal(t, inA && !inB, a.Minus(b).Has(s))
		}
		require.Equal(t, a.Minus(b).Empty(), b.Contains(a))
		require.ElementsMatch(t, an, a.Strings())
		require.False(t, a.Has("no:such"))
	})
}
