package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func organisations(t *testing.T, w *world) {
	owner := w.user()
	created, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "Acme", Owner: owner})
	require.NoError(t, err)
	require.Equal(t, "Acme", created.Name)
	require.Equal(t, owner, created.Owner)
	require.Equal(t, 1, created.UserCount)
	require.Equal(t, int64(1), created.Version)
	require.False(t, created.CreatedAt.IsZero())
	require.True(t, created.DeletedAt.IsZero())

	found, err := w.Organisation(w.ctx, created.ID)
	require.NoError(t, err)
	w.same(created, found)

	m, err := w.Membership(w.ctx, created.ID, owner)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleAdmin, m.Role)
	base, err := w.DefaultWorkspace(w.ctx, created.ID)
	require.NoError(t, err)
	require.True(t, base.IsDefault)

	config := catalog.OrganisationConfig{
		TableConstraints: &catalog.TableConstraints{RequirePrimaryKey: true, NamePattern: "[a-z]+", MaxColumns: 9},
		Features:         map[string]bool{catalog.FeatureSandbox: true},
	}
	changed, err := w.UpdateOrganisation(w.ctx, created.ID, 1, catalog.OrganisationChange{Config: &config})
	require.NoError(t, err)
	require.Equal(t, "Acme", changed.Name, "fields that are not sent keep their value")
	w.same(config, changed.Config)
	require.True(t, changed.Config.Enabled(catalog.FeatureSandbox))
	require.Equal(t, int64(2), changed.Version)
	require.True(t, changed.UpdatedAt.After(changed.CreatedAt))

	_, err = w.UpdateOrganisation(w.ctx, created.ID, 1, catalog.OrganisationChange{Name: ptr("Late")})
	stale(w, err, 2)
	_, err = w.UpdateOrganisation(w.ctx, created.ID, catalog.AnyVersion, catalog.OrganisationChange{Name: ptr("Any")})
	require.NoError(t, err)

	viewer := w.member(created.ID, catalog.RoleViewer)
	_, err = w.UpdateOrganisation(w.ctx, created.ID, catalog.AnyVersion, catalog.OrganisationChange{Owner: &viewer})
	require.Equal(t, []string{"owner"}, fieldsOf(w, err))
	admin := w.member(created.ID, catalog.RoleAdmin)
	changed, err = w.UpdateOrganisation(w.ctx, created.ID, catalog.AnyVersion, catalog.OrganisationChange{Owner: &admin})
	require.NoError(t, err)
	require.Equal(t, admin, changed.Owner)
	require.Equal(t, 3, changed.UserCount)

	_, err = w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: " ", Owner: owner})
	require.Equal(t, []string{"name"}, fieldsOf(w, err))
	_, err = w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "x", Owner: catalog.NewID[catalog.UserID]()})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.Organisation(w.ctx, catalog.NewID[catalog.OrgID]())
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// deletedOrganisation checks that no method finds records of a deleted organisation,
// and that other organisations are unchanged.
func deletedOrganisation(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	shared := w.config(org, owner, w.defaultWorkspace(org), "shared")
	table := w.table(shared, "t")
	policy := w.policy(org, owner, rowPolicy(table.DeltaID))
	key := w.key(org, owner)
	base := w.defaultWorkspace(org)
	require.NoError(t, w.AppendAudit(w.ctx, catalog.AuditEntry{Org: org, Action: "x.y", Outcome: catalog.OutcomeAllow}))

	err := w.DeleteOrganisation(w.ctx, org, 7)
	stale(w, err, 1)
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, 1))

	viewer := catalog.MemberViewer(org, owner)
	for name, read := range map[string]func() error{
		"organisation":      func() error { _, err := w.Organisation(w.ctx, org); return err },
		"delete again":      func() error { return w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion) },
		"membership":        func() error { _, err := w.Membership(w.ctx, org, owner); return err },
		"add member":        func() error { _, err := w.AddMember(w.ctx, org, w.user(), catalog.RoleViewer); return err },
		"workspace":         func() error { _, err := w.Workspace(w.ctx, org, base); return err },
		"default workspace": func() error { _, err := w.DefaultWorkspace(w.ctx, org); return err },
		"workspace role":    func() error { _, err := w.WorkspaceRole(w.ctx, org, base, owner); return err },
		"config":            func() error { _, err := w.StorageConfig(w.ctx, viewer, shared.ID); return err },
		"config of system":  func() error { _, err := w.StorageConfig(w.ctx, catalog.SystemViewer(org), shared.ID); return err },
		"table":             func() error { _, err := w.Store.Table(w.ctx, viewer, table.ID); return err },
		"delta id":          func() error { _, err := w.ResolveDelta(w.ctx, viewer, table.DeltaID); return err },
		"policy":            func() error { _, err := w.Policy(w.ctx, org, policy.ID); return err },
		"history":           func() error { _, err := w.PolicyHistory(w.ctx, org, policy.ID, catalog.Page{}); return err },
		"key":               func() error { _, err := w.APIKey(w.ctx, org, key.ID); return err },
		"key by prefix":     func() error { _, err := w.APIKeyByPrefix(w.ctx, key.Prefix); return err },
		"new policy": func() error {
			_, err := w.CreatePolicy(w.ctx, catalog.NewPolicy{Org: org, PolicySpec: rowPolicy(""), By: owner})
			return err
		},
		"new key": func() error { _, err := w.CreateAPIKey(w.ctx, w.newKey(org, owner)); return err },
	} {
		require.ErrorIs(t, read(), catalog.ErrNotFound, name)
	}
	enabled, err := w.EnabledPolicies(w.ctx, org, []catalog.DeltaID{table.DeltaID})
	require.NoError(t, err)
	require.Empty(t, enabled)
	log, err := w.ListAudit(w.ctx, org, catalog.AuditFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, log.Items, 1, "the log outlives the organisation")

	left, err := w.ListOrganisations(w.ctx, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, left.Items, 1)
	require.Equal(t, other, left.Items[0].ID)

	stranger, builder := w.org()
	claim := catalog.NewStorageConfig{Org: stranger, Owner: builder, Name: "again", Kind: catalog.KindLocal, Location: shared.Location}
	_, err = w.CreateStorageConfig(w.ctx, claim)
	require.ErrorIs(t, err, catalog.ErrLocationTaken, "the organisation can be restored")
}

