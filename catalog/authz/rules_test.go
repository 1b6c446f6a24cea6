package authz_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

func reason(t *testing.T, err error, want string) {
	t.Helper()
	var denied *catalog.DeniedError
	require.ErrorAs(t, err, &denied)
	require.Equal(t, want, denied.Reason)
}

func missing(t *testing.T, err error, scope auth.Scope) {
	t.Helper()
	var denied *catalog.DeniedError
	require.ErrorAs(t, err, &denied)
	require.Equal(t, string(scope), denied.Scope)
}

// TestSystemDoesNotLeakIntoRequests checks that a principal added to a context of the
// system does not act as the system: a server may start its handlers under such a
// context.
func TestSystemDoesNotLeakIntoRequests(t *testing.T) {
	f := newFixture(t)
	for _, p := range []auth.Principal{f.people["viewer"], {}} {
		request := auth.WithPrincipal(authz.System(context.Background(), "start"), p)
		_, err := f.store.ListOrganisations(request, catalog.Page{})
		reason(t, err, "system_only")
	}
	other := auth.WithPrincipal(authz.System(as(f.people["admin"]), "for the admin"), f.people["viewer"])
	_, err := f.store.ListOrganisations(other, catalog.Page{})
	reason(t, err, "system_only")
	_, err = f.store.ListOrganisations(authz.System(as(f.people["viewer"]), "on behalf"), catalog.Page{})
	require.NoError(t, err)
}

func TestCallersLookThroughTheirOwnViewerOnly(t *testing.T) {
	f := newFixture(t)
	builder := f.people["builder"]
	key := asKey(builder, "")
	for name, c := range map[string]struct {
		who    auth.Principal
		viewer catalog.Viewer
	}{
		"the system's":               {builder, catalog.SystemViewer(f.org)},
		"another member's":           {builder, catalog.MemberViewer(f.org, f.users["editor"])},
		"a key's without its limits": {key, catalog.MemberViewer(f.org, f.users["builder"])},
		"a key's with another limit": {key, catalog.KeyViewer(f.org, f.users["builder"], f.space)},
	} {
		_, err := f.store.ListTables(as(c.who), c.viewer, catalog.TableFilter{}, catalog.Page{})
		reason(t, err, "viewer_mismatch")
		_, err = f.store.UpdateStorageConfig(as(c.who), c.viewer, f.config.ID, 1, catalog.StorageConfigChange{})
		reason(t, err, "viewer_mismatch")
		require.NotEmpty(t, name)
	}
	_, err := f.store.StorageConfig(as(key), authz.ViewerOf(key), f.inSpace.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "a key without a workspace reaches the default one only")
	inSpace := asKey(builder, f.space)
	_, err = f.store.StorageConfig(as(inSpace), authz.ViewerOf(inSpace), f.inSpace.ID)
	require.NoError(t, err)
}

// TestWorkspaceRoleCounts checks that the higher of the two roles applies, for members
// only, and only to records of the workspace.
func TestWorkspaceRoleCounts(t *testing.T) {
	f := newFixture(t)
	rename := func(who auth.Principal, table catalog.Table) error {
		_, err := f.store.RenameTable(as(who), authz.ViewerOf(who), table.ID, catalog.AnyVersion, "n"+string(table.ID[:8]))
		return err
	}
	editor := f.people["editor"] // a builder in the space
	if err := rename(editor, f.spaced); err != nil {
		require.NoError(t, err)
	}
	_, err := f.store.RenameTable(as(editor), authz.ViewerOf(editor), f.table.ID, catalog.AnyVersion, "other")
	missing(t, err, auth.ScopeTablesModify)
	require.NoError(t, rename(f.people["builder"], f.spaced), "the organisation role of a viewer of the space applies")
	require.ErrorIs(t, rename(f.people["admin"], f.spaced), catalog.ErrNotFound, "an administrator who is not a member does not see it")
	missing(t, rename(narrow(editor, auth.ScopeTablesRead), f.spaced), auth.ScopeTablesModify)
	missing(t, rename(asKey(editor, ""), f.table), auth.ScopeTablesModify)
	require.ErrorIs(t, rename(asKey(editor, ""), f.spaced), catalog.ErrNotFound)
	require.NoError(t, rename(asKey(editor, f.space), f.spaced))

	// A role in a workspace does not allow changes of policies.
	curator := f.people["curator"]
	_, err = f.store.AdoptIdentity(as(curator), authz.ViewerOf(curator), f.changed.ID, catalog.AnyVersion, false, f.users["curator"])
	missing(t, err, auth.ScopePoliciesWrite)
	_, err = f.store.CreatePolicy(as(curator), catalog.NewPolicy{Org: f.org, PolicySpec: spec(), By: f.users["curator"]})
	missing(t, err, auth.ScopePoliciesWrite)
}

