package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func writeKeys(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	before := w.epochNow()
	start := w.now()
	claimed := map[string]bool{}
	claim := func(org catalog.OrgID, key, fingerprint string) catalog.WriteKey {
		record, err := w.ClaimWriteKey(w.ctx, org, key, fingerprint)
		require.NoError(t, err)
		first := !claimed[key+string(org)]
		claimed[key+string(org)] = true
		require.Equal(t, first, record.ClaimedAt.IsZero(), "it reports whether there was an earlier request")
		if !first {
			require.True(t, record.ClaimedAt.After(start) && record.ClaimedAt.Before(w.now()))
		}
		record.ClaimedAt = time.Time{}
		return record
	}
	require.Equal(t, catalog.WriteKey{Fingerprint: "one"}, claim(org, "key", "one"))
	require.Equal(t, catalog.WriteKey{Fingerprint: "one"}, claim(org, "key", "two"), "the first request has the key")
	require.Equal(t, catalog.WriteKey{Fingerprint: "two"}, claim(other, "key", "two"), "another organisation's key")

	require.NoError(t, w.SettleWriteKey(w.ctx, org, "key", json.RawMessage(`{"version":1}`)))
	require.Equal(t, catalog.WriteKey{Fingerprint: "one", Reply: json.RawMessage(`{"version":1}`)}, claim(org, "key", "one"))
	require.Nil(t, claim(other, "key", "two").Reply)
	require.ErrorIs(t, w.SettleWriteKey(w.ctx, org, "another", json.RawMessage(`{}`)), catalog.ErrNotFound)

	forgotten, err := w.ForgetWriteKeys(w.ctx, start)
	require.NoError(t, err)
	require.Zero(t, forgotten)
	forgotten, err = w.ForgetWriteKeys(w.ctx, w.now())
	require.NoError(t, err)
	require.EqualValues(t, 2, forgotten)
	clear(claimed)
	require.Equal(t, catalog.WriteKey{Fingerprint: "three"}, claim(org, "key", "three"))

	_, err = w.ClaimWriteKey(w.ctx, catalog.NewID[catalog.OrgID](), "key", "one")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.ClaimWriteKey(w.ctx, org, "", "")
	require.Equal(t, []string{"key", "fingerprint"}, fieldsOf(w, err))
	require.Equal(t, []string{"reply"}, fieldsOf(w, w.SettleWriteKey(w.ctx, org, "key", json.RawMessage(`[]`))))
	require.Equal(t, before, w.epochNow(), "visibility does not change")
}
