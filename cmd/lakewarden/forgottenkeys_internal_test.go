package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAForgottenTransactionIsNotDoneAgain: a server ended before it kept its reply,
// and the table has forgotten the transaction since, as its properties ask.
func TestAForgottenTransactionIsNotDoneAgain(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", object{"properties": object{
		"delta.setTransactionRetentionDuration": "interval 0 seconds", "delta.checkpointInterval": "1",
	}}, col("id", "long"))
	send := func() reply {
		return s.admin.call("POST", path+"/rows", rowsOf(object{"id": 1}), "Idempotency-Key", "one")
	}
	loseReply := func() {
		t.Helper()
		s.stop()
		db, err := sql.Open("sqlite", filepath.Join(s.config.DataDir, "catalog.db"))
		require.NoError(t, err)
		done, err := db.Exec("UPDATE write_keys SET reply = ''")
		require.NoError(t, err)
		n, err := done.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.NoError(t, db.Close())
		s.restart()
	}
	first := send()
	require.Equal(t, 200, first.status, "%s", first.body)
	for i := range 3 {
		s.admin.write(path+"/rows", rowsOf(object{"id": i + 10}))
	}
	loseReply()
	again := send()
	require.Equal(t, 200, again.status, "%s", again.body)
	require.JSONEq(t, string(first.body), string(again.body))
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"))

	// Without the history since then nobody knows.
	loseReply()
	commits, err := filepath.Glob(filepath.Join(s.root, "t", "_delta_log", "*[0-9].json"))
	require.NoError(t, err)
	slices.Sort(commits)
	for _, name := range commits[:len(commits)-1] {
		require.NoError(t, os.Remove(name))
	}
	s.restart()
	code, _ := send().problem(t, 503)
	require.Equal(t, "outcome_unknown", code)
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"))
}
