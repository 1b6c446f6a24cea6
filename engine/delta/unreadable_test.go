package delta_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// unreadableTable writes a table with the columns id and d and the partition column p of
// type typ, with a file for each partition value. If only is set, all columns are
// partition columns.
func unreadableTable(t *testing.T, typ string, only bool, values ...string) *delta.Snapshot {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	schema := `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"p","type":"` + typ +
		`","nullable":true,"metadata":{}},{"name":"d","type":"long","nullable":true,"metadata":{}}]}`
	partitions, others := `["p"]`, ""
	if only {
		partitions, others = `["id","p","d"]`, `"id":"1","d":"2",`
	}
	lines := []string{
		`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]}}`,
		fmt.Sprintf(`{"metaData":{"id":"u","format":{"provider":"parquet","options":{}},"schemaString":%q,"partitionColumns":%s,"configuration":{}}}`, schema, partitions),
	}
	for i, v := range values {
		lines = append(lines,
			fmt.Sprintf(`{"add":{"path":"%d","partitionValues":{%s"p":%q},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}"}}`, i, others, v))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", 0)), []byte(strings.Join(lines, "\n")+"\n"),
		0o600))
	for i := range values {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o600))
	}
	bucket, err := file.New(dir)
	require.NoError(t, err)
	s, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	return s
}

// TestNoMetadataCommitMakesATableUnreadable checks that the result of every change of a
// table can be read, or that nothing is written and the error names the reason.
func TestNoMetadataCommitMakesATableUnreadable(t *testing.T) {
	changes := map[string]func(*delta.Alteration) error{
		"rename": func(a *delta.Alteration) error { return a.RenameColumn([]string{"id"}, "now") },
		"add": func(a *delta.Alteration) error {
			return a.AddColumn(nil, delta.Field{Name: "n", Type: delta.Long, Nullable: true})
		},
		"properties": func(a *delta.Alteration) error { return a.SetProperties(map[string]string{"my.own": "x"}) },
		"mapping": func(a *delta.Alteration) error {
			return a.SetProperties(map[string]string{"delta.columnMapping.mode": "name"})
		},
		"drop": func(a *delta.Alteration) error { return a.DropColumn([]string{"d"}) },
	}
	for name, c := range map[string]struct {
		typ    string
		values []string
		// faulty reports that a partition value cannot be read, only that all columns are
		// partition columns. refused holds the changes that are refused.
		faulty, only bool
		refused      []string
	}{
		"double":         {typ: "double", values: []string{"NaN", "-0.0", "1.0E10"}},
		"float":          {typ: "float", values: []string{"Infinity"}},
		"binary":         {typ: "binary", values: []string{"ÿ"}},
		"far timestamps": {typ: "timestamp", values: []string{"0001-01-01 00:00:00", "+12345-01-01 00:00:00"}},
		"no value":       {typ: "double", values: []string{"1", "x"}, faulty: true},
		"no file column": {typ: "long", values: []string{"1"}, only: true, refused: []string{"rename", "mapping"}},
		"no column and offset": {typ: "timestamp", values: []string{"2024-01-01 00:00:00+02:00"}, only: true,
			refused: []string{"rename", "mapping", "properties"}},
	} {
		for what, change := range changes {
			t.Run(name+", "+what, func(t *testing.T) {
				if c.only && what == "drop" {
					return // a partition column stays
				}
				s := unreadableTable(t, c.typ, c.only, c.values...)
				a := s.Alter()
				require.NoError(t, change(a))
				altered, err := a.Change()
				require.NoError(t, err)
				txn := s.Begin(delta.Operation{Name: "CHANGE"})
				txn.Alter(altered)
				after, err := txn.Commit(t.Context())
				_, written := s.Bucket().Stat(t.Context(), fmt.Sprintf("_delta_log/%020d.json", 1))
				switch {
				case c.faulty:
					var fault *delta.PartitionError
					require.ErrorAs(t, err, &fault)
					require.Equal(t, delta.PartitionError{Column: "p", Type: delta.Double}, *fault)
					require.Error(t, written)
				case slices.Contains(c.refused, what):
					var feature *delta.FeatureError
					require.ErrorAs(t, err, &feature)
					require.Equal(t, "partition columns only", feature.Feature)
					require.Error(t, written)
				default:
					require.NoError(t, err)
					require.NoError(t, written)
					require.True(t, delta.CheckListable(after) == nil || delta.CheckScannable(after) == nil)
				}
			})
		}
	}
}

// TestNoRestoreMakesATableUnreadable checks that a restore judges the files that it adds,
// and not those that it removes.
func TestNoRestoreMakesATableUnreadable(t *testing.T) {
	s := unreadableTable(t, "double", false, "x")
	without := s.Begin(delta.Operation{Name: "DELETE"})
	require.NoError(t, without.Remove(false, slices.Collect(s.Files())...))
	good, err := without.Commit(t.Context())
	require.NoError(t, err)

	back, _, err := good.Restore(t.Context(), s, delta.Operation{})
	require.NoError(t, err)
	_, err = back.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrPartitionValue)

	// A table that another writer made unreadable is restored to a readable version.
	name := fmt.Sprintf("_delta_log/%020d.json", 2)
	add := `{"add":{"path":"0","partitionValues":{"p":"x"},"size":1,"modificationTime":1,"dataChange":true}}` + "\n"
	require.NoError(t, good.Bucket().Put(t.Context(), name, strings.NewReader(add), int64(len(add))))
	spoiled, err := good.Refresh(t.Context())
	require.NoError(t, err)
	repair, _, err := spoiled.Restore(t.Context(), good, delta.Operation{})
	require.NoError(t, err)
	repaired, err := repair.Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, repaired.NumFiles())
}
