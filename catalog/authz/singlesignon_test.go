package authz_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

func TestIdentityProvidersAreChosenWithAllScopesOfTheRole(t *testing.T) {
	f := newFixture(t)
	key := asKey(narrow(f.people["admin"], auth.ScopeOrgUpdate), "")
	_, err := f.store.PutSSOConfig(as(key), f.org, ssoConfig(catalog.RoleViewer))
	require.Equal(t, &catalog.DeniedError{Reason: "role_escalation"}, err, "who chooses the provider decides who members are")
	_, err = f.store.SSOConfig(as(key), f.org)
	require.NoError(t, err)
	_, err = f.store.PutSSOConfig(as(asKey(f.people["admin"], "")), f.org, ssoConfig(catalog.RoleAdmin))
	require.NoError(t, err)
	require.Equal(t, &catalog.DeniedError{Reason: "role_escalation"}, f.store.DeleteSSOConfig(as(key), f.org), "passwords would decide again")
	require.NoError(t, f.store.DeleteSSOConfig(as(asKey(f.people["admin"], "")), f.org))
}
