package memo

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	r := NewCache[string](3)
	made := 0
	get := func(key string) string {
		v, err := r.Get(key, func() (string, error) { made++; return "value of " + key, nil })
		require.NoError(t, err)
		return v
	}
	for i := range 3 {
		get(strconv.Itoa(i))
	}
	require.Equal(t, "value of 0", get("0"))
	require.Equal(t, 3, made)
	get("3") // evicts 1, the least recently used
	get("0")
	get("2")
	require.Equal(t, 4, made)
	get("1")
	require.Equal(t, 5, made)
	_, err := r.Get("failing", func() (string, error) { return "", errors.New("no") })
	require.Error(t, err)
	get("failing")
	require.Equal(t, 6, made, "a failure is not kept")
}
