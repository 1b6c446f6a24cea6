package authz_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// fixture is an organisation with one record of each kind, and people.
type fixture struct {
	testing.TB
	inner  catalog.Store
	store  catalog.Store
	org    catalog.OrgID
	users  map[string]catalog.UserID
	people map[string]auth.Principal
	base   catalog.WorkspaceID
	// space has the members "builder" (as a viewer), "curator" (an
	// organisation viewer who administers it) and "editor" (as a builder).
	space catalog.WorkspaceID
	// empty has the same members and no configuration.
	empty    catalog.WorkspaceID
	config   catalog.StorageConfig // of the default workspace
	inSpace  catalog.StorageConfig
	personal catalog.StorageConfig // of "builder"
	table    catalog.Table         // in config
	changed  catalog.Table         // in config, identity changed
	spaced   catalog.Table         // in inSpace
	// attached is personal of "builder" before it was attached to the default workspace.
	attached catalog.StorageConfig
	policy   catalog.Policy
	key      catalog.APIKey // of "builder"
	// running and ended are operations of "builder".
	running, ended catalog.Operation
	// write is the lease of a write under way.
	write catalog.WriteLeaseID
	// own is the domain of column "a" of table, and value its only value. shared is used by
	// column "a" of spaced, unused by none. changing is a change of the domain of column "c"
	// of table.
	own    catalog.Domain
	value  catalog.ValueID
	shared catalog.Domain
	unused catalog.Domain
	// identity is of "viewer".
	identity catalog.IdentityBinding
	// invitation is to "outsider".
	invitation catalog.Invitation
	// gone is a deleted organisation of "owner", of which "viewer" is a member.
	gone     catalog.OrgID
	changing catalog.ValueChangeID
	// robot is a service account with the role of viewers.
	robot catalog.UserID
	keys  int
	// scratch is the sandbox, and trial a table of "builder" in it. discarded was dropped.
	scratch          catalog.StorageConfig
	trial, discarded catalog.Table
	// ends are the configurations of the moves copying, switched and deleting.
	ends                        [2]catalog.StorageConfig
	copying, switched, deleting catalog.MoveID
}

// outsider is an administrator of another organisation; nobody is a member
// whose credential carries no scope.
var everyone = []string{"owner", "admin", "builder", "editor", "viewer", "curator"}

// template is copied by each test: filling a database costs far more than copying its
// file.
var template struct {
	once    sync.Once
	content []byte
	fixture fixture
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	template.once.Do(func() {
		path := filepath.Join(tb.TempDir(), "template.db")
		inner, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
		require.NoError(tb, err)
		template.fixture = *fill(tb, inner)
		require.NoError(tb, inner.Close())
		template.content, err = os.ReadFile(path)
		require.NoError(tb, err)
	})
	path := filepath.Join(tb.TempDir(), "catalog.db")
	require.NoError(tb, os.WriteFile(path, template.content, 0o600))
	f := template.fixture
	f.TB, f.inner = tb, open(tb, path, nil)
	f.store = authz.New(f.inner)
	return &f
}

