package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// revoking is a catalog with an organisation, and the Revocations under test.
type revoking struct {
	*testing.T
	system context.Context
	store  *counting
	org    catalog.Organisation
	config catalog.StorageConfig
	tables []catalog.Table
	r      *revocation.Watcher
	access Tables
}

// counting counts the reads of checks, and can make them fail.
type counting struct {
	*authz.Store
	reads atomic.Int64
	fails atomic.Bool
	// before, if set, runs before each read of a member.
	before atomic.Pointer[func()]
}

var errNoCatalog = errors.New("no catalog")

func (c *counting) read() error {
	c.reads.Add(1)
	if c.fails.Load() {
		return errNoCatalog
	}
	return nil
}

func (c *counting) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	if before := c.before.Load(); before != nil {
		(*before)()
	}
	if err := c.read(); err != nil {
		return catalog.Membership{}, err
	}
	return c.Store.Membership(ctx, org, user)
}

func (c *counting) EnabledPolicies(ctx context.Context, org catalog.OrgID, tables []catalog.DeltaID) ([]catalog.Policy, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Store.EnabledPolicies(ctx, org, tables)
}

func newRevoking(t *testing.T) *revoking { return newRevokingAfter(t, 0) }

// newRevokingAfter is newRevoking with another time for which work continues unjudged.
func newRevokingAfter(t *testing.T, silence time.Duration) *revoking {
	t.Helper()
	inner, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{WatchInterval: 20 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	v := &revoking{T: t, system: authz.System(context.Background(), "test"), store: &counting{Store: authz.New(inner)}}
	owner, err := v.store.CreateUser(v.system, catalog.NewUser{Email: "owner@example.com"})
	require.NoError(t, err)
	v.org, err = v.store.CreateOrganisation(v.system, catalog.NewOrganisation{Name: "Acme", Owner: owner.ID})
	require.NoError(t, err)
	workspace, err := v.store.DefaultWorkspace(v.system, v.org.ID)
	require.NoError(t, err)
	v.config, err = v.store.CreateStorageConfig(v.system, catalog.NewStorageConfig{
		Org: v.org.ID, Owner: owner.ID, Workspace: workspace.ID, Name: "lake", Kind: catalog.KindLocal, Location: "file:///lake/",
	})
	require.NoError(t, err)
	for i := range 3 {
		made, err := v.store.RegisterTable(v.system, catalog.MemberViewer(v.org.ID, owner.ID), catalog.NewTable{
			Config: v.config.ID, Path: fmt.Sprint("t", i), Name: fmt.Sprint("t", i), DeltaID: catalog.DeltaID(uuid.NewString()),
		})
		require.NoError(t, err)
		v.tables = append(v.tables, made)
	}
	v.access = New(v.store, nil, Options{Permissions: v.store})
	v.r = revocation.New(v.store, revocation.Options{Tick: 10 * time.Millisecond, Silence: silence, Logger: slog.New(slog.DiscardHandler)})
	return v
}

// run judges until the test ends.
func (v *revoking) run() {
	ctx, stop := context.WithCancel(v.system)
	var done sync.WaitGroup
	done.Go(func() {
		for epoch := range v.store.Watch(ctx) {
			v.r.Confirmed(epoch)
		}
	})
	done.Go(func() { v.r.Run(ctx) })
	v.Cleanup(func() { stop(); done.Wait() })
}

// member makes a member with a key.
func (v *revoking) member(role catalog.Role) caller.Identity {
	v.Helper()
	user, err := v.store.CreateUser(v.system, catalog.NewUser{Email: uuid.NewString() + "@example.com"})
	require.NoError(v, err)
	_, err = v.store.AddMember(v.system, v.org.ID, user.ID, role)
	require.NoError(v, err)
	key := apikey.Generate()
	workspace, err := v.store.DefaultWorkspace(v.system, v.org.ID)
	require.NoError(v, err)
	made, err := v.store.CreateAPIKey(v.system, catalog.NewAPIKey{
		Org: v.org.ID, User: user.ID, Name: "test", Prefix: key.Prefix(), Hash: key.Hash(), Scopes: auth.Role(role).Scopes().Strings(),
		Workspace: workspace.ID, ExpiresAt: time.Now().Add(time.Hour),
	})
	require.NoError(v, err)
	id := uuid.MustParse(string(made.ID))
	at := uuid.MustParse(string(workspace.ID))
	a, err := caller.From(auth.WithPrincipal(context.Background(), auth.Principal{
		OrgID: uuid.MustParse(string(v.org.ID)), UserID: uuid.MustParse(string(user.ID)), KeyID: &id, WorkspaceID: &at, Role: auth.Role(role),
		Granted: auth.Role(role).Scopes(), Scopes: auth.Role(role).Scopes(), Method: auth.MethodAPIKey,
	}))
	require.NoError(v, err)
	return a
}

// using returns a basis over one of the tables, as a statement planned now has.
func (v *revoking) using(a caller.Identity, table int) Basis {
	v.Helper()
	located, err := v.store.Table(v.system, a.Viewer, v.tables[table].ID)
	require.NoError(v, err)
	snap := twoColumns(v.T)
	t, err := v.access.seen(v.system, a, tableVersion{located: located, snap: snap, head: snap})
	require.NoError(v, err)
	return BasisOf(t)
}

func (v *revoking) policy(table int, column string) catalog.Policy {
	v.Helper()
	spec := catalog.PolicySpec{Kind: catalog.PolicyRows, Column: column, Enabled: true, Text: "permit (principal, action, resource);"}
	if table >= 0 {
		spec.Table = v.tables[table].DeltaID
	}
	made, err := v.store.CreatePolicy(v.system, catalog.NewPolicy{Org: v.org.ID, PolicySpec: spec, By: v.org.Owner})
	require.NoError(v, err)
	return made
}

// ends waits for the end of work and returns its cause.
func (v *revoking) ends(ctx context.Context) error {
	v.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		v.Fatal("the work goes on")
	}
	return context.Cause(ctx)
}

