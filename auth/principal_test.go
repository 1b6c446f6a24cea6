package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
)

func TestRolesAreOrdered(t *testing.T) {
	roles := auth.Roles()
	for i, a := range roles {
		for j, b := range roles {
			require.Equal(t, i >= j, a.AtLeast(b), "%s at least %s", a, b)
			require.Equal(t, roles[max(i, j)], auth.Higher(a, b))
		}
		require.False(t, auth.Role("root").AtLeast(a))
		require.False(t, a.AtLeast("root"), "an unknown requirement is never met")
		require.Equal(t, a, auth.Higher("root", a))
		got, err := auth.ParseRole(string(a))
		require.NoError(t, err)
		require.Equal(t, a, got)
	}
	_, err := auth.ParseRole("Viewer")
	require.ErrorIs(t, err, auth.ErrUnknownRole)
}

func TestZeroPrincipalMayDoNothing(t *testing.T) {
	var p auth.Principal
	for s := range auth.AllScopes().All() {
		require.ErrorIs(t, p.Require(s), auth.ErrScopeMissing)
	}
	require.False(t, p.MayManageOwnKeys())
	require.True(t, p.ScopesIn(auth.RoleAdmin).Empty(), "a role grants nothing without a credential that carries it")
}

func TestWorkspaceRoleWidensOnlyWhatTheCredentialCarries(t *testing.T) {
	p := auth.Principal{
		Role:    auth.RoleViewer,
		Granted: auth.NewScopeSet(auth.ScopeTablesRead, auth.ScopeRowsInsert),
	}
	p.Scopes = p.Granted.Intersect(p.Role.Scopes())
	require.Error(t, p.Require(auth.ScopeRowsInsert))
	require.Equal(t, p.Granted, p.ScopesIn(auth.RoleEditor))
	require.Equal(t, p.Granted, p.ScopesIn(auth.RoleAdmin))
	require.Equal(t, p.Scopes, p.ScopesIn(auth.RoleViewer))
	require.Equal(t, p.Scopes, p.ScopesIn(""))
}

func TestKeyManagement(t *testing.T) {
	person := auth.Principal{Method: auth.MethodJWT, Role: auth.RoleViewer, Granted: auth.AllScopes(), Scopes: auth.RoleViewer.Scopes()}
	require.True(t, person.MayManageOwnKeys())
	require.True(t, person.ActsAsPerson())
	narrowed := person
	narrowed.Granted, narrowed.Scopes = auth.NewScopeSet(auth.ScopeOrgRead), auth.NewScopeSet(auth.ScopeOrgRead)
	require.False(t, narrowed.MayManageOwnKeys(), "a key would outlive the consent")
	require.False(t, narrowed.ActsAsPerson())
	narrowed.Role, narrowed.Scopes = "", auth.ScopeSet{} // a token of no organisation
	require.False(t, narrowed.ActsAsPerson())
	narrowed.Granted = auth.AllScopes()
	require.True(t, narrowed.ActsAsPerson())
	require.NoError(t, person.CheckGrant(auth.NewScopeSet(auth.ScopeTablesQuery)))
	require.ErrorIs(t, person.CheckGrant(auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeRowsInsert)), auth.ErrScopeEscalation)
	key := auth.Principal{Method: auth.MethodAPIKey, Role: auth.RoleAdmin, Scopes: auth.RoleViewer.Scopes()}
	require.False(t, key.MayManageOwnKeys())
	key.Scopes = auth.NewScopeSet(auth.ScopeAPIKeysCreate)
	require.True(t, key.MayManageOwnKeys())
	program := person
	program.Program = true
	require.False(t, program.ActsAsPerson())
	require.False(t, program.MayManageOwnKeys(), "a program of an organisation")
	program.Scopes = auth.NewScopeSet(auth.ScopeAPIKeysCreate)
	require.True(t, program.MayManageOwnKeys())
}

func TestPrincipalInContext(t *testing.T) {
	_, err := auth.PrincipalFrom(t.Context())
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
	want := auth.Principal{OrgID: uuid.New(), UserID: uuid.New(), Role: auth.RoleEditor}
	got, err := auth.PrincipalFrom(auth.WithPrincipal(t.Context(), want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

type authenticatorFunc func(string) (auth.Principal, error)

func (f authenticatorFunc) Authenticate(_ context.Context, bearer string) (auth.Principal, error) {
	return f(bearer)
}

func TestSplitSendsEachTokenToItsVerifier(t *testing.T) {
	errKey, errToken := errors.New("key"), errors.New("token")
	s := auth.Split{
		KeyPrefix: "lw_",
		Keys:      authenticatorFunc(func(string) (auth.Principal, error) { return auth.Principal{}, errKey }),
		Tokens:    authenticatorFunc(func(string) (auth.Principal, error) { return auth.Principal{}, errToken }),
	}
	_, err := s.Authenticate(t.Context(), "lw_abc")
	require.ErrorIs(t, err, errKey)
	_, err = s.Authenticate(t.Context(), "eyJ")
	require.ErrorIs(t, err, errToken)
	s.Tokens = nil
	_, err = s.Authenticate(t.Context(), "eyJ")
	require.ErrorIs(t, err, auth.ErrMalformed)
}
