package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
)

func TestKeysDoNotPrint(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret-90417"
	key := llm.NewKey(secret)
	hidden := struct{ inner llm.Key }{key}
	options := llm.Options{Key: key}
	var logged bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&logged, nil))
	logger.Info("keys", "key", key, "pointer", &key, "options", options.Key, "any", slog.AnyValue(hidden))
	encoded, err := json.Marshal(map[string]any{"key": key, "hidden": hidden})
	require.NoError(t, err)
	for _, text := range []string{logged.String(), string(encoded), key.String(), key.GoString()} {
		require.NotContains(t, text, secret)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{key, &key, hidden, &hidden, options, []llm.Key{key}} {
			text := fmt.Sprintf(verb, value)
			require.NotContains(t, text, secret, verb)
			require.NotContains(t, text, fmt.Sprintf("%x", secret), verb)
		}
	}
}

func TestKeysThatNoHeaderCarriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "a\nb", "a\r\nX-Other: b", "a b", "schlüssel", "a\x00"} {
		_, err := llm.New(llm.FamilyA, options(llm.NewKey(value)))
		require.Error(t, err)
		if value != "" {
			require.NotContains(t, err.Error(), value)
		}
	}
	_, err := llm.New(llm.FamilyA, options(llm.Key{}))
	require.Error(t, err)
}
