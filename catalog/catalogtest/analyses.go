package catalogtest

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// provide stores the access to a family of models.
func (w *world) provide(org catalog.OrgID, family catalog.ModelFamily, key string) catalog.AnalysisProvider {
	w.Helper()
	stored, err := w.PutAnalysisProvider(w.ctx, catalog.NewAnalysisProvider{Org: org, Family: family, SealedKey: []byte("\x00sealed " + key)})
	require.NoError(w, err)
	return stored
}

func analysisProviders(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	list, err := w.AnalysisProviders(w.ctx, org)
	require.NoError(t, err)
	require.Empty(t, list)
	require.NotNil(t, list)

	before := w.epochNow()
	c := w.provide(org, catalog.FamilyC, "c")
	created := w.provide(org, catalog.FamilyA, "a")
	w.provide(other, catalog.FamilyA, "theirs")
	require.Greater(t, w.epochNow(), before, "replicas learn of it")
	require.Equal(t, created.CreatedAt, created.UpdatedAt)
	require.Empty(t, created.BaseURL)
	record, err := json.Marshal(created)
	require.NoError(t, err)
	require.NotContains(t, string(record), "ealed", "no part of the record")
	list, err = w.AnalysisProviders(w.ctx, org)
	require.NoError(t, err)
	w.same([]catalog.AnalysisProvider{created, c}, list)
	found, sealed, err := w.AnalysisProviderKey(w.ctx, org, catalog.FamilyA)
	require.NoError(t, err)
	w.same(created, found)
	require.Equal(t, "\x00sealed a", string(sealed))

	replaced, err := w.PutAnalysisProvider(w.ctx, catalog.NewAnalysisProvider{
		Org: org, Family: catalog.FamilyA, BaseURL: "https://models.example/v1/", SealedKey: []byte("new"),
	})
	require.NoError(t, err)
	require.Equal(t, "https://models.example/v1/", replaced.BaseURL)
	require.Equal(t, created.CreatedAt, replaced.CreatedAt)
	require.True(t, replaced.UpdatedAt.After(created.UpdatedAt))
	found, err = w.AnalysisProvider(w.ctx, org, catalog.FamilyA)
	require.NoError(t, err)
	w.same(replaced, found)
	_, sealed, err = w.AnalysisProviderKey(w.ctx, org, catalog.FamilyA)
	require.NoError(t, err)
	require.Equal(t, "new", string(sealed))

	before = w.epochNow()
	require.NoError(t, w.DeleteAnalysisProvider(w.ctx, org, catalog.FamilyA))
	require.Greater(t, w.epochNow(), before)
	require.ErrorIs(t, w.DeleteAnalysisProvider(w.ctx, org, catalog.FamilyA), catalog.ErrNotFound)
	_, err = w.AnalysisProvider(w.ctx, org, catalog.FamilyA)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, _, err = w.AnalysisProviderKey(w.ctx, org, catalog.FamilyA)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, sealed, err = w.AnalysisProviderKey(w.ctx, other, catalog.FamilyA)
	require.NoError(t, err)
	require.Equal(t, "\x00sealed theirs", string(sealed))

	invalidAnalysisProviders(t, w, org)
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	_, err = w.AnalysisProvider(w.ctx, org, catalog.FamilyC)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, _, err = w.AnalysisProviderKey(w.ctx, org, catalog.FamilyC)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.PutAnalysisProvider(w.ctx, catalog.NewAnalysisProvider{Org: org, Family: catalog.FamilyC, SealedKey: []byte("s")})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func invalidAnalysisProviders(t *testing.T, w *world, org catalog.OrgID) {
	for field, n := range map[string]catalog.NewAnalysisProvider{
		"family":        {Org: org, Family: "familyD", SealedKey: []byte("s")},
		"sealed_secret": {Org: org, Family: catalog.FamilyB},
	} {
		_, err := w.PutAnalysisProvider(w.ctx, n)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}
	for _, bad := range []string{
		"models.example", "ftp://models.example", "https://", "https:models.example", "https://user:key@models.example",
		"https://models.example?key=x", "https://models.example?", "https://models.example/#x", "https://models.example/\x00", "://x", "/v1",
	} {
		n := catalog.NewAnalysisProvider{Org: org, Family: catalog.FamilyB, BaseURL: bad, SealedKey: []byte("s")}
		_, err := w.PutAnalysisProvider(w.ctx, n)
		require.Equal(t, []string{"base_url"}, fieldsOf(w, err), bad)
	}
}

func countedAnalyses(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	before := w.epochNow()
	replica := w.open(w.now)
	const limit = 5
	count := func(s catalog.Store, org catalog.OrgID, limit int) time.Duration {
		t.Helper()
		wait, err := s.CountAnalysis(w.ctx, org, limit, time.Minute)
		require.NoError(t, err)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, time.Minute)
		return wait
	}
	pass := func(d time.Duration) { w.clock.Add(d.Microseconds()) }
	for i := range limit {
		require.Zero(t, count([]catalog.Store{w.Store, replica}[i%2], org, limit))
		pass(10 * time.Second)
	}
	wait := count(replica, org, limit)
	require.InDelta(t, 10*time.Second, wait, float64(time.Millisecond), "when the oldest leaves the window")
	require.Zero(t, count(w.Store, other, limit), "another organisation")
	require.Positive(t, count(w.Store, org, 2), "a lower limit than before")
	require.Positive(t, count(w.Store, org, limit))
	require.Zero(t, count(w.Store, org, limit+1), "a higher limit than before")
	require.Zero(t, count(w.Store, org, 0), "any number")

	pass(wait + time.Millisecond)
	wait = count(w.Store, org, limit)
	require.Positive(t, wait, "five are left of six")
	pass(wait)
	require.Zero(t, count(w.Store, org, limit))
	require.Positive(t, count(replica, org, limit), "the window slides")
	pass(2 * time.Minute)
	require.Zero(t, count(w.Store, org, 1))
	require.Positive(t, count(w.Store, org, 1))
	w.clock.Add(-time.Hour.Microseconds()) // the clock of another replica
	require.Equal(t, time.Minute, count(w.Store, org, 1))
	w.clock.Add(time.Hour.Microseconds())

	_, err := w.CountAnalysis(w.ctx, catalog.NewID[catalog.OrgID](), 1, time.Minute)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.Equal(t, before, w.epochNow(), "visibility does not change")
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	_, err = w.CountAnalysis(w.ctx, org, 1, time.Minute)
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// raceAnalyses checks that replicas together do not exceed a limit.
func raceAnalyses(t *testing.T, w *world) {
	org, _ := w.org()
	const limit = 30
	var begun atomic.Int64
	errs := race(w, 2*limit, func(s catalog.Store, _ int) error {
		wait, err := s.CountAnalysis(w.ctx, org, limit, time.Minute)
		if err == nil && wait == 0 {
			begun.Add(1)
		}
		return err
	})
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, limit, begun.Load())

	errs = race(w, 20, func(s catalog.Store, i int) error {
		_, err := s.AddAnalysisUse(w.ctx, org, w.now(), catalog.AnalysisUse{InputTokens: int64(i), OutputTokens: 1, CostMicros: 2})
		return err
	})
	require.NoError(t, errors.Join(errs...))
	sum, err := w.AnalysisUse(w.ctx, org, w.now())
	require.NoError(t, err)
	w.same(catalog.AnalysisUse{InputTokens: 190, OutputTokens: 20, CostMicros: 40}, sum)
	require.EqualValues(t, 210, sum.Tokens())
}

