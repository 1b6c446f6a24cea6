package identity_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

func TestWhereAPasswordIsOfUse(t *testing.T) {
	p := newPeople(t)
	ctx := t.Context()
	store := authz.New(p.raw)
	use := identity.PasswordAccess{Store: store, Access: identity.Access{Store: store}}
	usable := func(user catalog.UserID) bool {
		t.Helper()
		ok, err := use.PasswordUsable(ctx, user)
		require.NoError(t, err)
		return ok
	}
	bob := p.user("bob@acme.example")
	require.True(t, usable(bob), "a person in no organisation may create one")
	require.True(t, usable(p.ada))
	_, err := p.raw.AddMember(ctx, p.org, bob, catalog.RoleViewer)
	require.NoError(t, err)
	require.True(t, usable(bob))

	_, err = p.raw.PutSSOConfig(ctx, p.org, catalog.NewSSOConfig{
		Issuer: "https://idp.example", ClientID: "c", SealedSecret: []byte("sealed"),
		DefaultRole: catalog.RoleViewer, MaxRole: catalog.RoleViewer,
		Domains: []string{"acme.example"},
	})
	require.NoError(t, err)
	require.True(t, usable(bob), "the domain is not verified")
	_, err = p.raw.VerifyEmailDomain(ctx, p.org, "acme.example", catalog.DomainByOperator)
	require.NoError(t, err)
	require.False(t, usable(bob))
	require.False(t, usable(p.ada))

	guest := p.user("guest@elsewhere.example")
	_, err = p.raw.AddMember(ctx, p.org, guest, catalog.RoleViewer)
	require.NoError(t, err)
	require.True(t, usable(guest), "only an organisation that has verified the domain ends the use of a password")
	_, err = use.Access.Allow(ctx, session.Session{User: uuid.MustParse(string(guest)), Method: session.MethodPassword},
		uuid.MustParse(string(p.org)))
	require.ErrorIs(t, err, auth.ErrForbidden, "this organisation does not accept the password")

	other, err := p.raw.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Other", Owner: p.ada})
	require.NoError(t, err)
	require.True(t, usable(p.ada), "another organisation has no single sign-on")
	require.NoError(t, p.raw.DeleteOrganisation(ctx, other.ID, catalog.AnyVersion))
	require.True(t, usable(p.ada), "the owner may restore the organisation")
	require.False(t, usable(bob))
}
