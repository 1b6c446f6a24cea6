package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// TestPeopleOfOthersAreInvited checks that known and unknown addresses have the same effect:
// an invitation.
func TestPeopleOfOthersAreInvited(t *testing.T) {
	p := newPeople(t)
	users := identity.Users{Store: authz.New(p.raw), Invitations: p.invitations()}
	ctx := p.as(p.ada, auth.MethodJWT)
	add := func(email string) identity.Added {
		t.Helper()
		added, err := users.Add(ctx, p.org, catalog.NewUser{Email: email, DisplayName: "Bea"}, catalog.RoleEditor)
		require.NoError(t, err)
		return added
	}
	require.Equal(t, "Bea", add("bea@acme.example").Member.DisplayName, "no other organisation exists")
	stranger := p.user("stranger@other.example")
	_, err := p.raw.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "Other", Owner: stranger})
	require.NoError(t, err)

	for _, email := range []string{"Stranger@other.example", nobody} {
		added := add(email)
		require.Nil(t, added.Member)
		require.Equal(t, catalog.NormaliseEmail(email), added.Invitation.Email)
		require.Equal(t, catalog.RoleEditor, added.Invitation.Role)
		require.NotEmpty(t, p.mailed(added.Invitation.Email))
	}
	_, err = p.raw.Membership(t.Context(), p.org, stranger)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = users.Add(ctx, p.org, catalog.NewUser{Email: "bea@acme.example"}, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrExists)
}

// TestRoleAndScopesAreFromOneRead checks callers whose role changes after they were
// authenticated.
func TestRoleAndScopesAreFromOneRead(t *testing.T) {
	p := newPeople(t)
	bea := p.user("bea@acme.example")
	_, err := p.raw.AddMember(t.Context(), p.org, bea, catalog.RoleViewer)
	require.NoError(t, err)
	me := account.Self{Store: authz.New(p.raw)}
	profile, err := me.Get(p.as(bea, auth.MethodJWT)) // authenticated as an administrator
	require.NoError(t, err)
	require.Equal(t, catalog.RoleViewer, profile.Membership.Role)
	require.Equal(t, auth.RoleViewer.Scopes(), profile.Scopes)
	require.Equal(t, catalog.RoleViewer, profile.Organisations[0].Role)
}