func users(t *testing.T, w *world) {
	created, err := w.CreateUser(w.ctx, catalog.NewUser{Email: " Ada@Example.COM ", DisplayName: "Ada"})
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", created.Email)
	require.Equal(t, catalog.UserPerson, created.Kind)

	found, err := w.UserByEmail(w.ctx, "ADA@example.com")
	require.NoError(t, err)
	w.same(created, found)
	found, err = w.User(w.ctx, created.ID)
	require.NoError(t, err)
	w.same(created, found)

	_, err = w.CreateUser(w.ctx, catalog.NewUser{Email: "ada@EXAMPLE.com"})
	existing(w, err, "email")
	for _, address := range []string{"", "ada", "a@", "@b", "Ada <ada@example.com>", "a@b@c", "a b@c", "a\n@b", "a,b@c"} {
		_, err = w.CreateUser(w.ctx, catalog.NewUser{Email: address})
		require.Equal(t, []string{"email"}, fieldsOf(w, err), address)
	}

	service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService, DisplayName: "Loader"})
	require.NoError(t, err)
	require.Equal(t, catalog.UserService, service.Kind)
	require.Equal(t, string(service.ID)+"@service.invalid", service.Email)
	_, err = w.UserByEmail(w.ctx, service.Email)
	require.ErrorIs(t, err, catalog.ErrNotFound, "a service account does not sign in by an address")
	_, err = w.UpdateUser(w.ctx, service.ID, 1, catalog.UserChange{Email: ptr("loader@example.com")})
	require.Equal(t, []string{"email"}, fieldsOf(w, err))
	_, err = w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService, Email: "loader@example.com"})
	require.Equal(t, []string{"email"}, fieldsOf(w, err))
	_, err = w.CreateUser(w.ctx, catalog.NewUser{Kind: "robot", Email: "loader@example.com"})
	require.Equal(t, []string{"kind"}, fieldsOf(w, err))
	_, err = w.CreateUser(w.ctx, catalog.NewUser{Email: "x@Service.INVALID"})
	require.Equal(t, []string{"email"}, fieldsOf(w, err), "the domain is reserved")

	other := w.user()
	_, err = w.UpdateUser(w.ctx, other, 1, catalog.UserChange{Email: ptr("ada@example.com")})
	existing(w, err, "email")
	changed, err := w.UpdateUser(w.ctx, other, 1, catalog.UserChange{Email: ptr("Bob@example.com")})
	require.NoError(t, err)
	require.Equal(t, "bob@example.com", changed.Email)
	_, err = w.UpdateUser(w.ctx, other, 1, catalog.UserChange{DisplayName: ptr("B")})
	stale(w, err, 2)
	_, err = w.UserByEmail(w.ctx, "nobody@example.com")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}
