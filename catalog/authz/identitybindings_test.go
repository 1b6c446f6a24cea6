package authz_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

const someIssuer = "https://id.example"

// bindingMethods holds the cases of catalog.IdentityBindings.
var bindingMethods = map[string]method{
	"IdentifySubject": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.IdentifySubject(ctx, f.org, catalog.SubjectClaim{Issuer: someIssuer, Subject: "s-viewer",
				Email: "viewer@example.com", Method: catalog.BoundByToken}))
		},
		denied: catalog.ErrDenied,
	},
	"IdentityBinding": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.IdentityBinding(ctx, f.org, someIssuer, "s-viewer"))
		},
		denied: catalog.ErrDenied,
	},
	"BindIdentity": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.bind(ctx, "editor")) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ListIdentityBindings": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListIdentityBindings(ctx, f.org, f.users["viewer"]))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ReleaseIdentityBinding": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ReleaseIdentityBinding(ctx, f.org, f.users["viewer"], f.identity.ID))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ReleaseIdentityBindings": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ReleaseIdentityBindings(ctx, f.org, someIssuer, false))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
}

// bind binds the subject of a user.
func (f *fixture) bind(ctx context.Context, user string) (catalog.IdentityBinding, error) {
	return f.store.BindIdentity(ctx, catalog.NewIdentityBinding{Org: f.org, User: f.users[user], Issuer: someIssuer, Subject: "s-" + user,
		Method: catalog.BoundByOperator})
}

func TestIdentitiesAreBoundByPeopleWithAllScopesOfTheRole(t *testing.T) {
	f := newFixture(t)
	bound, err := f.bind(as(f.people["admin"]), "editor")
	require.NoError(t, err)
	require.Equal(t, []any{catalog.BoundByAdministrator, f.users["admin"]}, []any{bound.Method, bound.By}, "whatever the caller says")
	reason(t, drop(f.bind(as(asKey(narrow(f.people["admin"], auth.ScopeUsersWrite), "")), "builder")), "role_escalation")
	program := f.people["admin"]
	program.Program = true
	reason(t, drop(f.bind(as(program), "builder")), "sign_in_required")
	service, err := f.inner.CreateUser(context.Background(), catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = f.inner.AddMember(context.Background(), f.org, service.ID, catalog.RoleAdmin)
	require.NoError(t, err)
	reason(t, drop(f.bind(as(person(f.org, service.ID, auth.RoleAdmin)), "builder")), "sign_in_required")
	reason(t, drop(f.bind(as(f.people["admin"]), "owner")), "not_owner")
	_, err = f.bind(as(f.people["owner"]), "owner")
	require.NoError(t, err)
}

func TestIdentitiesOfStrongerMembersAreNotReleased(t *testing.T) {
	f := newFixture(t)
	bound, err := f.bind(as(f.people["owner"]), "admin")
	require.NoError(t, err)
	weaker := narrow(f.people["admin"], auth.ScopeUsersWrite) // as if roles had other scopes
	weaker.Role = auth.RoleBuilder
	reason(t, drop(f.store.ReleaseIdentityBinding(as(weaker), f.org, f.users["admin"], bound.ID)), "role_escalation")
	reason(t, drop(f.store.ReleaseIdentityBindings(as(weaker), f.org, someIssuer, true)), "role_escalation")
	require.NoError(t, f.inner.RemoveMember(context.Background(), f.org, f.users["admin"]))
	require.NoError(t, drop(f.store.ReleaseIdentityBinding(as(weaker), f.org, f.users["admin"], bound.ID)), "of a former member")
}
