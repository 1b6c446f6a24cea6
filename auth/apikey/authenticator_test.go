package apikey_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/epochcache"
)

// stored is a key in the store and its owner.
type stored struct {
	apikey.Record
	apikey.Owner
}

// memory is an in-memory Store with an epoch that counts its calls.
type memory struct {
	mu      sync.Mutex
	records map[string]stored
	epoch   uint64
	lookups int
	owners  int
	touched []use
	err     error
}

func (m *memory) KeyByPrefix(_ context.Context, prefix string) (apikey.Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups++
	r, ok := m.records[prefix]
	return r.Record, ok, m.err
}

func (m *memory) Owner(_ context.Context, org, user uuid.UUID) (apikey.Owner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners++
	for _, r := range m.records {
		if r.OrgID == org && r.UserID == user {
			return r.Owner, m.err
		}
	}
	return apikey.Owner{}, m.err
}

// use is one write of uses.
type use struct {
	at  time.Time
	ids []uuid.UUID
}

func (m *memory) TouchKeys(_ context.Context, at time.Time, ids []uuid.UUID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touched = append(m.touched, use{at, ids})
	return nil
}

func (m *memory) Epoch() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch, nil
}

// change edits the record and raises the epoch, like the catalog.
func (m *memory) change(prefix string, edit func(*stored)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[prefix]
	edit(&r)
	m.records[prefix] = r
	m.epoch++
}

func (m *memory) counts() (lookups int, touches []use) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookups, slices.Clone(m.touched)
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) Add(d time.Duration) { c.mu.Lock(); c.at = c.at.Add(d); c.mu.Unlock() }

type fixture struct {
	*apikey.Authenticator
	store *memory
	clock *clock
	key   apikey.Key
	want  stored
}

func newFixture(t *testing.T) *fixture {
	key := apikey.Generate()
	hash := key.Hash()
	workspace := uuid.New()
	r := stored{
		apikey.Record{
			ID: uuid.New(), OrgID: uuid.New(), UserID: uuid.New(),
			Hash: hash[:], Scopes: []string{"tables:query", "rows:insert", "gone:scope"},
			WorkspaceID: &workspace, ExpiresAt: now.Add(24 * time.Hour),
		},
		apikey.Owner{Email: "ada@example.com", Role: auth.RoleEditor},
	}
	f := &fixture{
		store: &memory{records: map[string]stored{key.Prefix(): r}, epoch: 7},
		clock: &clock{at: now}, key: key, want: r,
	}
	f.Authenticator = apikey.New(f.store, apikey.Options{Epoch: f.store.Epoch, Now: f.clock.Now})
	t.Cleanup(f.Close)
	return f
}

func TestAuthenticateReturnsTheOwnerWithEffectiveScopes(t *testing.T) {
	f := newFixture(t)
	p, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	require.Equal(t, auth.Principal{
		OrgID: f.want.OrgID, UserID: f.want.UserID, KeyID: &f.want.ID, Email: "ada@example.com",
		Role:    auth.RoleEditor,
		Granted: auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeRowsInsert),
		Scopes:  auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeRowsInsert),
		Method:  auth.MethodAPIKey, WorkspaceID: f.want.WorkspaceID,
	}, p)
}

func TestAuthenticateTellsHowFarAKeyReaches(t *testing.T) {
	f := newFixture(t)
	for _, all := range []bool{true, false} {
		f.store.change(f.key.Prefix(), func(r *stored) { r.AllWorkspaces = all })
		p, err := f.Authenticate(t.Context(), f.key.Reveal())
		require.NoError(t, err)
		require.Equal(t, all, p.AllWorkspaces)
	}
}

func TestWrongChecksumAsksNoStore(t *testing.T) {
	f := newFixture(t)
	text := f.key.Reveal()
	bad := text[:len(text)-1] + string(rune('0'+(text[len(text)-1]+1)%10))
	_, err := f.Authenticate(t.Context(), bad)
	require.ErrorIs(t, err, auth.ErrMalformed)
	lookups, _ := f.store.counts()
	require.Zero(t, lookups)
}

func TestWrongSecretWithRightPrefixIsRefused(t *testing.T) {
	f := newFixture(t)
	// The same prefix stored for another key, as seen by an attacker who knows the
	// visible part.
	other := apikey.Generate()
	r := f.want
	r.Revoked = true
	f.store.records[other.Prefix()] = r
	_, err := f.Authenticate(t.Context(), other.Reveal())
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
	require.NotErrorIs(t, err, auth.ErrRevoked, "the reason is only for who holds the secret")
	_, err = f.Authenticate(t.Context(), apikey.Generate().Reveal())
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
}