func TestCreateStorageConfig(t *testing.T) {
	f := newFixture(t)
	create := func(who auth.Principal, change func(*catalog.NewStorageConfig)) error {
		n := f.configInput("", "owner", "n")
		n.Owner = authz.ViewerOf(who).User
		change(&n)
		_, err := f.store.CreateStorageConfig(as(who), n)
		return err
	}
	builder, admin, editor := f.people["builder"], f.people["admin"], f.people["editor"]
	local := func(n *catalog.NewStorageConfig) { n.Kind, n.Location = catalog.KindLocal, "file:///x/" }
	reason(t, create(builder, local), "local_storage_needs_admin")
	require.NoError(t, create(admin, local))
	reason(t, create(builder, func(n *catalog.NewStorageConfig) { n.Owner = f.users["admin"] }), "actor_mismatch")
	inSpace := func(n *catalog.NewStorageConfig) { n.Workspace = f.space }
	require.NoError(t, create(editor, inSpace), "a builder in the space")
	require.ErrorIs(t, create(admin, inSpace), catalog.ErrNotFound, "not a member of the space")
	require.ErrorIs(t, create(asKey(builder, ""), inSpace), catalog.ErrNotFound, "a key that does not reach it")
	missing(t, create(narrow(builder, auth.ScopeStorageConfigure), inSpace), auth.ScopeStorageConfigsShare)
	missing(t, create(narrow(builder, auth.ScopeStorageConfigsShare), inSpace), auth.ScopeStorageConfigure)
	require.NoError(t, create(narrow(builder, auth.ScopeStorageConfigure), func(n *catalog.NewStorageConfig) {}))
}

func TestKeysAreNoWiderThanTheirMaker(t *testing.T) {
	f := newFixture(t)
	n := 100
	create := func(who auth.Principal, change func(*catalog.NewAPIKey)) error {
		n++
		key := newKey(f, "builder", prefix(n), auth.NewScopeSet(auth.ScopeTablesRead))
		change(&key)
		_, err := f.store.CreateAPIKey(as(who), key)
		return err
	}
	same := func(*catalog.NewAPIKey) {}
	wide := func(k *catalog.NewAPIKey) { k.Scopes = auth.AllScopes().Strings() }
	builder := f.people["builder"]
	require.NoError(t, create(builder, same))
	require.ErrorIs(t, create(builder, wide), auth.ErrScopeEscalation)
	reason(t, create(f.people["admin"], same), "actor_mismatch")
	require.NoError(t, create(f.stored(asKey(builder, ""), day), same))
	missing(t, create(asKey(narrow(builder, auth.ScopeTablesRead), ""), same), auth.ScopeAPIKeysCreate)
	inSpace := func(k *catalog.NewAPIKey) { k.Workspace = f.space }
	require.NoError(t, create(builder, inSpace))
	require.ErrorIs(t, create(asKey(builder, ""), inSpace), catalog.ErrNotFound)
	require.NoError(t, create(f.stored(asKey(builder, f.space), day), inSpace))

	// Keys created and rotated by this actor end within an hour.
	brief := f.stored(asKey(builder, ""), time.Minute)
	require.ErrorIs(t, create(brief, same), catalog.ErrOutlivesMaker)
	require.NoError(t, create(brief, func(k *catalog.NewAPIKey) { k.ExpiresAt = time.Now().Add(30 * time.Second) }))
	pretended := func(k *catalog.NewAPIKey) { k.Maker, k.CommandLine = catalog.Maker{}, true }
	require.ErrorIs(t, create(brief, pretended), catalog.ErrOutlivesMaker, "the maker is the actor")

	rotate := func(who auth.Principal, scopes auth.ScopeSet) error {
		n++
		_, err := f.store.RotateAPIKey(as(who), f.org, f.key.ID, newKey(f, "builder", prefix(n), scopes), time.Hour)
		return err
	}
	all := auth.RoleBuilder.Scopes()
	require.ErrorIs(t, rotate(asKey(narrow(builder, auth.ScopeAPIKeysCreate), ""), all), auth.ErrScopeEscalation,
		"a narrow key must not trade a wide one for a copy that it knows")
	require.ErrorIs(t, rotate(builder, auth.AllScopes()), auth.ErrScopeEscalation)
	reason(t, rotate(f.people["admin"], all), "not_owner")
	require.NoError(t, rotate(builder, all))

	_, err := f.store.ListAPIKeys(as(builder), f.org, catalog.APIKeyFilter{}, catalog.Page{})
	missing(t, err, auth.ScopeUsersWrite)
}