func fill(tb testing.TB, inner catalog.Store) *fixture {
	f := &fixture{TB: tb, inner: inner, users: map[string]catalog.UserID{}, people: map[string]auth.Principal{}}
	ctx := context.Background()
	for _, name := range append([]string{"outsider", "nobody"}, everyone...) {
		u, err := inner.CreateUser(ctx, catalog.NewUser{Email: name + "@example.com"})
		require.NoError(tb, err)
		f.users[name] = u.ID
	}
	o, err := inner.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "ours", Owner: f.users["owner"],
		Config: catalog.OrganisationConfig{Features: map[string]bool{catalog.FeatureSandbox: true}}})
	require.NoError(tb, err)
	f.org = o.ID
	theirs, err := inner.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "theirs", Owner: f.users["outsider"]})
	require.NoError(tb, err)
	f.people["owner"] = person(f.org, f.users["owner"], auth.RoleAdmin)
	f.people["outsider"] = person(theirs.ID, f.users["outsider"], auth.RoleAdmin)
	for name, role := range map[string]auth.Role{
		"admin": auth.RoleAdmin, "builder": auth.RoleBuilder, "editor": auth.RoleEditor,
		"viewer": auth.RoleViewer, "curator": auth.RoleViewer, "nobody": auth.RoleAdmin,
	} {
		_, err := inner.AddMember(ctx, f.org, f.users[name], catalog.Role(role))
		require.NoError(tb, err)
		f.people[name] = person(f.org, f.users[name], role)
	}
	f.people["nobody"] = narrow(f.people["nobody"])

	base, err := inner.DefaultWorkspace(ctx, f.org)
	require.NoError(tb, err)
	f.base = base.ID
	for name, id := range map[string]*catalog.WorkspaceID{"Space": &f.space, "Empty": &f.empty} {
		space, err := inner.CreateWorkspace(ctx, catalog.NewWorkspace{Org: f.org, Name: name})
		require.NoError(tb, err)
		*id = space.ID
		for name, role := range map[string]catalog.Role{
			"builder": catalog.RoleViewer, "editor": catalog.RoleBuilder, "curator": catalog.RoleAdmin,
		} {
			_, err := inner.SetWorkspaceMember(ctx, f.org, space.ID, f.users[name], role)
			require.NoError(tb, err)
		}
	}
	f.config = f.newConfig(f.base, "owner", "shared")
	f.inSpace = f.newConfig(f.space, "editor", "spaced")
	f.personal = f.newConfig("", "builder", "personal")
	system := catalog.SystemViewer(f.org)
	register := func(config catalog.StorageConfig, path string) catalog.Table {
		t, err := inner.RegisterTable(ctx, system, catalog.NewTable{Config: config.ID, DeltaID: catalog.DeltaID(uuid.NewString()), Path: path})
		require.NoError(tb, err)
		return t
	}
	f.table, f.changed, f.spaced = register(f.config, "t"), register(f.config, "changed"), register(f.inSpace, "t")
	_, err = inner.SyncTables(ctx, system, f.config.ID, catalog.Discovery{Found: []catalog.FoundTable{
		{Path: "changed", DeltaID: "another", Governed: true},
	}})
	require.NoError(tb, err)
	kept := []catalog.NewConstraint{{Name: "kept", Expression: "a > 0"}}
	require.NoError(tb, inner.AddConstraints(ctx, catalog.SystemViewer(f.org), f.table.ID, kept, f.users["owner"]))
	f.policy, err = inner.CreatePolicy(ctx, catalog.NewPolicy{Org: f.org, PolicySpec: spec(), By: f.users["owner"]})
	require.NoError(tb, err)
	f.key, err = inner.CreateAPIKey(ctx, newKey(f, "builder", "lw_fixture1", auth.RoleBuilder.Scopes()))
	require.NoError(tb, err)
	begin := func() catalog.Operation {
		o, err := inner.CreateOperation(ctx, catalog.NewOperation{Org: f.org, User: f.users["builder"], Kind: catalog.OperationQuery,
			Runner: "runner"})
		require.NoError(tb, err)
		return o
	}
	f.running, f.ended = begin(), begin()
	require.NoError(tb, inner.FinishOperation(ctx, "runner", f.ended.ID, cancelled()))
	f.write, err = inner.BeginWrite(ctx, catalog.NewWrite{Org: f.org, Table: "delta", Kind: catalog.WriteRows})
	require.NoError(tb, err)
	f.fillDomains(ctx)
	require.NoError(tb, f.fillProviders(ctx))
	f.robot = f.account(auth.RoleViewer).ID
	require.NoError(tb, f.fillSandbox(ctx))
	require.NoError(tb, f.fillMoves(ctx))
	f.fillSharing(ctx)
	f.fillSingleSignOn(ctx)
	f.fillOrganisations(ctx)
	_, err = inner.ClaimWriteKey(ctx, f.org, "claimed", "fingerprint")
	require.NoError(tb, err)
	require.NoError(tb, inner.AppendAudit(ctx, catalog.AuditEntry{Org: f.org, Action: "a.b", Outcome: catalog.OutcomeAllow}))
	return f
}

// fillOrganisations creates an invitation and a deleted organisation.
func (f *fixture) fillOrganisations(ctx context.Context) {
	var err error
	f.invitation, err = f.inner.CreateInvitation(ctx, newInvitation(f, f.users["owner"], "outsider@example.com"))
	require.NoError(f, err)
	gone, err := f.inner.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "gone", Owner: f.users["owner"]})
	require.NoError(f, err)
	f.gone = gone.ID
	_, err = f.inner.AddMember(ctx, f.gone, f.users["viewer"], catalog.RoleAdmin)
	require.NoError(f, err)
	require.NoError(f, f.inner.DeleteOrganisation(ctx, f.gone, catalog.AnyVersion))
}

// fillDomains creates the domains of the fixture.
func (f *fixture) fillDomains(ctx context.Context) {
	system, owner := catalog.SystemViewer(f.org), f.users["owner"]
	set := func(column string) (catalog.Domain, catalog.ValueID) {
		c, err := f.inner.SetColumnDomain(ctx, system, f.table.ID, catalog.ColumnDomainAt{Column: column}, fixedDomain(""), owner)
		require.NoError(f, err)
		values, err := f.inner.DomainValues(ctx, f.org, c.Domain.ID)
		require.NoError(f, err)
		return c.Domain, values.Values[0].ID
	}
	f.own, f.value = set("a")
	var err error
	f.shared, err = f.inner.CreateDomain(ctx, f.org, fixedDomain("shared"), owner)
	require.NoError(f, err)
	_, err = f.inner.UseDomain(ctx, system, f.spaced.ID, catalog.ColumnDomainAt{Column: "a"}, f.shared.ID, owner)
	require.NoError(f, err)
	f.unused, err = f.inner.CreateDomain(ctx, f.org, fixedDomain("unused"), owner)
	require.NoError(f, err)
	other, value := set("c")
	begun, err := f.inner.BeginValueChange(ctx, catalog.DomainTarget{Org: f.org, Viewer: system, Table: f.table.ID, Domain: other.ID},
		catalog.ValueChange{Kind: catalog.ValueRename, Value: value, To: "renamed", By: owner, Holder: "holder"})
	require.NoError(f, err)
	f.changing = begun.ID
}