// A wrong key is cheap to refuse, however often and in whatever form it is sent, and
// does not evict the right key from the cache.
func TestWrongKeysCostLittle(t *testing.T) {
	f := newFixture(t)
	_, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	refused := func(text string, lookups, owners int) *auth.Refusal {
		t.Helper()
		f.store.lookups, f.store.owners = 0, 0
		var refusal *auth.Refusal
		for range 100 {
			_, err := f.Authenticate(t.Context(), text)
			require.ErrorIs(t, err, auth.ErrUnauthenticated)
			require.ErrorAs(t, err, &refusal)
			require.NotContains(t, err.Error(), "lw_")
		}
		require.Equal(t, lookups, f.store.lookups)
		require.Equal(t, owners, f.store.owners)
		return refusal
	}
	unknown := apikey.Generate()
	require.Equal(t, &auth.Refusal{Prefix: unknown.Prefix(), Cause: auth.ErrUnauthenticated}, refused(unknown.Reveal(), 1, 0))
	guess := apikey.Generate()
	f.store.records[guess.Prefix()] = f.want // known by its prefix, and another secret
	require.Equal(t, &auth.Refusal{Prefix: guess.Prefix(), Account: f.want.UserID.String(), Cause: auth.ErrUnauthenticated},
		refused(guess.Reveal(), 1, 0))
	require.Equal(t, &auth.Refusal{Prefix: guess.Prefix(), Cause: auth.ErrMalformed}, refused(guess.Reveal()+"0", 0, 0))
	for _, text := range []string{"lw_", "lw_abc", guess.Prefix(), "lw_abcdefg-_x", "lw_abcdefghi_x", "xx_abcdefgh_x"} {
		require.Equal(t, &auth.Refusal{Cause: auth.ErrMalformed}, refused(text, 0, 0), "no prefix to be seen")
	}

	f.store.lookups = 0
	const wrong = epochcache.Limit + 1
	for range wrong {
		_, err := f.Authenticate(t.Context(), apikey.Generate().Reveal())
		require.ErrorIs(t, err, auth.ErrUnauthenticated)
	}
	require.Equal(t, wrong, f.store.lookups, "one look-up each")
	_, err = f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	require.Equal(t, wrong, f.store.lookups, "the right one is still cached")
}

// A refused key is accepted as soon as the catalog allows it.
func TestRefusalIsCachedForOneEpoch(t *testing.T) {
	f := newFixture(t)
	f.store.change(f.key.Prefix(), func(r *stored) { r.Role = "" })
	for range 3 {
		_, err := f.Authenticate(t.Context(), f.key.Reveal())
		require.ErrorIs(t, err, auth.ErrNoMember)
	}
	f.store.change(f.key.Prefix(), func(r *stored) { r.Role = auth.RoleViewer })
	_, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
}

// Every change takes effect on the next call although the record was cached.
func TestChangesTakeEffectOnTheNextCall(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*stored)
		want error
	}{
		"revoked":     {func(r *stored) { r.Revoked = true }, auth.ErrRevoked},
		"expired":     {func(r *stored) { r.ExpiresAt = now }, auth.ErrExpired},
		"removed":     {func(r *stored) { r.Role = "" }, auth.ErrNoMember},
		"strange":     {func(r *stored) { r.Role = "root" }, auth.ErrNoMember},
		"key deleted": {func(r *stored) { *r = stored{} }, auth.ErrUnauthenticated},
		"zero expiry": {func(r *stored) { r.ExpiresAt = time.Time{} }, auth.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for range 3 {
				_, err := f.Authenticate(t.Context(), f.key.Reveal())
				require.NoError(t, err)
			}
			lookups, _ := f.store.counts()
			require.Equal(t, 1, lookups, "the second call is served by the cache")
			f.store.change(f.key.Prefix(), c.edit)
			_, err := f.Authenticate(t.Context(), f.key.Reveal())
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestLowerRoleShrinksAKeyAtOnce(t *testing.T) {
	f := newFixture(t)
	p, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	require.True(t, p.Scopes.Has(auth.ScopeRowsInsert))
	f.store.change(f.key.Prefix(), func(r *stored) { r.Role = auth.RoleViewer })
	p, err = f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesQuery), p.Scopes)
	require.True(t, p.Granted.Has(auth.ScopeRowsInsert))
}

func TestCachedKeyExpiresOnTime(t *testing.T) {
	f := newFixture(t)
	f.store.change(f.key.Prefix(), func(r *stored) { r.ExpiresAt = now.Add(10 * time.Second) })
	_, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	f.clock.Add(10*time.Second - time.Nanosecond)
	_, err = f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	f.clock.Add(time.Nanosecond)
	_, err = f.Authenticate(t.Context(), f.key.Reveal())
	require.ErrorIs(t, err, auth.ErrExpired)
	lookups, _ := f.store.counts()
	require.Equal(t, 1, lookups)
}

func TestCachedAnswerLastsAsLongAsTheEpoch(t *testing.T) {
	f := newFixture(t)
	for range 3 {
		_, err := f.Authenticate(t.Context(), f.key.Reveal())
		require.NoError(t, err)
		f.clock.Add(time.Hour)
	}
	lookups, _ := f.store.counts()
	require.Equal(t, 1, lookups)
}

