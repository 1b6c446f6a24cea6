package policy_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestForgottenTransactionIsNotRepeated checks a write whose server ended before it
// stored its reply, and whose transaction the table has forgotten since, as its
// properties request.
func TestForgottenTransactionIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", object{"properties": object{
		"delta.setTransactionRetentionDuration": "interval 0 seconds", "delta.checkpointInterval": "1",
	}}, harness.Col("id", "long"))
	send := func() harness.Reply {
		return s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1}), "Idempotency-Key", "one")
	}
	loseReply := func() {
		t.Helper()
		s.Stop()
		db, err := sql.Open("sqlite", filepath.Join(s.Config.DataDir, "catalog.db"))
		require.NoError(t, err)
		done, err := db.Exec("UPDATE write_keys SET reply = ''")
		require.NoError(t, err)
		n, err := done.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.NoError(t, db.Close())
		s.Restart()
	}
	first := send()
	require.Equal(t, 200, first.Status, "%s", first.Body)
	for i := range 3 {
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": i + 10}))
	}
	loseReply()
	again := send()
	require.Equal(t, 200, again.Status, "%s", again.Body)
	require.JSONEq(t, string(first.Body), string(again.Body))
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))

	// Without the history since then nobody knows.
	loseReply()
	commits, err := filepath.Glob(filepath.Join(s.Root, "t", "_delta_log", "*[0-9].json"))
	require.NoError(t, err)
	slices.Sort(commits)
	for _, name := range commits[:len(commits)-1] {
		require.NoError(t, os.Remove(name))
	}
	s.Restart()
	code, _ := send().Problem(t, 503)
	require.Equal(t, "outcome_unknown", code)
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
}
