package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// restoredOrganisation checks that a deletion can be undone by the owner only, and that
// everything is as it was.
func restoredOrganisation(t *testing.T, w *world) {
	org, owner := w.org()
	admin := w.member(org, catalog.RoleAdmin)
	key := w.key(org, owner)
	config := w.config(org, owner, w.defaultWorkspace(org), "shared")
	policy := w.policy(org, owner, rowPolicy(""))

	_, err := w.PutSSOConfig(w.ctx, org, newSSOConfig("undeleted.example"))
	require.NoError(t, err)
	_, err = w.VerifyEmailDomain(w.ctx, org, "undeleted.example", catalog.DomainByDNS)
	require.NoError(t, err)
	restored, err := w.UndeleteOrganisation(w.ctx, org, owner, time.Time{})
	require.NoError(t, err, "an organisation that is not deleted stays as it is")
	require.Equal(t, int64(1), restored.Version)
	_, err = w.UndeleteOrganisation(w.ctx, org, admin, time.Time{})
	require.ErrorIs(t, err, catalog.ErrNotFound)

	before := w.epochNow()
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, 1))
	deleted := w.now()
	require.Greater(t, w.epochNow(), before)
	_, err = w.APIKeyByPrefix(w.ctx, key.Prefix)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	_, err = w.UndeleteOrganisation(w.ctx, org, admin, time.Time{})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UndeleteOrganisation(w.ctx, org, owner, deleted.Add(time.Hour))
	require.ErrorIs(t, err, catalog.ErrNotFound, "too late")
	before = w.epochNow()
	restored, err = w.UndeleteOrganisation(w.ctx, org, owner, deleted.Add(-time.Hour))
	require.NoError(t, err)
	require.Greater(t, w.epochNow(), before)
	require.Equal(t, 2, restored.UserCount)
	require.True(t, restored.DeletedAt.IsZero())

	due, err := w.DomainsToCheck(w.ctx, deleted.Add(-24*time.Hour), 10)
	require.NoError(t, err)
	require.Len(t, due, 1, "another may own the domain by now")
	require.True(t, due[0].Verified())
	found, err := w.APIKeyByPrefix(w.ctx, key.Prefix)
	require.NoError(t, err)
	w.same(key, found)
	_, err = w.StorageConfig(w.ctx, catalog.MemberViewer(org, admin), config.ID)
	require.NoError(t, err)
	_, err = w.Policy(w.ctx, org, policy.ID)
	require.NoError(t, err)
	_, err = w.UndeleteOrganisation(w.ctx, catalog.NewID[catalog.OrgID](), owner, time.Time{})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// purgedOrganisation checks that a purge removes one organisation, with all that refers to
