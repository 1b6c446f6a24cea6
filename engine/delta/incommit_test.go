package delta_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

func TestInCommitTimestampsEnabledLater(t *testing.T) {
	b, dir := fileBucket(t)
	mustAppend(t, mustCreate(t, b, delta.CreateOptions{}), 1)
	for v := range int64(2) {
		made := time.Now().Add(time.Duration(v-2) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.CommitName(v)), made, made))
	}
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	m := s.Metadata()
	m.Configuration = map[string]string{"delta.enableInCommitTimestamps": "true", "keep": "me"}
	p, _ := s.ProtocolFor(s.Schema(), m.Configuration)
	txn := s.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	txn.SetProtocol(p)
	on, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", on.Properties()["delta.inCommitTimestampEnablementVersion"])
	require.Equal(t, fmt.Sprint(on.Timestamp().UnixMilli()), on.Properties()["delta.inCommitTimestampEnablementTimestamp"])
	require.Equal(t, "me", on.Properties()["keep"])
	require.True(t, on.Timestamp().After(s.Timestamp()))
	next := mustAppend(t, on, 2)
	require.True(t, next.Timestamp().After(on.Timestamp()))
	for at, want := range map[time.Time]int64{on.Timestamp(): 2, on.Timestamp().Add(-time.Nanosecond): 1, next.Timestamp(): 3} {
		opts := delta.Options{At: delta.AtTimestamp(at)}
		found, err := delta.Load(t.Context(), b, opts)
		require.NoError(t, err)
		require.Equal(t, want, found.Version())
	}
	body, err := os.ReadFile(filepath.Join(dir, logpath.CommitName(2)))
	require.NoError(t, err)
	require.Contains(t, strings.SplitN(string(body), "\n", 2)[0], `"inCommitTimestamp":`)
}
