package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func (s suite) writeNothing(t *testing.T) {
	session := s.openScratch(t)
	for _, layout := range []engine.FileLayout{
		{}, {FileBytes: 1000}, {PartitionBy: []string{"p"}}, {PartitionBy: []string{"p"}, FileBytes: 1000, Ordered: true},
	} {
		require.Empty(t, session.write(t, "SELECT i AS id, i AS p FROM range(0) t(i)", layout))
		require.Empty(t, session.remainingFiles(t))
	}
}

func (s suite) writeFailures(t *testing.T) {
	session := s.openScratch(t)
	outside := filepath.Join(t.TempDir(), "secret.parquet")
	require.NoError(t, os.WriteFile(outside, parquetFile(t, `[{"id": 1}]`, int64Column("id")), 0o600))
	target := engine.QuoteString(filepath.Join(t.TempDir(), "x.csv"))
	const sql = `SELECT CAST(CASE WHEN i = 190000 THEN 'x' ELSE '1' END AS INTEGER) AS i, i % 3 AS p FROM range(200000) t(i)`
	for name, st := range map[string]engine.WriteStatement{
		"a value late":               {Statement: engine.Statement{SQL: sql}},
		"a value late, sizes":        {Statement: engine.Statement{SQL: sql}, Layout: engine.FileLayout{FileBytes: 10000, RowGroupRows: 5000}},
		"a value late, partitions":   {Statement: engine.Statement{SQL: sql}, Layout: engine.FileLayout{PartitionBy: []string{"p"}}},
		"a file it was not given":    {Statement: engine.Statement{SQL: "FROM read_parquet(" + engine.QuoteString(outside) + ")"}},
		"no query":                   {Statement: engine.Statement{SQL: "CREATE TABLE x AS SELECT 1"}},
		"two statements":             {Statement: engine.Statement{SQL: "SELECT 1; SELECT 2"}},
		"no statement":               {Statement: engine.Statement{SQL: ""}},
		"another COPY":               {Statement: engine.Statement{SQL: "SELECT 1) TO " + target + " (FORMAT csv) --"}},
		"a COPY":                     {Statement: engine.Statement{SQL: "COPY (SELECT 1) TO " + target}},
		"no such column to split by": {Statement: engine.Statement{SQL: "SELECT 1 AS a"}, Layout: engine.FileLayout{PartitionBy: []string{"b"}}},
		"no such column with an id": {
			Statement: engine.Statement{SQL: "SELECT 1 AS a"}, Layout: engine.FileLayout{FieldIDs: []engine.FieldID{{Column: "b", ID: 1}}},
		},
		"a folder outside":   {Statement: engine.Statement{SQL: "SELECT 1 AS a"}, Dir: "../x"},
		"an absolute folder": {Statement: engine.Statement{SQL: "SELECT 1 AS a"}, Dir: "/tmp"},
		"not enough memory for a row": {Statement: engine.Statement{
			SQL: "SELECT list(i) FROM range(100000000) t(i)", Lease: engine.Lease{Memory: 64 << 20, TempBytes: 1 << 20},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := session.try(t.Context(), st)
			require.NotNil(t, failure(t, err))
			require.Empty(t, session.remainingFiles(t))
			require.NoFileExists(t, strings.Trim(target, "'"))
		})
	}
	require.False(t, session.Broken())
	require.Len(t, session.write(t, "SELECT 1 AS a", engine.FileLayout{}), 1, "the session goes on")
}

func (s suite) writeStopped(t *testing.T) {
	const rows = "SELECT a.range AS i, b.range AS j FROM range(10000000) a, range(10000000) b"
	// Each way stops a statement that has already written something.
	written := func(t *testing.T, session scratch) {
		require.Eventually(t, func() bool { return len(session.remainingFiles(t)) > 0 }, time.Minute, 5*time.Millisecond)
	}
	layout := engine.FileLayout{FileBytes: 100_000, RowGroupRows: 10_000}
	t.Run("Cancelled", func(t *testing.T) {
		session := s.openScratch(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := session.try(ctx, engine.WriteStatement{Statement: engine.Statement{SQL: rows}, Layout: layout})
			done <- err
		}()
		written(t, session)
		cancel()
		require.ErrorIs(t, <-done, engine.ErrInterrupted)
		require.Empty(t, session.remainingFiles(t))
		require.Len(t, session.write(t, "SELECT 1 AS a", engine.FileLayout{}), 1)
	})
	t.Run("TimedOut", func(t *testing.T) {
		session := s.openScratch(t)
		_, err := session.try(t.Context(),
			engine.WriteStatement{Statement: engine.Statement{SQL: rows, Lease: engine.Lease{Timeout: 300 * time.Millisecond}}, Layout: layout})
		require.ErrorIs(t, err, engine.ErrTimeout)
		require.Empty(t, session.remainingFiles(t))
	})
	t.Run("Closed", func(t *testing.T) {
		session := s.openScratch(t)
		done := make(chan error, 1)
		go func() {
			_, err := session.try(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: rows}, Layout: layout})
			done <- err
		}()
		written(t, session)
		require.NoError(t, session.Close())
		require.ErrorIs(t, <-done, engine.ErrInterrupted)
		require.Empty(t, session.remainingFiles(t))
		_, err := session.try(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: "SELECT 1"}})
		require.ErrorIs(t, err, engine.ErrInterrupted)
	})
}

// writeConfined checks that a session does not read the files of another one.
func (s suite) writeConfined(t *testing.T) {
	e := s.newEngine(t)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	open := func(opts engine.SessionOptions) engine.Session {
		session, err := e.Open(t.Context(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, session.Close()) })
		return session
	}
	mine := scratch{open(engine.SessionOptions{Owner: "a", Scratch: t.TempDir()}), ""}
	plain := open(engine.SessionOptions{Owner: "a"})
	_, writes := plain.(engine.Writer)
	require.False(t, writes, "a session without a scratch directory")
	theirs := scratch{dir: t.TempDir()}
	theirs.Session = open(engine.SessionOptions{Owner: "a", Scratch: theirs.dir})
	src := theirs.read([]engine.Column{{Name: "a", Type: sqltype.Integer}}, false, theirs.write(t, "SELECT 1 AS a", engine.FileLayout{})...)
	read := engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}}
	require.Equal(t, []string{"1"}, Rows(t, theirs, read))
	for _, other := range []engine.Session{mine, plain} {
		_, err := TryRows(t.Context(), other, read)
		require.NotNil(t, failure(t, err))
		_, err = TryRows(t.Context(), other,
			engine.Statement{SQL: "FROM read_parquet(" + engine.QuoteString(filepath.Join(theirs.dir, "*.parquet")) + ")"})
		require.NotNil(t, failure(t, err))
	}
	_, err := TryRows(t.Context(), theirs, engine.Statement{SQL: "COPY (SELECT 1) TO " + engine.QuoteString(filepath.Join(theirs.dir, "x"))})
	require.Equal(t, engine.KindNotSelect, failure(t, err).Kind)
	for _, dir := range []string{"relative", filepath.Join(theirs.dir, "missing")} {
		session, err := e.Open(t.Context(), engine.SessionOptions{Scratch: dir})
		if err == nil { // some engines fail later
			_, err = scratch{session, dir}.try(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: "SELECT 1"}})
			require.NoError(t, session.Close())
		}
		require.Error(t, err, dir)
	}
}
