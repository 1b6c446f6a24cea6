package password_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/password"
)

var source = password.Source{Network: "network", Client: "client"}

// cheap are costs at which tests are quick.
var cheap = password.Params{Memory: 64, Passes: 1, Lanes: 1}

func TestAPasswordMatchesItsHashOnly(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	ctx := t.Context()
	stored, err := h.Hash(ctx, source, "tangerine umbrella")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(stored, "$argon2id$v=19$m=64,t=1,p=1$"), stored)
	again, err := h.Hash(ctx, source, "tangerine umbrella")
	require.NoError(t, err)
	require.NotEqual(t, stored, again, "each hash has its own salt")

	for candidate, match := range map[string]bool{
		"tangerine umbrella": true, "tangerine umbrell": false, "Tangerine umbrella": false, "tangerine umbrella ": false, "": false,
	} {
		v, err := h.Verify(ctx, source, candidate, stored)
		require.NoError(t, err)
		require.Equal(t, password.Verified{Match: match}, v, "%q", candidate)
	}
}

func TestDefaultHashesHaveTheRecommendedCosts(t *testing.T) {
	stored, err := password.New(password.Options{}).Hash(t.Context(), source, "tangerine umbrella")
	require.NoError(t, err)
	require.Contains(t, stored, "$m=19456,t=2,p=1$")
}

func TestEqualPasswordsInDifferentFormsMatch(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	composed, decomposed := "caf\u00e9 au lait, bien sur", "cafe\u0301 au lait, bien sur"
	stored, err := h.Hash(t.Context(), source, composed)
	require.NoError(t, err)
	v, err := h.Verify(t.Context(), source, decomposed, stored)
	require.NoError(t, err)
	require.True(t, v.Match)
}

func TestLongPasswordsAreNotTruncated(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	long := strings.Repeat("abcdefgh", 32)
	stored, err := h.Hash(t.Context(), source, long)
	require.NoError(t, err)
	v, err := h.Verify(t.Context(), source, long[:len(long)-1]+"x", stored)
	require.NoError(t, err)
	require.False(t, v.Match)
}

func TestAHashOfOtherCostsIsOutdated(t *testing.T) {
	old := password.New(password.Options{Params: cheap})
	stored, err := old.Hash(t.Context(), source, "tangerine umbrella")
	require.NoError(t, err)
	now := password.New(password.Options{Params: password.Params{Memory: 128, Passes: 2, Lanes: 1}})
	v, err := now.Verify(t.Context(), source, "tangerine umbrella", stored)
	require.NoError(t, err)
	require.Equal(t, password.Verified{Match: true, Outdated: true}, v)
	v, err = now.Verify(t.Context(), source, "another password", stored)
	require.NoError(t, err)
	require.Equal(t, password.Verified{}, v)
}

func TestNoPasswordMatchesAnUnknownAccount(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	for _, candidate := range []string{"", "tangerine umbrella"} {
		v, err := h.Verify(t.Context(), source, candidate, "")
		require.NoError(t, err)
		require.Equal(t, password.Verified{}, v)
	}
}

func TestDamagedHashesAreRefused(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	stored, err := h.Hash(t.Context(), source, "tangerine umbrella")
	require.NoError(t, err)
	for _, damaged := range []string{
		"tangerine umbrella", "$2b$12$abcdefghijklmnopqrstuv", strings.Replace(stored, "argon2id", "argon2i", 1),
		strings.Replace(stored, "v=19", "v=16", 1), strings.Replace(stored, "m=64", "m=4294967295", 1),
		strings.Replace(stored, "m=64", "m=0", 1), strings.Replace(stored, "t=1", "t=1000", 1), strings.Replace(stored, "p=1", "p=255", 1),
		strings.Replace(stored, "m=64,", "", 1), stored[:len(stored)-1] + "!", stored + "$", strings.Join(strings.Split(stored, "$")[:5], "$"),
		stored[:strings.LastIndex(stored, "$")+1] + "YQ",
	} {
		_, err := h.Verify(t.Context(), source, "tangerine umbrella", damaged)
		require.ErrorIs(t, err, password.ErrHash, damaged)
	}
}

func TestACancelledCallerComputesNothing(t *testing.T) {
	h := password.New(password.Options{Params: cheap})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Verify(ctx, source, "tangerine umbrella", "")
	require.ErrorIs(t, err, context.Canceled)
}
