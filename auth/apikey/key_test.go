package apikey_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGeneratedKeysHaveTheDocumentedForm(t *testing.T) {
	form := regexp.MustCompile(`^lw_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`)
	seen := map[string]bool{}
	counts := map[byte]int{}
	for range 2000 {
		key := apikey.Generate()
		text := key.Reveal()
		require.Regexp(t, form, text)
		require.Equal(t, text[:11], key.Prefix())
		require.False(t, seen[key.Prefix()], "prefix drawn twice")
		seen[key.Prefix()] = true
		for i := range 32 {
			counts[text[12+i]]++
		}
		parsed, err := apikey.Parse(text)
		require.NoError(t, err)
		require.Equal(t, key, parsed)
		require.Equal(t, apikey.Hash(sha256.Sum256([]byte(text))), key.Hash())
	}
	// 64,000 draws over 62 characters: 1,032 expected each, standard deviation
	// 32. A draw without rejection would give eight of them 25 % more.
	require.Len(t, counts, 62)
	for c, n := range counts {
		require.InDelta(t, 1032, n, 200, "character %c", c)
	}
}

// The checksum is compared with a value computed elsewhere (zlib's crc32 in base62 with
// digits first), so that scanners and existing keys remain valid.
func TestChecksumIsPinned(t *testing.T) {
	_, err := apikey.Parse("lw_AAAAAAAA_00000000000000000000000000000000" + "2gbqbD")
	require.NoError(t, err)
}

func TestEveryDamagedKeyIsRefused(t *testing.T) {
	text := apikey.Generate().Reveal()
	refused := func(s string) {
		t.Helper()
		_, err := apikey.Parse(s)
		require.ErrorIs(t, err, auth.ErrMalformed)
		require.NotContains(t, err.Error(), "lw_", "an error must not hold the key")
	}
	for i := range text {
		for _, c := range []byte("0Az_ \x00\xff") {
			if text[i] == c {
				continue
			}
			refused(text[:i] + string([]byte{c}) + text[i+1:])
		}
		refused(text[:i])
		refused(text[:i] + text[i+1:])
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] != text[i+1] {
			refused(text[:i] + text[i+1:i+2] + text[i:i+1] + text[i+2:])
		}
	}
	for _, s := range []string{"", "lw_", text + "0", " " + text, text + "\n", strings.ToUpper(text), strings.Repeat(text, 1000)} {
		refused(s)
	}
}

func TestKeyNeverPrintsItsSecret(t *testing.T) {
	key := apikey.Generate()
	secret := key.Reveal()[12:]
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "nested", []any{key})
	encoded, err := json.Marshal(map[string]any{"key": key})
	require.NoError(t, err)
	for _, out := range []string{
		key.String(), fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %s %q %x", key, key, key, key, key, key),
		fmt.Sprintf("%+v", struct{ K apikey.Key }{key}), log.String(), string(encoded),
	} {
		require.NotContains(t, out, secret)
		require.NotContains(t, out, fmt.Sprintf("%x", secret))
	}
	require.Empty(t, apikey.Key{}.Prefix())
}

func TestHashMatchesOnlyItself(t *testing.T) {
	h := apikey.Generate().Hash()
	require.True(t, h.Matches(h[:]))
	require.False(t, h.Matches(nil))
	require.False(t, h.Matches(h[:31]))
	other := apikey.Generate().Hash()
	require.False(t, h.Matches(other[:]))
}