func TestNoEpochMeansNoCacheAndUnknownEpochMeansNoAnswer(t *testing.T) {
	f := newFixture(t)
	plain := apikey.New(f.store, apikey.Options{Now: f.clock.Now})
	defer plain.Close()
	for range 3 {
		_, err := plain.Authenticate(t.Context(), f.key.Reveal())
		require.NoError(t, err)
	}
	lookups, _ := f.store.counts()
	require.Equal(t, 3, lookups)

	lost := apikey.New(f.store, apikey.Options{Now: f.clock.Now, Epoch: func() (uint64, error) {
		return 0, errors.New("no word for five seconds")
	}})
	defer lost.Close()
	_, err := lost.Authenticate(t.Context(), f.key.Reveal())
	require.ErrorIs(t, err, auth.ErrUnavailable)
	require.NotErrorIs(t, err, auth.ErrUnauthenticated)
}

func TestStoreFailureIsNotARefusal(t *testing.T) {
	f := newFixture(t)
	f.store.err = context.DeadlineExceeded
	_, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.ErrorIs(t, err, auth.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, auth.ErrUnauthenticated)
}

func TestUseIsRecordedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for range 130 { // 130 uses over 129 seconds: at 0, 60 and 120
			_, err := f.Authenticate(t.Context(), f.key.Reveal())
			require.NoError(t, err)
			f.clock.Add(time.Second)
			<-time.After(time.Second)
		}
		f.Close()
		_, touches := f.store.counts()
		ids := []uuid.UUID{f.store.records[f.key.Prefix()].ID}
		require.Equal(t, []use{{now, ids}, {now.Add(time.Minute), ids}, {now.Add(2 * time.Minute), ids}}, touches)
		_, err := f.Authenticate(t.Context(), f.key.Reveal())
		require.NoError(t, err, "a closed authenticator still verifies")
	})
}

// TestUsesOfManyKeysAreWrittenTogether checks that the number of writes does not grow with
// the number of keys, and that a closing authenticator does not wait for more uses.
func TestUsesOfManyKeysAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		begun, want := time.Now(), map[uuid.UUID]bool{}
		for range 300 {
			key := apikey.Generate()
			hash := key.Hash()
			f.store.change(f.key.Prefix(), func(r *stored) {
				other := *r
				other.ID, other.Hash = uuid.New(), hash[:]
				f.store.records[key.Prefix()] = other
				want[other.ID] = true
			})
			_, err := f.Authenticate(t.Context(), key.Reveal())
			require.NoError(t, err)
		}
		f.Close()
		require.Equal(t, begun, time.Now())
		_, writes := f.store.counts()
		require.Len(t, writes, 2)
		for _, w := range writes {
			require.Equal(t, now, w.at)
			for _, id := range w.ids {
				require.True(t, want[id])
				delete(want, id)
			}
		}
		require.Empty(t, want)
	})
}

func TestUseRecordedByAnotherReplicaCounts(t *testing.T) {
	f := newFixture(t)
	f.store.change(f.key.Prefix(), func(r *stored) { r.LastUsedAt = now.Add(-59 * time.Second) })
	_, err := f.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err)
	f.Close()
	_, touches := f.store.counts()
	require.Empty(t, touches)
}

// slow returns the record from before a change after the change was made, like a
// look-up that a revocation overtook.
type slow struct {
	*memory
	during func()
}

func (s *slow) KeyByPrefix(ctx context.Context, prefix string) (apikey.Record, bool, error) {
	r, ok, err := s.memory.KeyByPrefix(ctx, prefix)
	if during := s.during; during != nil {
		s.during = nil
		during()
	}
	return r, ok, err
}

func TestARecordOvertakenByAChangeIsNotRemembered(t *testing.T) {
	f := newFixture(t)
	s := &slow{memory: f.store}
	a := apikey.New(s, apikey.Options{Epoch: f.store.Epoch, Now: f.clock.Now})
	defer a.Close()
	other := apikey.Generate()
	hash := other.Hash()
	r := f.want
	r.Hash = hash[:]
	f.store.records[other.Prefix()] = r
	s.during = func() {
		f.store.change(f.key.Prefix(), func(r *stored) { r.Revoked = true })
		_, err := a.Authenticate(t.Context(), other.Reveal()) // moves the cache to the new epoch
		require.NoError(t, err)
	}
	_, err := a.Authenticate(t.Context(), f.key.Reveal())
	require.NoError(t, err, "it began before the revocation")
	_, err = a.Authenticate(t.Context(), f.key.Reveal())
	require.ErrorIs(t, err, auth.ErrRevoked)
}

// A call that starts after a revocation returned must be refused, however many callers
// fill the cache concurrently.
func TestRevocationWinsEveryRace(t *testing.T) {
	f := newFixture(t)
	var revoked sync.WaitGroup
	revoked.Add(1)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				_, _ = f.Authenticate(context.Background(), f.key.Reveal())
			}
			revoked.Wait()
			for range 200 {
				_, err := f.Authenticate(context.Background(), f.key.Reveal())
				if !errors.Is(err, auth.ErrRevoked) {
					t.Errorf("after revocation: %v", err)
					return
				}
			}
		})
	}
	f.store.change(f.key.Prefix(), func(r *stored) { r.Revoked = true })
	revoked.Done()
	callers.Wait()
}