// everywhere is an API key of a person for every workspace.
func everywhere(p auth.Principal) auth.Principal {
	p = asKey(p, "")
	p.AllWorkspaces = true
	return p
}

func TestKeysReachNoFurtherThanTheirMaker(t *testing.T) {
	f := newFixture(t)
	builder := f.people["builder"]
	manager := asKey(builder, "") // as if builders could
	manager.Scopes = manager.Scopes.Union(auth.NewScopeSet(auth.ScopeUsersWrite, auth.ScopeOrgUpdate))
	n := 200
	create := func(who auth.Principal, workspace catalog.WorkspaceID, all bool) (catalog.APIKey, error) {
		n++
		key := newKey(f, "builder", prefix(n), auth.NewScopeSet(auth.ScopeTablesRead))
		key.Workspace, key.AllWorkspaces = workspace, all
		return f.store.CreateAPIKey(as(who), key)
	}
	var everyKey, spaceKey catalog.APIKey
	var err error
	for _, who := range []auth.Principal{builder, f.stored(everywhere(builder), day)} {
		everyKey, err = create(who, "", true)
		require.NoError(t, err)
		require.Equal(t, f.base, everyKey.Workspace)
		spaceKey, err = create(who, f.space, false)
		require.NoError(t, err)
	}
	for _, who := range []auth.Principal{asKey(builder, ""), asKey(builder, f.empty), manager} {
		f.stored(who, day)
		_, err := create(who, "", true)
		require.ErrorIs(t, err, auth.ErrWorkspaceEscalation)
		_, err = create(who, f.space, false)
		require.ErrorIs(t, err, catalog.ErrNotFound)
		for _, id := range []catalog.KeyID{everyKey.ID, spaceKey.ID} {
			n++
			_, err = f.store.RotateAPIKey(as(who), f.org, id, newKey(f, "builder", prefix(n), auth.NewScopeSet(auth.ScopeTablesRead)), 0)
			require.ErrorIs(t, err, auth.ErrWorkspaceEscalation)
		}
		same, err := create(who, f.base, false)
		require.NoError(t, err)
		n++
		_, err = f.store.RotateAPIKey(as(who), f.org, same.ID, newKey(f, "builder", prefix(n), auth.NewScopeSet(auth.ScopeTablesRead)), 0)
		require.NoError(t, err)
	}
}

// A key for all workspaces has its user's viewer. AllWorkspaces has no meaning for
// other principals.
func TestKeysForAllWorkspacesSeeWhatTheirUserSees(t *testing.T) {
	f := newFixture(t)
	builder := f.people["builder"]
	all := everywhere(builder)
	require.Equal(t, authz.ViewerOf(builder), authz.ViewerOf(all))
	_, err := f.store.StorageConfig(as(all), authz.ViewerOf(all), f.inSpace.ID)
	require.NoError(t, err)
	outside := everywhere(f.people["admin"])
	_, err = f.store.StorageConfig(as(outside), authz.ViewerOf(outside), f.inSpace.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "an administrator who is not a member")
	unknown := all
	unknown.Method = ""
	require.True(t, authz.ViewerOf(unknown).Limited)
	_, err = f.store.UpdateUser(as(all), f.users["builder"], 1, catalog.UserChange{})
	reason(t, err, "sign_in_required")
}