// judged waits until all work was judged by the current state.
func (v *revoking) judged() {
	v.Helper()
	require.Eventually(v, func() bool {
		epoch, err := v.store.Epoch(v.system)
		require.NoError(v, err)
		return v.r.Settled(epoch)
	}, time.Minute, time.Millisecond)
}

// twoColumns is a table version with the columns id and region.
func twoColumns(t *testing.T) *delta.Snapshot {
	t.Helper()
	snap, err := delta.Create(t.Context(), mem.New(), delta.CreateOptions{Schema: delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "region", Type: delta.String, Nullable: true},
	}}})
	require.NoError(t, err)
	return snap
}

// rotated replaces the key of a caller. The old key remains valid for grace.
func (v *revoking) rotated(a caller.Identity, grace time.Duration) {
	v.Helper()
	old, err := v.store.APIKey(v.system, v.org.ID, catalog.KeyID(a.KeyID.String()))
	require.NoError(v, err)
	key := apikey.Generate()
	_, err = v.store.RotateAPIKey(v.system, v.org.ID, old.ID, catalog.NewAPIKey{
		Org: v.org.ID, User: old.User, Name: "next", Prefix: key.Prefix(), Hash: key.Hash(), Scopes: old.Scopes, Workspace: old.Workspace,
		ExpiresAt: time.Now().Add(time.Hour),
	}, grace)
	require.NoError(v, err)
}

func (v *revoking) role(a caller.Identity, role catalog.Role) {
	v.Helper()
	_, err := v.store.SetMemberRole(v.system, v.org.ID, a.User, role)
	require.NoError(v, err)
}

func (v *revoking) attributes(a caller.Identity, value string) {
	v.Helper()
	_, err := v.store.ReplaceAttributes(v.system, v.org.ID, a.User, map[string]string{"region": value})
	require.NoError(v, err)
}

// rounds waits until all due work was judged. Each probe is judged in a round of its
// own.
func (v *revoking) rounds(a caller.Identity) {
	v.Helper()
	for range 3 {
		ctx, w := v.r.Begin(v.Context(), a)
		w.SetCheck(func(context.Context, *memo.EpochView) error { return revocation.ErrRevoked })
		_ = v.ends(ctx)
		w.Done()
	}
}

