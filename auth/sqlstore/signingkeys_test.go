package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
)

func isOneOf(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// xorSealer hides keys enough for a test to tell one key file from another.
type xorSealer byte

func (x xorSealer) Seal(id string, plain []byte) ([]byte, error) {
	out := []byte{byte(x)}
	for _, b := range append([]byte(id), plain...) {
		out = append(out, b^byte(x))
	}
	return out, nil
}

func (x xorSealer) Open(id string, sealed []byte) ([]byte, error) {
	if sealed[0] != byte(x) {
		return nil, errors.New("another key file")
	}
	var out []byte
	for _, b := range sealed[1:] {
		out = append(out, b^byte(x))
	}
	if string(out[:len(id)]) != id {
		return nil, errors.New("another key")
	}
	return out[len(id):], nil
}

// signedBy returns the id of the key that signs now.
func signedBy(t *testing.T, keys *sqlstore.SigningKeys) string {
	t.Helper()
	signer, err := keys.Sign(t.Context(), nil)
	require.NoError(t, err)
	signed, err := signer.Sign([]byte("payload"))
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	signed, err = jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(t, err)
	kid := signed.Signatures[0].Header.KeyID
	public, err := keys.Key(t.Context(), kid)
	require.NoError(t, err)
	payload, err := signed.Verify(public.Key)
	require.NoError(t, err)
	require.Equal(t, "payload", string(payload))
	return kid
}

func published(t *testing.T, keys *sqlstore.SigningKeys) (ids []string) {
	t.Helper()
	all, err := keys.PublicKeys(t.Context())
	require.NoError(t, err)
	for _, key := range all {
		require.True(t, key.IsPublic())
		require.Equal(t, "sig", key.Use)
		require.Equal(t, string(jose.ES256), key.Algorithm)
		ids = append(ids, key.KeyID)
	}
	return ids
}

func TestReplicasCreateOneKey(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		replicas := make([]*sqlstore.SigningKeys, 4)
		for i := range replicas {
			replicas[i] = sqlstore.NewSigningKeys(w.another(t).db, xorSealer(7))
		}
		for _, err := range together(len(replicas), func(i int) error { return replicas[i].Ensure(t.Context()) }) {
			require.NoError(t, err)
		}
		want := published(t, replicas[0])
		require.Len(t, want, 1)
		for _, r := range replicas {
			require.Equal(t, want, published(t, r))
			require.Equal(t, want[0], signedBy(t, r))
		}
	})
}

func TestRotation(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		here, there := sqlstore.NewSigningKeys(w.db, xorSealer(7)), sqlstore.NewSigningKeys(w.another(t).db, xorSealer(7))
		require.NoError(t, here.Ensure(t.Context()))
		old := signedBy(t, here)
		require.Equal(t, old, signedBy(t, there))

		signsAt, err := here.Rotate(t.Context())
		require.NoError(t, err)
		require.Equal(t, w.now().Add(sqlstore.PublishBefore), signsAt)
		ids := published(t, here)
		require.Len(t, ids, 2, "published before it signs")
		require.Equal(t, old, ids[1])
		next := ids[0]
		require.Equal(t, old, signedBy(t, here))

		// The other replica meets the key in a token before its copy is old.
		w.advance(2 * time.Second)
		_, err = there.Key(t.Context(), next)
		require.NoError(t, err)
		w.advance(5 * time.Second)
		require.Equal(t, ids, published(t, there))

		w.advance(sqlstore.PublishBefore)
		require.Equal(t, next, signedBy(t, here))
		require.Equal(t, next, signedBy(t, there))
		_, err = there.Key(t.Context(), old)
		require.NoError(t, err, "tokens from before stay valid")

		w.advance(sqlstore.PublishAfter)
		_, err = there.Key(t.Context(), old)
		require.ErrorIs(t, err, auth.ErrUnauthenticated)
		require.Equal(t, []string{next}, published(t, here))
		require.NoError(t, w.Expire(t.Context()))
		require.Equal(t, next, signedBy(t, there))
	})
}

func TestOldKeysGetASuccessor(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		replicas := []*sqlstore.SigningKeys{
			sqlstore.NewSigningKeys(w.db, xorSealer(7)), sqlstore.NewSigningKeys(w.another(t).db, xorSealer(7)),
		}
		require.NoError(t, replicas[0].Ensure(t.Context()))
		w.advance(sqlstore.RotateEvery - time.Second)
		require.NoError(t, replicas[0].RotateOld(t.Context()))
		require.Len(t, published(t, replicas[0]), 1)
		w.advance(time.Second)
		for _, err := range together(4, func(i int) error { return replicas[i%2].RotateOld(t.Context()) }) {
			require.NoError(t, err)
		}
		require.Len(t, published(t, replicas[0]), 2)
	})
}

func TestUnknownKeysCauseFewReads(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		keys := sqlstore.NewSigningKeys(w.db, xorSealer(7))
		require.NoError(t, keys.Ensure(t.Context()))
		known := signedBy(t, keys)
		_, err := keys.Key(t.Context(), "made-up")
		require.ErrorIs(t, err, auth.ErrUnauthenticated)
		require.NoError(t, w.db.Close())
		_, err = keys.Key(t.Context(), "made-up")
		require.ErrorIs(t, err, auth.ErrUnauthenticated, "the copy is fresh")
		w.advance(2 * time.Second)
		_, err = keys.Key(t.Context(), "made-up")
		require.ErrorIs(t, err, auth.ErrUnavailable)
		_, err = keys.Key(t.Context(), known)
		require.NoError(t, err, "known keys need no read")
	})
}

func TestReplicaWithAnotherKeyFile(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		here, there := sqlstore.NewSigningKeys(w.db, xorSealer(7)), sqlstore.NewSigningKeys(w.another(t).db, xorSealer(9))
		require.NoError(t, here.Ensure(t.Context()))
		first := signedBy(t, here)
		_, err := there.Sign(t.Context(), nil)
		require.Error(t, err, "it cannot open the key")
		require.NoError(t, there.Ensure(t.Context()))
		w.advance(time.Minute)
		require.Equal(t, first, signedBy(t, here), "each signs with the key that it can open")
		require.NotEqual(t, first, signedBy(t, there))
		require.ElementsMatch(t, published(t, here), published(t, there))
	})
}