func (f *fixture) newConfig(workspace catalog.WorkspaceID, owner, name string) catalog.StorageConfig {
	f.Helper()
	c, err := f.inner.CreateStorageConfig(context.Background(), f.configInput(workspace, owner, name))
	require.NoError(f, err)
	return c
}

func (f *fixture) configInput(workspace catalog.WorkspaceID, owner, name string) catalog.NewStorageConfig {
	return catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: f.org, Name: name, Kind: catalog.KindS3, Workspace: workspace, Owner: f.users[owner],
		Location: catalog.NewLocation("s3", "endpoint", name), AuthMode: "access_key", SealedSecret: []byte("sealed"),
	}
}

func spec() catalog.PolicySpec {
	return catalog.PolicySpec{Kind: catalog.PolicyRows, Text: "permit (principal, action, resource);", Enabled: true}
}

func cancelled() catalog.OperationOutcome {
	return catalog.OperationOutcome{State: catalog.OperationCancelled, ExpiresAt: time.Now().Add(time.Hour)}
}

func newKey(f *fixture, owner, prefix string, scopes auth.ScopeSet) catalog.NewAPIKey {
	return catalog.NewAPIKey{
		Org: f.org, User: f.users[owner], Name: "k", Prefix: prefix, Hash: sha256.Sum256([]byte(prefix)),
		Scopes: scopes.Strings(), ExpiresAt: time.Now().Add(time.Hour),
	}
}

// person returns a signed-in principal.
func person(org catalog.OrgID, user catalog.UserID, role auth.Role) auth.Principal {
	return auth.Principal{
		OrgID: uuid.MustParse(string(org)), UserID: uuid.MustParse(string(user)), Role: role,
		Granted: auth.AllScopes(), Scopes: role.Scopes(), Method: auth.MethodJWT,
	}
}

// narrow limits a principal to the given scopes.
func narrow(p auth.Principal, scopes ...auth.Scope) auth.Principal {
	p.Granted = auth.NewScopeSet(scopes...)
	p.Scopes = p.Granted.Intersect(p.Role.Scopes())
	return p
}

const day = 24 * time.Hour

// asKey returns the principal of an API key of the same person with the same scopes.
func asKey(p auth.Principal, workspace catalog.WorkspaceID) auth.Principal {
	id := uuid.New()
	p.Method, p.KeyID = auth.MethodAPIKey, &id
	if workspace != "" {
		parsed := uuid.MustParse(string(workspace))
		p.WorkspaceID = &parsed
	}
	return p
}

// stored stores the key of a principal, which can then make credentials.
func (f *fixture) stored(p auth.Principal, life time.Duration) auth.Principal {
	f.Helper()
	prefix := "lw_" + p.KeyID.String()[:8]
	_, err := f.inner.CreateAPIKey(context.Background(), catalog.NewAPIKey{
		ID: catalog.KeyID(p.KeyID.String()), Org: catalog.OrgID(p.OrgID.String()), User: catalog.UserID(p.UserID.String()), Name: "made",
		Prefix: prefix, Hash: sha256.Sum256([]byte(prefix)), Scopes: []string{"org:read"}, ExpiresAt: time.Now().Add(life),
	})
	require.NoError(f, err)
	return p
}

// as returns the context of a principal.
func as(p auth.Principal) context.Context { return auth.WithPrincipal(context.Background(), p) }

// viewer returns the viewer of the actor of a context, moved to the fixture's
// organisation, so that outsiders are tested too.
func (f *fixture) viewer(ctx context.Context) catalog.Viewer {
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return catalog.SystemViewer(f.org)
	}
	v := authz.ViewerOf(p)
	v.Org = f.org
	return v
}

// actor returns the user of a context, or the owner.
func (f *fixture) actor(ctx context.Context) catalog.UserID {
	if p, err := auth.PrincipalFrom(ctx); err == nil {
		return catalog.UserID(p.UserID.String())
	}
	return f.users["owner"]
}

func (f *fixture) epoch() uint64 {
	e, err := f.inner.Epoch(context.Background())
	require.NoError(f, err)
	return e
}

// next returns a number that is unique in the fixture.
func (f *fixture) next() int {
	f.keys++
	return f.keys
}

func prefix(n int) string { return fmt.Sprintf("lw_%08d", n) }

// emptyReply is the reply of a write without effect.
var emptyReply = []byte("{}")