func (v *revoking) drop(table int) {
	v.Helper()
	require.NoError(v, v.store.DropTable(v.system, catalog.MemberViewer(v.org.ID, v.org.Owner), v.tables[table].ID, catalog.AnyVersion))
}

// TestWorkEndsWhenItsBasisChanges also checks that no other change ends work.
func TestWorkEndsWhenItsBasisChanges(t *testing.T) {
	for _, c := range []struct {
		name     string
		governed bool // the table has a policy before
		change   func(v *revoking, a caller.Identity, p catalog.Policy)
		goesOn   bool
	}{
		{name: "key revoked", change: func(v *revoking, a caller.Identity, _ catalog.Policy) {
			_, err := v.store.RevokeAPIKey(v.system, v.org.ID, catalog.KeyID(a.KeyID.String()))
			require.NoError(v, err)
		}},
		{name: "key rotated out", change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.rotated(a, 0) }},
		{name: "key rotated with a grace", change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.rotated(a, time.Hour) },
			goesOn: true},
		{name: "member removed", change: func(v *revoking, a caller.Identity, _ catalog.Policy) {
			require.NoError(v, v.store.RemoveMember(v.system, v.org.ID, a.User))
		}},
		{name: "role lowered", change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.role(a, catalog.RoleViewer) }},
		{name: "role raised", change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.role(a, catalog.RoleAdmin) }, goesOn: true},
		{name: "role raised under a policy", governed: true,
			change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.role(a, catalog.RoleAdmin) }},
		{name: "attributes changed", change: func(v *revoking, a caller.Identity, _ catalog.Policy) { v.attributes(a, "eu") }},
		{name: "policy made", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.policy(0, "region") }},
		{name: "policy made on another table", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.policy(1, "region") },
			goesOn: true},
		{name: "policy made on all tables with a column",
			change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.policy(-1, "REGION") }},
		{name: "policy made on all tables with another column",
			change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.policy(-1, "area") }, goesOn: true},
		{name: "policy made on all tables", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.policy(-1, "") }},
		{name: "policy changed", governed: true, change: func(v *revoking, _ caller.Identity, p catalog.Policy) {
			p.Text = "forbid (principal, action, resource);"
			_, err := v.store.UpdatePolicy(v.system, v.org.ID, p.ID, p.Version, p.PolicySpec, v.org.Owner)
			require.NoError(v, err)
		}},
		{name: "policy deleted", governed: true, change: func(v *revoking, _ caller.Identity, p catalog.Policy) {
			require.NoError(v, v.store.DeletePolicy(v.system, v.org.ID, p.ID, p.Version, v.org.Owner))
		}},
		{name: "table dropped", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.drop(0) }},
		{name: "another table dropped", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) { v.drop(1) }, goesOn: true},
		{name: "another member changed", change: func(v *revoking, _ caller.Identity, _ catalog.Policy) {
			other := v.member(catalog.RoleEditor)
			v.attributes(other, "eu")
			v.role(other, catalog.RoleViewer)
			require.NoError(v, v.store.RemoveMember(v.system, v.org.ID, other.User))
		}, goesOn: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newRevoking(t)
			a := v.member(catalog.RoleEditor)
			var p catalog.Policy
			if c.governed {
				p = v.policy(0, "region")
			}
			v.run()
			ctx, w := v.r.Begin(t.Context(), a)
			defer w.Done()
			w.SetCheck(v.access.CheckBasis(a, v.using(a, 0)))
			v.judged()
			require.NoError(t, ctx.Err())
			c.change(v, a, p)
			if c.goesOn {
				v.judged()
				require.NoError(t, ctx.Err())
				return
			}
			require.ErrorIs(t, v.ends(ctx), revocation.ErrQueryCancelled)
		})
	}
}

