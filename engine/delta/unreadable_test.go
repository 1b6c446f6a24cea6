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

// unreadableTable writes a table with the column id and one partition column p of a
// type, and other fields if any, with a file for each partition value.
func unreadableTable(t *testing.T, typ, fields, features string, values ...string) *delta.Snapshot {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	schema := `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"p","type":"` + typ + `","nullable":true,"metadata":{}}` + fields + `]}`
	lines := []string{
		`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[` + features + `],"writerFeatures":[` + features + `]}}`,
		fmt.Sprintf(`{"metaData":{"id":"u","format":{"provider":"parquet","options":{}},"schemaString":%q,"partitionColumns":["p"],"configuration":{}}}`, schema),
	}
	for i, v := range values {
		lines = append(lines, fmt.Sprintf(`{"add":{"path":"%d","partitionValues":{"p":%q},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}"}}`, i, v))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", 0)), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	for i := range values {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o600))
	}
	bucket, err := file.New(dir)
	require.NoError(t, err)
	s, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	return s
}

// TestNoMetadataCommitMakesATableUnreadable: whatever a commit changes of the table, its
// result can be read, or nothing is written and the refusal names the reason.
func TestNoMetadataCommitMakesATableUnreadable(t *testing.T) {
	const variant = `,{"name":"v","type":"variant","nullable":true,"metadata":{}}`
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
	const more = `,{"name":"d","type":"long","nullable":true,"metadata":{}}`
	maps := []string{"rename", "mapping", "drop"}
	for name, c := range map[string]struct {
		typ, fields, features string
		values                []string
		// refused is the name of a feature, or empty; faulty says that a partition value
		// is at fault. onlyMapped: just the changes that map columns are refused.
		refused            string
		faulty, onlyMapped bool
	}{
		"double":              {typ: "double", values: []string{"NaN", "-0.0", "1.0E10"}},
		"float":               {typ: "float", values: []string{"Infinity"}},
		"binary":              {typ: "binary", values: []string{"ÿ"}},
		"far timestamps":      {typ: "timestamp", values: []string{"0001-01-01 00:00:00", "+12345-01-01 00:00:00"}},
		"no value":            {typ: "double", values: []string{"1", "x"}, faulty: true},
		"variant":             {typ: "long", fields: variant, features: `"variantType"`, values: []string{"1"}, refused: "variantType", onlyMapped: true},
		"variant and offsets": {typ: "timestamp", fields: variant, features: `"variantType"`, values: []string{"2024-01-01 00:00:00+02:00"}, refused: "variantType"},
	} {
		for what, change := range changes {
			t.Run(name+", "+what, func(t *testing.T) {
				s := unreadableTable(t, c.typ, more+c.fields, c.features, c.values...)
				a := s.Alter()
				require.NoError(t, change(a))
				altered, err := a.Change()
				require.NoError(t, err)
				txn := s.Begin(delta.Operation{Name: "CHANGE"})
				txn.Alter(altered)
				after, err := txn.Commit(t.Context())
				_, written := s.Bucket().Stat(t.Context(), fmt.Sprintf("_delta_log/%020d.json", 1))
				switch mapping := slices.Contains(maps, what); {
				case c.faulty:
					var fault *delta.PartitionError
					require.ErrorAs(t, err, &fault)
					require.Equal(t, delta.PartitionError{Column: "p", Type: delta.Double}, *fault)
					require.Error(t, written)
				case c.refused != "" && (mapping || !c.onlyMapped):
					var feature *delta.FeatureError
					require.ErrorAs(t, err, &feature)
					require.Equal(t, c.refused, feature.Feature)
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

// TestNoRestoreMakesATableUnreadable: the files that come back are judged, and those that
// go are not.
func TestNoRestoreMakesATableUnreadable(t *testing.T) {
	s := unreadableTable(t, "double", "", "", "x")
	without := s.Begin(delta.Operation{Name: "DELETE"})
	require.NoError(t, without.Remove(false, slices.Collect(s.Files())...))
	good, err := without.Commit(t.Context())
	require.NoError(t, err)

	back, _, err := good.Restore(t.Context(), s, delta.Operation{})
	require.NoError(t, err)
	_, err = back.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrPartitionValue)

	// A table that became unreadable through another writer is restored to a version
	// that is not.
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