func analysisUse(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	before := w.epochNow()
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	late := day.Add(24*time.Hour - time.Microsecond)
	elsewhere := late.In(time.FixedZone("", 5*60*60)) // already the next day there
	read := func(org catalog.OrgID, day time.Time) catalog.AnalysisUse {
		t.Helper()
		use, err := w.AnalysisUse(w.ctx, org, day)
		require.NoError(t, err)
		return use
	}
	add := func(org catalog.OrgID, day time.Time, use catalog.AnalysisUse) catalog.AnalysisUse {
		t.Helper()
		sum, err := w.AddAnalysisUse(w.ctx, org, day, use)
		require.NoError(t, err)
		require.Equal(t, sum, read(org, day))
		return sum
	}
	require.Zero(t, read(org, day))
	one := catalog.AnalysisUse{InputTokens: 1000, OutputTokens: 200, CostMicros: 30}
	require.Equal(t, one, add(org, day, one))
	require.Equal(t, catalog.AnalysisUse{InputTokens: 2000, OutputTokens: 400, CostMicros: 60}, add(org, elsewhere, one))
	require.Zero(t, read(org, day.Add(-time.Microsecond)))
	require.Zero(t, read(org, day.Add(24*time.Hour)))
	require.Zero(t, read(other, day))
	add(org, day.Add(24*time.Hour), one)
	add(other, day, one)
	_, err := w.CountAnalysis(w.ctx, other, 1, time.Minute)
	require.NoError(t, err)

	for field, use := range map[string]catalog.AnalysisUse{
		"input_tokens": {InputTokens: -1}, "output_tokens": {OutputTokens: 1 << 62}, "cost_micros": {CostMicros: -1},
	} {
		_, err := w.AddAnalysisUse(w.ctx, org, day, use)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}
	forget := func(before time.Time) int64 {
		n, err := w.ForgetAnalysisUse(w.ctx, before)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 1, forget(late), "the count, not the day itself")
	require.EqualValues(t, 2, forget(late.Add(time.Hour)))
	require.Zero(t, read(org, day))
	require.Equal(t, one, read(org, day.Add(24*time.Hour)))
	require.Zero(t, forget(late.Add(time.Hour)))

	missing := catalog.NewID[catalog.OrgID]()
	_, err = w.AnalysisUse(w.ctx, missing, day)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.AddAnalysisUse(w.ctx, missing, day, one)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.Equal(t, before, w.epochNow(), "visibility does not change")
}