// it, and nothing else.
func purgedOrganisation(t *testing.T, w *world) {
	org, owner := w.org()
	other, otherOwner := w.org()
	builder := w.member(org, catalog.RoleBuilder)
	_, err := w.AddMember(w.ctx, other, builder, catalog.RoleViewer)
	require.NoError(t, err)
	service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, org, service.ID, catalog.RoleViewer)
	require.NoError(t, err)
	w.key(org, service.ID)
	removed, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, org, removed.ID, catalog.RoleViewer)
	require.NoError(t, err)
	w.key(org, removed.ID)
	require.NoError(t, w.RemoveMember(w.ctx, org, removed.ID))
	foreign, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, other, foreign.ID, catalog.RoleViewer)
	require.NoError(t, err)
	w.workspace(org, builder)
	shared := w.config(org, owner, w.defaultWorkspace(org), "shared")
	table := w.table(shared, "t")
	w.policy(org, owner, rowPolicy(table.DeltaID))
	w.key(org, builder)
	system := catalog.SystemViewer(org)
	require.NoError(t, w.AddConstraints(w.ctx, system, table.ID, []catalog.NewConstraint{{Name: "c", Expression: "a > 0"}}, owner))
	set, err := w.SetColumnDomain(w.ctx, system, table.ID, catalog.ColumnDomainAt{Column: "a"},
		catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}, Values: []catalog.NewDomainValue{{Value: "x"}}}, owner)
	require.NoError(t, err)
	values, err := w.DomainValues(w.ctx, org, set.Domain.ID)
	require.NoError(t, err)
	_, err = w.BeginValueChange(w.ctx, catalog.DomainTarget{Org: org, Viewer: system, Table: table.ID, Domain: set.Domain.ID},
		catalog.ValueChange{Kind: catalog.ValueRename, Value: values.Values[0].ID, To: "y", By: owner, Holder: "holder"})
	require.NoError(t, err)
	_, err = w.ClaimWriteKey(w.ctx, org, "key", "fingerprint")
	require.NoError(t, err)
	_, err = w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: table.DeltaID, Kind: catalog.WriteRows})
	require.NoError(t, err)
	w.invite(org, owner, "new@example.com", catalog.RoleViewer)
	w.provide(org, catalog.FamilyA, "key")
	_, err = w.CountAnalysis(w.ctx, org, 1, time.Minute)
	require.NoError(t, err)
	_, err = w.AddAnalysisUse(w.ctx, org, w.now(), catalog.AnalysisUse{InputTokens: 1})
	require.NoError(t, err)
	live, err := w.CreateOperation(w.ctx, catalog.NewOperation{Org: org, User: builder, Kind: catalog.OperationQuery, Runner: "r"})
	require.NoError(t, err)
	require.NoError(t, w.AppendAudit(w.ctx, catalog.AuditEntry{Org: org, Action: "x.y", Outcome: catalog.OutcomeAllow}))

	late := func() time.Time { return w.now().Add(time.Hour) }
	_, err = w.PurgeOrganisation(w.ctx, late())
	require.ErrorIs(t, err, catalog.ErrNotFound, "nothing is deleted")
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, 1))
	_, err = w.PurgeOrganisation(w.ctx, w.now().Add(-time.Hour))
	require.ErrorIs(t, err, catalog.ErrNotFound, "too early")
	_, err = w.PurgeOrganisation(w.ctx, late())
	require.ErrorIs(t, err, catalog.ErrNotFound, "an operation is running")
	outcome := catalog.OperationOutcome{State: catalog.OperationSucceeded, StoredBytes: 1, ExpiresAt: w.now().Add(time.Hour)}
	require.NoError(t, w.FinishOperation(w.ctx, "r", live.ID, outcome))
	_, err = w.PurgeOrganisation(w.ctx, late())
	require.ErrorIs(t, err, catalog.ErrNotFound, "rows are stored outside the catalog")
	require.NoError(t, w.DeleteOperation(w.ctx, org, live.ID))

	purged, err := w.PurgeOrganisation(w.ctx, late())
	require.NoError(t, err)
	require.Equal(t, org, purged)
	_, err = w.PurgeOrganisation(w.ctx, late())
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UndeleteOrganisation(w.ctx, org, owner, time.Time{})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	for _, account := range []catalog.UserID{service.ID, removed.ID} {
		_, err = w.User(w.ctx, account)
		require.ErrorIs(t, err, catalog.ErrNotFound, "a service account belongs to its organisation")
	}
	for _, person := range []catalog.UserID{owner, builder, foreign.ID} {
		_, err = w.User(w.ctx, person)
		require.NoError(t, err)
	}
	_, err = w.Membership(w.ctx, other, builder)
	require.NoError(t, err)
	log, err := w.ListAudit(w.ctx, org, catalog.AuditFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, log.Items, 1, "the log outlives the organisation")

	claim := catalog.NewStorageConfig{Org: other, Owner: otherOwner, Name: "again", Kind: catalog.KindLocal, Location: shared.Location}
	_, err = w.CreateStorageConfig(w.ctx, claim)
	require.NoError(t, err, "the location is free")
	first, err := w.FirstOrganisation(w.ctx)
	require.NoError(t, err)
	require.Equal(t, org, first, "no organisation inherits what only the first one may use")
}