// The record of an operation can name files and columns of its tables, so it is visible
// only to credentials that reach as many workspaces as the one that started it.
func TestOperationsAreShownAsFarAsAKeyReaches(t *testing.T) {
	f := newFixture(t)
	builder := f.people["builder"]
	started := map[string]catalog.Operation{}
	for name, change := range map[string]func(*catalog.NewAPIKey){
		"base":  func(*catalog.NewAPIKey) {},
		"space": func(k *catalog.NewAPIKey) { k.Workspace = f.space },
		"all":   func(k *catalog.NewAPIKey) { k.AllWorkspaces = true },
	} {
		n := newKey(f, "builder", prefix(300+len(started)), auth.NewScopeSet(auth.ScopeTablesRead))
		change(&n)
		key, err := f.inner.CreateAPIKey(context.Background(), n)
		require.NoError(t, err)
		started[name], err = f.inner.CreateOperation(context.Background(), catalog.NewOperation{
			Org: f.org, User: f.users["builder"], Key: key.ID, Kind: catalog.OperationVacuum, Runner: "runner",
		})
		require.NoError(t, err)
	}
	started["person"] = f.running
	started["lost key"] = func() catalog.Operation {
		o, err := f.inner.CreateOperation(context.Background(), catalog.NewOperation{
			Org: f.org, User: f.users["builder"], Key: catalog.NewID[catalog.KeyID](), Kind: catalog.OperationVacuum, Runner: "runner",
		})
		require.NoError(t, err)
		return o
	}()
	administrator := asKey(builder, "")
	administrator.Scopes = administrator.Scopes.Union(auth.NewScopeSet(auth.ScopeOrgUpdate)) // as if builders could
	for name, c := range map[string]struct {
		who  auth.Principal
		sees []string
	}{
		"person":                 {builder, []string{"base", "space", "all", "person", "lost key"}},
		"key for all workspaces": {everywhere(builder), []string{"base", "space", "all", "person", "lost key"}},
		"key of the space":       {asKey(builder, f.space), []string{"base", "space"}},
		"key":                    {asKey(builder, ""), []string{"base"}},
		"key with org:update":    {administrator, []string{"base", "space", "all", "person", "lost key"}},
	} {
		list, err := f.store.ListOperations(as(c.who), f.org, catalog.OperationFilter{User: f.users["builder"]}, catalog.Page{})
		require.NoError(t, err)
		for operation, o := range started {
			seen := slices.Contains(c.sees, operation)
			_, err := f.store.Operation(as(c.who), f.org, o.ID)
			_, cancel := f.store.CancelOperation(as(c.who), f.org, o.ID)
			if !seen {
				require.ErrorIs(t, err, catalog.ErrNotFound, "%s: %s", name, operation)
				require.ErrorIs(t, cancel, catalog.ErrNotFound, "%s: %s", name, operation)
			} else {
				require.NoError(t, errors.Join(err, cancel), "%s: %s", name, operation)
			}
			require.Equal(t, seen, slices.ContainsFunc(list.Items, func(l catalog.Operation) bool { return l.ID == o.ID }), "%s: %s", name,
				operation)
		}
	}
}

