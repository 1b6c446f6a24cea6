package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// deletedPerson checks what a deletion of a person names, refuses, removes and leaves.
func deletedPerson(t *testing.T, w *world) {
	org, owner := w.org()
	gone, _ := w.org()
	user := w.member(org, catalog.RoleAdmin)
	before, err := w.User(w.ctx, user)
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, gone, user, catalog.RoleViewer)
	require.NoError(t, err)
	formerly, _ := w.org()
	_, err = w.AddMember(w.ctx, formerly, user, catalog.RoleBuilder)
	require.NoError(t, err)
	orphan := w.config(formerly, user, "", "orphan")
	require.NoError(t, w.RemoveMember(w.ctx, formerly, user))
	require.NoError(t, w.DeleteOrganisation(w.ctx, gone, catalog.AnyVersion))

	personal := w.config(org, user, "", "personal")
	shared := w.config(org, user, w.defaultWorkspace(org), "shared")
	secret := catalog.StorageSecret{Sealed: []byte("sealed"), AuthMode: "access_key"}
	for _, c := range []catalog.StorageConfig{personal, shared} {
		_, err = w.ReplaceStorageSecret(w.ctx, catalog.MemberViewer(org, user), c.ID, catalog.AnyVersion, secret)
		require.NoError(t, err)
	}
	other := w.config(org, owner, "", "of another")
	key, revoked := w.key(org, user), w.key(org, user)
	_, err = w.RevokeAPIKey(w.ctx, org, revoked.ID)
	require.NoError(t, err)
	w.key(org, owner)
	require.NoError(t, w.SetPassword(w.ctx, user, "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"))
	claim := catalog.SubjectClaim{Issuer: "https://id.example", Subject: "s", Email: before.Email, Method: catalog.BoundByToken}
	_, err = w.BindIdentity(w.ctx, catalog.NewIdentityBinding{Org: org, User: user, Issuer: claim.Issuer, Subject: claim.Subject,
		Method: catalog.BoundByAdministrator})
	require.NoError(t, err)

	_, err = w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &user})
	require.NoError(t, err)
	held, err := w.Holdings(w.ctx, user)
	require.NoError(t, err)
	require.Equal(t, []catalog.OrgID{org}, []catalog.OrgID{held.Owned[0].ID})
	require.Len(t, held.Memberships, 1, "deleted organisations of others are not named")
	require.Equal(t, []catalog.HeldConfig{{ID: orphan.ID, Org: formerly, Name: "orphan"},
		{ID: personal.ID, Org: org, Name: "personal"}}, held.Configs)
	require.Equal(t, []catalog.HeldKey{{ID: key.ID, Org: org, Name: key.Name}}, held.Keys)

	_, err = w.DeletePerson(w.ctx, user)
	var owns *catalog.OwnerError
	require.ErrorAs(t, err, &owns)
	require.Equal(t, []catalog.UserOrganisation{held.Owned[0]}, owns.Organisations)
	_, err = w.User(w.ctx, user)
	require.NoError(t, err, "a refused deletion changes nothing")

	_, err = w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &owner})
	require.NoError(t, err)
	last, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "last", Owner: user})
	require.NoError(t, err)
	require.NoError(t, w.DeleteOrganisation(w.ctx, last.ID, catalog.AnyVersion))
	former, err := w.DeletePerson(w.ctx, user)
	require.NoError(t, err)
	require.Equal(t, []catalog.OrgID{last.ID}, []catalog.OrgID{former.Owned[0].ID}, "a deleted organisation is named, but no reason to refuse")
	require.Equal(t, held.Configs, former.Configs)

	for _, missing := range []func() error{
		func() error { _, err := w.User(w.ctx, user); return err },
		func() error { _, err := w.UserByEmail(w.ctx, before.Email); return err },
		func() error { _, err := w.Password(w.ctx, user); return err },
		func() error {
			return w.SetPassword(w.ctx, user, "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA")
		},
		func() error { _, err := w.Membership(w.ctx, org, user); return err },
		func() error { _, err := w.AddMember(w.ctx, org, user, catalog.RoleViewer); return err },
		func() error { _, err := w.Holdings(w.ctx, user); return err },
		func() error { _, err := w.DeletePerson(w.ctx, user); return err },
		func() error {
			_, err := w.UpdateUser(w.ctx, user, catalog.AnyVersion, catalog.UserChange{})
			return err
		},
		func() error {
			_, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "n", Owner: user})
			return err
		},
		func() error {
			_, err := w.StorageConfig(w.ctx, catalog.MemberViewer(org, user), personal.ID)
			return err
		},
	} {
		require.ErrorIs(t, missing(), catalog.ErrNotFound)
	}
	found, err := w.APIKeyByPrefix(w.ctx, key.Prefix)
	require.NoError(t, err)
	require.True(t, found.Revoked())
	for _, id := range []catalog.ConfigID{shared.ID, other.ID} {
		_, err = w.StorageConfig(w.ctx, catalog.MemberViewer(org, owner), id)
		require.NoError(t, err)
	}
	_, err = w.StorageSecret(w.ctx, org, personal.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	secret, err = w.StorageSecret(w.ctx, org, shared.ID)
	require.NoError(t, err)
	require.Equal(t, []byte("sealed"), secret.Sealed, "the secrets of shared configurations stay")

	again, err := w.CreateUser(w.ctx, catalog.NewUser{Email: before.Email})
	require.NoError(t, err, "the address is free")
	require.NotEqual(t, user, again.ID)
	_, err = w.AddMember(w.ctx, org, again.ID, catalog.RoleViewer)
	require.NoError(t, err)
	identified, err := w.IdentifySubject(w.ctx, org, claim)
	require.NoError(t, err)
	require.Equal(t, again.ID, identified.User.ID, "the subject is free, too")
	_, err = w.CreateUser(w.ctx, catalog.NewUser{Email: catalog.DeletedEmail(again.ID)})
	require.Equal(t, []string{"email"}, fieldsOf(w, err))

	service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = w.DeletePerson(w.ctx, service.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
}