// TestChangeOfListedTableEndsWork checks answers from the catalog that name tables
// which the statement does not read.
func TestChangeOfListedTableEndsWork(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleViewer)
	v.run()
	begin := func() context.Context {
		b := v.using(a, 0)
		for _, u := range b.tables {
			b.listed = append(b.listed, u.located)
		}
		b.lists, b.tables = true, nil
		ctx, w := v.r.Begin(t.Context(), a)
		t.Cleanup(w.Done)
		w.SetCheck(v.access.CheckBasis(a, b))
		return ctx
	}
	ctx := begin()
	v.policy(1, "region")
	v.drop(1)
	v.judged()
	require.NoError(t, ctx.Err())
	v.policy(0, "region")
	require.ErrorIs(t, v.ends(ctx), revocation.ErrQueryCancelled)

	many := make([]catalog.LocatedTable, 0, manyTables)
	for range manyTables {
		many = append(many, v.using(a, 0).tables[0].located)
	}
	m, err := memo.NewEpochView(v.system, v.store)
	require.NoError(t, err)
	seen, err := v.access.visible(v.system, m, a, many)
	require.NoError(t, err)
	require.Contains(t, seen, v.tables[0].ID)
	require.NotContains(t, seen, v.tables[1].ID)
}

// TestChangeDuringPlanningIsNotMissed makes changes at random moments while work is
// planned and registered. In the end, exactly the work whose basis is the current
// state continues.
func TestChangeDuringPlanningIsNotMissed(t *testing.T) {
	v := newRevoking(t)
	v.run()
	type piece struct {
		ctx   context.Context
		basis Basis
		actor caller.Identity
	}
	var mu sync.Mutex
	var pieces []piece
	var all sync.WaitGroup
	for range 8 {
		a := v.member(catalog.RoleEditor)
		begun := make(chan struct{})
		all.Go(func() {
			for n := range 20 {
				if n == 10 {
					<-begun // so that some work ends
				}
				<-time.After(rand.N(2 * time.Millisecond))
				v.attributes(a, uuid.NewString())
			}
		})
		all.Go(func() {
			for n := range 30 {
				ctx, w := v.r.Begin(t.Context(), a)
				<-time.After(rand.N(time.Millisecond))
				b := v.using(a, 0)
				<-time.After(rand.N(time.Millisecond))
				w.SetCheck(v.access.CheckBasis(a, b))
				if n == 0 {
					close(begun)
				}
				mu.Lock()
				pieces = append(pieces, piece{ctx, b, a})
				mu.Unlock()
			}
		})
	}
	all.Wait()
	v.judged()
	ended := 0
	for _, p := range pieces {
		now := v.using(p.actor, 0)
		if p.basis.subject.Attributes["region"] == now.subject.Attributes["region"] {
			require.NoError(t, p.ctx.Err())
			continue
		}
		ended++
		require.ErrorIs(t, context.Cause(p.ctx), revocation.ErrQueryCancelled)
	}
	require.Positive(t, ended)
}

// TestNewBasisIsJudgedAgain checks that a check of an earlier basis says nothing about
// a later one.
func TestNewBasisIsJudgedAgain(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleEditor)
	ctx, w := v.r.Begin(t.Context(), a)
	defer w.Done()
	var once sync.Once
	swap := func() {
		once.Do(func() { w.SetCheck(func(context.Context, *memo.EpochView) error { return revocation.ErrRevoked }) })
	}
	v.store.before.Store(&swap) // in the middle of the first judgement
	v.run()
	require.ErrorIs(t, v.ends(ctx), revocation.ErrQueryCancelled)
}

// TestHeldWorkContinues checks that work is not ended between hold and release.
func TestHeldWorkContinues(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleEditor)
	v.run()
	ctx, w := v.r.Begin(t.Context(), a)
	defer w.Done()
	require.NoError(t, w.Hold(ctx))
	other, o := v.r.Begin(t.Context(), a)
	defer o.Done()
	require.NoError(t, v.store.RemoveMember(v.system, v.org.ID, a.User))
	require.ErrorIs(t, v.ends(other), revocation.ErrQueryCancelled)
	require.ErrorIs(t, o.Hold(other), revocation.ErrQueryCancelled, "what was ended is not held")
	v.rounds(a)
	require.NoError(t, ctx.Err())
	w.Release()
	require.ErrorIs(t, v.ends(ctx), revocation.ErrQueryCancelled)
}