// TestNoGrantAboveOwnRole covers scopes narrower than a role, and a role lower
// than the one in the catalog.
func TestNoGrantAboveOwnRole(t *testing.T) {
	f := newFixture(t)
	lower := f.people["builder"]
	lower.Scopes = lower.Scopes.Union(auth.NewScopeSet(auth.ScopeUsersWrite)) // as if builders could
	_, err := f.store.SetMemberRole(as(lower), f.org, f.users["viewer"], catalog.RoleAdmin)
	reason(t, err, "role_escalation")
	_, err = f.store.SetMemberRole(as(lower), f.org, f.users["admin"], catalog.RoleViewer)
	reason(t, err, "role_escalation")
	reason(t, f.store.RemoveMember(as(lower), f.org, f.users["admin"]), "role_escalation")
	_, err = f.store.AddMember(as(lower), f.org, f.users["outsider"], catalog.RoleAdmin)
	reason(t, err, "role_escalation")
	_, err = f.store.SetMemberRole(as(lower), f.org, f.users["viewer"], catalog.RoleBuilder)
	require.NoError(t, err)

	// A credential for members only gives nobody what it lacks itself.
	members := asKey(narrow(f.people["admin"], auth.ScopeUsersWrite), "")
	reason(t, drop(f.store.AddMember(as(members), f.org, f.users["outsider"], catalog.RoleViewer)), "role_escalation")
	reason(t, drop(f.store.AddPerson(as(members), f.org, catalog.NewUser{Email: "me@evil.example"}, catalog.RoleAdmin)), "role_escalation")
	reason(t, drop(f.store.SetMemberRole(as(members), f.org, f.users["viewer"], catalog.RoleAdmin)), "role_escalation")
	reason(t, drop(f.store.CreateInvitation(as(members), catalog.NewInvitation{
		Org: f.org, Email: "me@evil.example", Role: catalog.RoleAdmin, InvitedBy: f.users["admin"],
	})), "role_escalation")
	require.NoError(t, drop(f.store.SetMemberRole(as(members), f.org, f.users["builder"], catalog.RoleViewer)), "takes scopes away")
	setIn := func(who auth.Principal, name string, role catalog.Role) error {
		return drop(f.store.SetWorkspaceMember(as(who), f.org, f.space, f.users[name], role))
	}
	reason(t, setIn(members, "viewer", catalog.RoleViewer), "role_escalation")
	reason(t, setIn(members, "editor", catalog.RoleAdmin), "role_escalation")
	require.NoError(t, setIn(members, "editor", catalog.RoleViewer), "takes scopes away")
	readers := narrow(f.people["admin"], slices.Collect(auth.RoleViewer.Scopes().Union(auth.NewScopeSet(auth.ScopeUsersWrite)).All())...)
	require.NoError(t, setIn(readers, "viewer", catalog.RoleViewer))
	reason(t, setIn(readers, "viewer", catalog.RoleEditor), "role_escalation")

	owner := f.users["viewer"]
	_, err = f.store.UpdateOrganisation(as(f.people["admin"]), f.org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &owner})
	reason(t, err, "not_owner")
}

func TestAttributesOfOthersNeedPolicyScopes(t *testing.T) {
	f := newFixture(t)
	for _, name := range everyone {
		_, err := f.inner.ReplaceAttributes(context.Background(), f.org, f.users[name], map[string]string{"team": name})
		require.NoError(t, err)
	}
	for _, name := range everyone {
		reads := name == "owner" || name == "admin" || name == "builder"
		own, err := f.store.Membership(as(f.people[name]), f.org, f.users[name])
		require.NoError(t, err)
		require.Equal(t, map[string]string{"team": name}, own.Attributes)
		other, err := f.store.Membership(as(f.people[name]), f.org, f.users["owner"])
		require.NoError(t, err)
		require.Equal(t, reads, len(other.Attributes) == 1, name)
		require.NotNil(t, other.Attributes)
		list, err := f.store.ListMembers(as(f.people[name]), f.org, catalog.Page{})
		require.NoError(t, err)
		for _, m := range list.Items {
			if m.User != f.users["nobody"] && m.User != f.robot {
				require.Equal(t, reads || m.User == f.users[name], len(m.Attributes) == 1, "%s looks at %s", name, m.Email)
			}
		}
	}
}

