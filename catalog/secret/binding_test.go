package secret_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// TestBindingsNeverOpenEachOther seals under one binding of each kind and opens under all
// others, among them bindings whose parts have the same texts in other places.
func TestBindingsNeverOpenEachOther(t *testing.T) {
	keys := load(t, filepath.Join(t.TempDir(), "keys.json"))
	bindings := []secret.Binding{
		{Kind: catalog.SealedStorageCredential, Org: "org", Subject: "sso"},
		{Kind: catalog.SealedStorageCredential, Org: "org", Subject: "provider_app"},
		{Kind: catalog.SealedStorageCredential},
	}
	for _, kind := range catalog.SealedKinds() {
		bindings = append(bindings,
			secret.Binding{Kind: kind, Org: "org", Subject: "subject"}, secret.Binding{Kind: kind, Org: "org", Subject: "other"},
			secret.Binding{Kind: kind, Org: "other", Subject: "subject"}, secret.Binding{Kind: kind, Subject: "subject"})
	}
	for i, b := range bindings {
		sealed, err := keys.Seal(b, []byte("plain"))
		require.NoError(t, err)
		for j, other := range bindings {
			opened, err := keys.Open(other, sealed)
			if i == j {
				require.NoError(t, err)
				require.Equal(t, "plain", string(opened))
				continue
			}
			require.ErrorIs(t, err, secret.ErrSealed, "%v opened under %v", b, other)
		}
	}
	for _, unknown := range []secret.Binding{{}, {Kind: "other", Org: "org", Subject: "subject"}} {
		_, err := keys.Seal(unknown, []byte("plain"))
		require.Error(t, err, "a reseal would not find it")
		_, err = keys.Open(unknown, nil)
		require.ErrorIs(t, err, secret.ErrSealed)
	}
}

// TestBindingsAreDistinct compares random bindings, whose subjects may contain the
// separators.
func TestBindingsAreDistinct(t *testing.T) {
	keys := load(t, filepath.Join(t.TempDir(), "keys.json"))
	part := rapid.SampledFrom([]string{"", "a", "sso", "b"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) secret.Binding {
			b := secret.Binding{Org: catalog.OrgID(part.Draw(t, label)), Kind: rapid.SampledFrom(catalog.SealedKinds()).Draw(t, label)}
			if b.Kind == catalog.SealedStorageCredential {
				b.Subject = part.Draw(t, label)
			} else {
				b.Subject = rapid.SampledFrom([]string{"", "|", ":", "a|b", "sso:a|", "https://a:1/|"}).Draw(t, label)
			}
			return b
		}
		a, b := draw("a"), draw("b")
		sealed, err := keys.Seal(a, []byte("plain"))
		require.NoError(t, err)
		_, err = keys.Open(b, sealed)
		require.Equal(t, a == b, err == nil, "%v and %v", a, b)
	})
}

// sealedSecrets is a catalog of which only this is known.
type sealedSecrets struct {
	catalog.SealedSecrets
	found bool
	err   error
}

func (s sealedSecrets) HasSealedSecrets(context.Context) (bool, error) { return s.found, s.err }

func TestMissingKeyFileIsNotReplacedWhileSecretsNeedIt(t *testing.T) {
	file := secret.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	_, err := file.LoadFor(t.Context(), sealedSecrets{found: true})
	require.ErrorIs(t, err, secret.ErrKeyFile)
	unreachable := errors.New("unreachable")
	_, err = file.LoadFor(t.Context(), sealedSecrets{err: unreachable})
	require.ErrorIs(t, err, unreachable)
	_, err = os.Stat(file.Path)
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = file.LoadFor(t.Context(), sealedSecrets{})
	require.NoError(t, err)
	_, err = file.LoadFor(t.Context(), sealedSecrets{found: true})
	require.NoError(t, err, "the file exists now")
}
