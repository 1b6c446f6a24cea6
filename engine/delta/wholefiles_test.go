package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// addColumn commits a schema with one more column, together with files.
func addColumn(t *testing.T, s *delta.Snapshot, replace bool) *delta.Snapshot {
	t.Helper()
	m := s.Metadata()
	schema := delta.Struct{Fields: append(s.Schema().Fields[:2:2], delta.Field{Name: "extra", Type: delta.Long, Nullable: true})}
	text, err := schema.JSON()
	require.NoError(t, err)
	m.SchemaString = text
	txn := s.Begin(delta.Operation{Name: "ADD COLUMNS"})
	txn.SetMetadata(m)
	if replace {
		for f := range s.Files() {
			require.NoError(t, txn.Remove(false, f))
		}
		require.NoError(t, txn.Add(mustWrite(t, s.Bucket(), 1)))
	}
	next, err := txn.Commit(t.Context())
	require.NoError(t, err)
	return next
}

func TestWholeFiles(t *testing.T) {
	reloaded := func(t *testing.T, s *delta.Snapshot) *delta.Snapshot {
		again, err := delta.Load(t.Context(), s.Bucket(), delta.Options{})
		require.NoError(t, err)
		require.Equal(t, s.Version(), again.Version())
		return again
	}
	both := func(t *testing.T, want bool, s *delta.Snapshot) {
		t.Helper()
		require.Equal(t, want, s.WholeFiles())
		require.Equal(t, want, reloaded(t, s).WholeFiles(), "loaded")
	}
	options := func(t *testing.T) delta.Options {
		o := testOptions(t)
		o.NoCheckpoints = true
		return o
	}
	create := func(t *testing.T) *delta.Snapshot {
		return mustCreate(t, mem.New(), delta.CreateOptions{Options: options(t)})
	}
	// foreign appends as another engine.
	foreign := func(t *testing.T, s *delta.Snapshot) *delta.Snapshot {
		o := options(t)
		o.EngineInfo = "Apache-Spark/4"
		other, err := delta.Load(t.Context(), s.Bucket(), o)
		require.NoError(t, err)
		mustAppend(t, other, 3)
		next, err := s.Refresh(t.Context())
		require.NoError(t, err)
		return next
	}

	t.Run("own files of one schema", func(t *testing.T) {
		s := create(t)
		both(t, true, s)
		both(t, true, mustAppend(t, mustAppend(t, s, 1), 2))
	})
	t.Run("a column that older files lack", func(t *testing.T) {
		s := addColumn(t, mustAppend(t, create(t), 1), false)
		both(t, false, s)
		both(t, false, mustAppend(t, s, 2))
	})
	t.Run("a column of an empty table", func(t *testing.T) {
		both(t, true, mustAppend(t, addColumn(t, create(t), false), 1))
	})
	t.Run("another schema with all files replaced", func(t *testing.T) {
		both(t, true, addColumn(t, mustAppend(t, create(t), 1), true))
	})
	t.Run("a file of another writer, until it is gone", func(t *testing.T) {
		s := foreign(t, mustAppend(t, create(t), 1))
		both(t, false, s)
		s = mustAppend(t, s, 2)
		both(t, false, s)
		txn := s.Begin(delta.Operation{Name: "DELETE"})
		for f := range s.Files() {
			require.NoError(t, txn.Remove(false, f))
		}
		s, err := txn.Commit(t.Context())
		require.NoError(t, err)
		both(t, true, s)
	})
	t.Run("behind a checkpoint", func(t *testing.T) {
		s := mustAppend(t, create(t), 1)
		require.NoError(t, s.Checkpoint(t.Context()))
		require.True(t, s.WholeFiles())
		require.False(t, reloaded(t, s).WholeFiles())
		next, err := reloaded(t, s).Refresh(t.Context())
		require.NoError(t, err)
		require.False(t, mustAppend(t, next, 2).WholeFiles())
	})
	t.Run("properties change nothing", func(t *testing.T) {
		s := mustAppend(t, create(t), 1)
		m := s.Metadata()
		m.Configuration = map[string]string{"delta.logRetentionDuration": "interval 7 days"}
		txn := s.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
		txn.SetMetadata(m)
		s, err := txn.Commit(t.Context())
		require.NoError(t, err)
		both(t, true, s)
	})
}

func TestMappedAndWidened(t *testing.T) {
	load := func(metadata, properties string) *delta.Snapshot {
		b := mem.New()
		mustLog(t, b, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`+"\n"+
			`{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":{\"type\":\"array\",\"elementType\":{\"type\":\"struct\",\"fields\":[{\"name\":\"x\",\"type\":\"long\",\"nullable\":true,\"metadata\":`+
			metadata+`}]},\"containsNull\":true},\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":`+properties+`}}`)
		s, err := delta.Load(t.Context(), b, delta.Options{})
		require.NoError(t, err)
		return s
	}
	plain := load(`{}`, `{}`)
	require.False(t, plain.Mapped())
	require.False(t, plain.Widened())
	require.True(t, load(`{}`, `{"delta.columnMapping.mode":"id"}`).Mapped())
	require.True(t, load(`{\"delta.typeChanges\":[]}`, `{}`).Widened())
}

// TestDerived checks that a derived value is passed to the next version that derives,
// and that it does not keep older snapshots alive.
func TestDerived(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{})
	require.Equal(t, "first", s.Derived(func(before any) any {
		require.Nil(t, before)
		return "first"
	}))
	require.Equal(t, "first", s.Derived(nil))
	skipped := mustAppend(t, s, 1)
	next := mustAppend(t, skipped, 2)
	require.Equal(t, "second", next.Derived(func(before any) any {
		require.Equal(t, "first", before)
		return "second"
	}))
	var old, now *action.Add
	for f := range skipped.Files() {
		old = f.Add
	}
	for f := range next.Files() {
		if f.Add == old {
			now = f.Add
		}
	}
	require.NotNil(t, now, "files in both versions are the same")
}