func TestPeopleChangeTheirNameOnly(t *testing.T) {
	f := newFixture(t)
	email := "admin2@example.com"
	_, err := f.store.UpdateUser(as(f.people["admin"]), f.users["admin"], 1, catalog.UserChange{Email: &email})
	reason(t, err, "system_only")
	_, err = f.store.UpdateUser(as(asKey(f.people["admin"], "")), f.users["admin"], 1, catalog.UserChange{})
	reason(t, err, "sign_in_required")
}

func TestChangesAreSigned(t *testing.T) {
	f := newFixture(t)
	admin := as(f.people["admin"])
	_, err := f.store.CreatePolicy(admin, catalog.NewPolicy{Org: f.org, PolicySpec: spec(), By: f.users["owner"]})
	reason(t, err, "actor_mismatch")
	_, err = f.store.UpdatePolicy(admin, f.org, f.policy.ID, 1, spec(), f.users["owner"])
	reason(t, err, "actor_mismatch")
	reason(t, f.store.DeletePolicy(admin, f.org, f.policy.ID, 1, f.users["owner"]), "actor_mismatch")
	_, err = f.store.CreateWorkspace(admin, catalog.NewWorkspace{Org: f.org, Name: "n", Creator: f.users["owner"]})
	reason(t, err, "actor_mismatch")
}

// TestNarrowCredentialsDoNotCancelOtherWork checks that a program that a person has given
// few scopes neither sees nor cancels the person's own work.
func TestNarrowCredentialsDoNotCancelOtherWork(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	starts := map[catalog.OperationKind][]auth.Scope{
		catalog.OperationQuery: {auth.ScopeTablesQuery}, catalog.OperationDiscover: {auth.ScopeStorageWrite, auth.ScopeStorageConfigure},
		catalog.OperationOptimize: {auth.ScopeTablesModify}, catalog.OperationVacuum: {auth.ScopeTablesModify},
		catalog.OperationMove: {auth.ScopeStorageWrite}, catalog.OperationAnalyze: {auth.ScopeTablesQuery},
		catalog.OperationValidate: {auth.ScopeTablesModify, auth.ScopeDomainsWrite},
		catalog.OperationRewrite:  {auth.ScopeTablesModify, auth.ScopeDomainsWrite},
	}
	builder := f.people["builder"]
	program := builder
	program.Program, program.Confined = true, true
	for _, kind := range catalog.OperationKinds() {
		o, err := f.inner.CreateOperation(ctx, catalog.NewOperation{Org: f.org, User: f.users["builder"], Kind: kind, Runner: "runner"})
		require.NoError(t, err)
		sees := func(p auth.Principal) bool {
			_, err := f.store.Operation(as(p), f.org, o.ID)
			if err != nil {
				require.ErrorIs(t, err, catalog.ErrNotFound)
				require.ErrorIs(t, drop(f.store.CancelOperation(as(p), f.org, o.ID)), catalog.ErrNotFound)
				require.ErrorIs(t, drop(f.store.ForgetOperation(as(p), f.org, o.ID)), catalog.ErrNotFound)
			}
			list, listErr := f.store.ListOperations(as(p), f.org, catalog.OperationFilter{User: f.users["builder"], Kind: kind}, catalog.Page{})
			require.NoError(t, listErr)
			listed := slices.ContainsFunc(list.Items, func(l catalog.Operation) bool { return l.ID == o.ID })
			require.Equal(t, err == nil, listed)
			return listed
		}
		for _, scope := range auth.AllScopes().Strings() {
			starting := slices.Contains(starts[kind], auth.Scope(scope))
			require.Equal(t, starting, sees(narrow(program, auth.Scope(scope))), "%s %s", kind, scope)
			require.Equal(t, starting, sees(narrow(asKeyOfAll(builder), auth.Scope(scope))), "%s %s", kind, scope)
		}
		lowered := builder
		lowered.Role = auth.RoleViewer
		lowered.Scopes = lowered.Granted.Intersect(lowered.Role.Scopes())
		require.True(t, sees(lowered), "the person, who is a viewer now")
	}
}

// asKeyOfAll returns the principal of an API key that reaches every workspace.
func asKeyOfAll(p auth.Principal) auth.Principal {
	p = asKey(p, "")
	p.AllWorkspaces = true
	return p
}