func userOrganisations(t *testing.T, w *world) {
	_, err := w.FirstOrganisation(w.ctx)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	user := w.user()
	var want []catalog.UserOrganisation
	for i, name := range []string{"Owned", "Deleted", "Joined", "Left behind", "Foreign"} {
		owner := user
		if i >= 2 {
			owner = w.user()
		}
		o, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: name, Owner: owner})
		require.NoError(t, err)
		entry := catalog.UserOrganisation{ID: o.ID, Name: name, Owner: owner, Role: catalog.RoleAdmin, CreatedAt: o.CreatedAt}
		if i == 2 || i == 3 {
			_, err := w.AddMember(w.ctx, o.ID, user, catalog.RoleViewer)
			require.NoError(t, err)
			entry.Role = catalog.RoleViewer
		}
		if i == 1 || i == 3 {
			require.NoError(t, w.DeleteOrganisation(w.ctx, o.ID, catalog.AnyVersion))
		}
		if i < 3 {
			want = append(want, entry)
		}
	}
	got := all(w, 1, func(p catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
		return w.ListUserOrganisations(w.ctx, user, p)
	})
	require.Len(t, got, 3)
	require.False(t, got[1].DeletedAt.IsZero())
	got[1].DeletedAt = time.Time{}
	w.same(want, got)
	first, err := w.FirstOrganisation(w.ctx)
	require.NoError(t, err)
	require.Equal(t, want[0].ID, first)
}

// raceCreations checks that concurrent creations do not exceed the number that one person
// may own, nor do transfers.
func raceCreations(t *testing.T, w *world) {
	owner := w.user()
	_, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "Unlimited", Owner: owner})
	require.NoError(t, err)
	errs := race(w, 8, func(s catalog.Store, i int) error {
		_, err := s.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "Limited", Owner: owner, MaxOwned: 4})
		return err
	})
	require.Equal(t, 3, winners(w, errs, catalog.ErrTooManyOrganisations))
	_, err = w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "Limited", Owner: w.user(), MaxOwned: 4})
	require.NoError(t, err, "another owner")

	heir, orgs := w.user(), make([]catalog.OrgID, 4)
	for i := range orgs {
		orgs[i], _ = w.org()
		_, err := w.AddMember(w.ctx, orgs[i], heir, catalog.RoleAdmin)
		require.NoError(t, err)
	}
	errs = race(w, len(orgs), func(s catalog.Store, i int) error {
		_, err := s.UpdateOrganisation(w.ctx, orgs[i], catalog.AnyVersion, catalog.OrganisationChange{Owner: &heir, MaxOwned: 3})
		return err
	})
	require.Equal(t, 3, winners(w, errs, catalog.ErrTooManyOrganisations), "received")
}

// serviceMembers checks that lists of members tell service accounts from people.
func serviceMembers(t *testing.T, w *world) {
	org, owner := w.org()
	service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService, DisplayName: "Loader"})
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, org, service.ID, catalog.RoleAdmin)
	require.NoError(t, err)
	kinds := map[catalog.UserID]catalog.UserKind{owner: catalog.UserPerson, service.ID: catalog.UserService}
	members, err := w.ListMembers(w.ctx, org, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, members.Items, 2)
	for _, m := range members.Items {
		require.Equal(t, kinds[m.User], m.Kind)
	}
	for _, workspace := range []catalog.WorkspaceID{w.defaultWorkspace(org), w.workspace(org, owner, service.ID)} {
		members, err := w.ListWorkspaceMembers(w.ctx, org, workspace, catalog.Page{})
		require.NoError(t, err)
		require.Len(t, members.Items, 2)
		for _, m := range members.Items {
			require.Equal(t, kinds[m.User], m.Kind)
		}
	}
	_, err = w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &service.ID})
	require.Equal(t, []string{"owner"}, fieldsOf(w, err), "a program owns no organisation")
}