func TestWorkEndsWithItsKey(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleEditor)
	v.run()
	ctx, w := v.r.Begin(t.Context(), a)
	defer w.Done()
	v.rotated(a, 2*time.Second)
	v.judged()
	require.NoError(t, ctx.Err())
	require.ErrorIs(t, v.ends(ctx), revocation.ErrQueryCancelled)
}

// TestWorkEndsWhenCatalogIsUnreadable checks that work ends once a revocation could
// have been missed, and continues while the catalog answers.
func TestWorkEndsWhenCatalogIsUnreadable(t *testing.T) {
	const silence = 2 * time.Second
	v := newRevokingAfter(t, silence)
	a := v.member(catalog.RoleEditor)
	v.run()
	ctx, w := v.r.Begin(t.Context(), a)
	defer w.Done()
	for begun := time.Now(); time.Since(begun) < 3*silence; {
		v.rounds(a)
	}
	require.NoError(t, ctx.Err())
	v.store.fails.Store(true)
	v.attributes(v.member(catalog.RoleViewer), "eu") // the epoch rises, and nothing can be judged
	require.ErrorIs(t, v.ends(ctx), revocation.ErrStale)
}

// TestWorkEndsWithoutConfirmedEpoch checks that work ends if the epoch is not
// confirmed, because it may have risen.
func TestWorkEndsWithoutConfirmedEpoch(t *testing.T) {
	const silence = 300 * time.Millisecond
	v := newRevokingAfter(t, silence)
	stopped, stop := context.WithCancel(v.system)
	var done sync.WaitGroup
	done.Go(func() { v.r.Run(stopped) })
	t.Cleanup(func() { stop(); done.Wait() })
	ctx, w := v.r.Begin(t.Context(), v.member(catalog.RoleEditor))
	defer w.Done()
	require.ErrorIs(t, v.ends(ctx), revocation.ErrStale)
}

// TestWorkEndsWhenAScopeIsLost checks a scope from the role in the table's workspace,
// which the organisation role does not include.
func TestWorkEndsWhenAScopeIsLost(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleEditor)
	v.run()
	begin := func(s auth.Scope) context.Context {
		ctx, w := v.r.Begin(t.Context(), a)
		t.Cleanup(w.Done)
		w.SetCheck(v.access.CheckBasis(a, v.using(a, 0)).And(v.access.CheckScopes(a, v.config.ID, []auth.Scope{s})))
		return ctx
	}
	allowed, denied := begin(auth.ScopeRowsInsert), begin(auth.ScopeTablesModify)
	require.ErrorIs(t, v.ends(denied), revocation.ErrQueryCancelled)
	v.judged()
	require.NoError(t, allowed.Err())
}

// TestJudgingSharesReads checks that the number of reads follows the number of
// distinct bases, not the number of statements.
func TestJudgingSharesReads(t *testing.T) {
	v := newRevoking(t)
	a := v.member(catalog.RoleEditor)
	v.run()
	for range 500 {
		_, w := v.r.Begin(t.Context(), a)
		t.Cleanup(w.Done)
		w.SetCheck(v.access.CheckBasis(a, v.using(a, 0)))
	}
	v.judged()
	for range 3 {
		before := v.store.reads.Load()
		v.policy(1, "region")
		v.judged()
		require.Less(t, v.store.reads.Load()-before, int64(50), "reads of the catalog for 500 pieces of work of one caller on one table")
	}
	before := v.store.reads.Load()
	v.rounds(a)
	require.Equal(t, before, v.store.reads.Load(), "nothing is read while nothing changes")
}

func TestNilRevocationsEndNothing(t *testing.T) {
	var r *revocation.Watcher
	ctx, w := r.Begin(t.Context(), caller.Identity{})
	w.SetCheck(nil)
	require.NoError(t, w.Hold(ctx))
	w.Release()
	w.Done()
	require.NoError(t, ctx.Err())
}

// BenchmarkWatched measures the cost of Revocations for one statement.
func BenchmarkWatched(b *testing.B) {
	r := revocation.New(nil, revocation.Options{})
	rests := BasisOf(Table{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, w := r.Begin(b.Context(), caller.Identity{})
			w.SetCheck(Tables{}.CheckBasis(caller.Identity{}, rests))
			w.Done()
		}
	})
}
