package authz_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestOnlySignedInPeople checks that neither an API key nor a service account may do what
// is for people, and that a sign-in for one organisation leaves others alone.
func TestOnlySignedInPeople(t *testing.T) {
	f := newFixture(t)
	service, err := f.inner.CreateUser(context.Background(), catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = f.inner.AddMember(context.Background(), f.org, service.ID, catalog.RoleAdmin)
	require.NoError(t, err)
	owner := f.people["owner"]
	confined := owner
	confined.Confined = true

	create := func(p auth.Principal) error {
		return drop(f.store.CreateOrganisation(as(p), catalog.NewOrganisation{Name: "n", Owner: catalog.UserID(p.UserID.String())}))
	}
	undelete := func(p auth.Principal) error {
		return drop(f.store.UndeleteOrganisation(as(p), f.gone, catalog.UserID(p.UserID.String()), time.Time{}))
	}
	erase := func(p auth.Principal) error {
		return drop(f.store.DeletePerson(as(p), catalog.UserID(p.UserID.String())))
	}
	hold := func(p auth.Principal) error { return drop(f.store.Holdings(as(p), catalog.UserID(p.UserID.String()))) }
	accept := func(p auth.Principal) error {
		return drop(f.store.AcceptInvitation(as(p), tokenHash("owner@example.com"), catalog.UserID(p.UserID.String())))
	}
	rename := func(p auth.Principal) error {
		return drop(f.store.UpdateUser(as(p), catalog.UserID(p.UserID.String()), catalog.AnyVersion, catalog.UserChange{}))
	}
	leave := func(p auth.Principal) error {
		return f.store.RemoveMember(as(p), f.org, catalog.UserID(p.UserID.String()))
	}
	reason(t, leave(asKey(f.people["viewer"], "")), "sign_in_required")
	viewer := f.people["viewer"] // a program that acts for the viewer
	viewer.Program = true
	reason(t, leave(viewer), "sign_in_required")
	remove := func(p auth.Principal) error { return f.store.DeleteOrganisation(as(p), f.org, catalog.AnyVersion) }
	heir := f.users["admin"]
	transfer := func(p auth.Principal) error {
		return drop(f.store.UpdateOrganisation(as(p), f.org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &heir}))
	}
	program := person(f.org, service.ID, auth.RoleAdmin)
	third := owner // a program that acts for the owner
	third.Program = true
	for name, attempt := range map[string]func(auth.Principal) error{
		"create": create, "undelete": undelete, "accept": accept, "rename": rename, "erase": erase, "hold": hold,
	} {
		reason(t, attempt(asKey(owner, "")), "sign_in_required")
		reason(t, attempt(program), "sign_in_required")
		reason(t, attempt(third), "sign_in_required")
		if name != "rename" {
			reason(t, attempt(confined), "sign_in_required")
		}
	}
	reason(t, remove(third), "sign_in_required")
	for _, attempt := range []func(auth.Principal) error{remove, transfer} {
		reason(t, attempt(asKey(owner, "")), "sign_in_required")
		reason(t, attempt(program), "not_owner")
		reason(t, attempt(f.people["admin"]), "not_owner")
	}
	require.NoError(t, rename(confined))
	viewer = f.people["viewer"]
	viewer.Confined = true
	require.NoError(t, leave(viewer), "by the organisation's own sign-in")
	require.NoError(t, undelete(owner))
	heir = f.users["owner"]
	require.NoError(t, transfer(confined), "the owner by the organisation's own sign-in")
	require.NoError(t, remove(confined))
}

// TestListedOrganisations checks that a credential for one organisation shows no other.
func TestListedOrganisations(t *testing.T) {
	f := newFixture(t)
	names := func(p auth.Principal) []string {
		list, err := f.store.ListUserOrganisations(as(p), catalog.UserID(p.UserID.String()), catalog.Page{})
		require.NoError(t, err)
		var names []string
		for _, o := range list.Items {
			names = append(names, o.Name)
		}
		return names
	}
	owner := f.people["owner"]
	require.Equal(t, []string{"ours", "gone"}, names(owner))
	nowhere := owner
	nowhere.OrgID, nowhere.Role, nowhere.Scopes = uuid.Nil, "", auth.ScopeSet{}
	require.Equal(t, []string{"ours", "gone"}, names(nowhere))
	require.Equal(t, []string{"ours"}, names(f.people["viewer"]), "only its owner sees a deleted organisation")
	require.Equal(t, []string{"ours"}, names(asKey(owner, "")))
	confined := owner
	confined.Confined = true
	require.Equal(t, []string{"ours"}, names(confined))
}
