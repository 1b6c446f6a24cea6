package identity_test

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
)

func browserKey() ([]byte, error) { return make([]byte, 32), nil }

// TestMarksBelongToOneAddress checks who may use the mark of a browser, and how long.
func TestMarksBelongToOneAddress(t *testing.T) {
	now := time.Now()
	k := identity.KnownBrowsers{Key: browserKey, Now: func() time.Time { return now }}
	mark, other := k.Mark(ada), k.Mark(ada)
	id := k.ID(mark, ada)
	require.NotEmpty(t, id)
	require.NotEqual(t, id, k.ID(other, ada), "each browser has its own")
	require.Empty(t, k.ID(mark, nobody))
	raw, err := base64.RawURLEncoding.DecodeString(mark)
	require.NoError(t, err)
	for i := range raw {
		raw[i] ^= 1
		require.Empty(t, k.ID(base64.RawURLEncoding.EncodeToString(raw), ada), i)
		raw[i] ^= 1
	}
	for _, bad := range []string{"", "x", mark[1:], mark + "A", base64.RawURLEncoding.EncodeToString(raw[:len(raw)-1])} {
		require.Empty(t, k.ID(bad, ada), bad)
	}
	now = now.Add(identity.KnownBrowserLife + time.Second)
	require.Empty(t, k.ID(mark, ada))
	require.Empty(t, identity.KnownBrowsers{}.Mark(ada), "no key")
}

// TestKnownBrowsersDoNotWaitForGuesses signs in while another attempt for the account from the address
// is verified for ever.
func TestKnownBrowsersDoNotWaitForGuesses(t *testing.T) {
	p := newPeople(t)
	p.signIn.Known = identity.KnownBrowsers{Key: browserKey, Now: p.now}
	in, err := p.signIn.Password(t.Context(), ada, good, from)
	require.NoError(t, err)
	end, err := p.signIn.Attempts.Begin(t.Context(), ada, throttle.Client{Remote: from.Remote})
	require.NoError(t, err)
	defer end()

	known := from
	known.Known = in.Known
	again, err := p.signIn.Password(t.Context(), ada, good, known)
	require.NoError(t, err)
	require.NotEqual(t, in.Known, again.Known)
	_, err = p.signIn.Password(t.Context(), ada, "not her password", known)
	require.ErrorIs(t, err, identity.ErrCredential, "the password is verified as ever")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.signIn.Password(done, ada, good, from)
	require.ErrorIs(t, err, context.Canceled, "others wait for their turn")
}
