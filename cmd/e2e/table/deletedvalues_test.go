package table_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDeletedValuesAreGone checks that after a delete and a vacuum the deleted value is in
// no data file, file of changes or deletion vector, and in no statistic of the current
// version or of a later checkpoint.
func TestDeletedValuesAreGone(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for name, properties := range map[string]object{
		"rewritten": {},
		"mapped":    {"delta.columnMapping.mode": "name"},
		"feed":      {"delta.enableChangeDataFeed": "true"},
		"vectors":   {"delta.enableDeletionVectors": "true"},
		"typed":     {"delta.checkpoint.writeStatsAsStruct": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			properties["delta.checkpointInterval"] = "2"
			path := s.Create(name, object{"properties": properties}, object{"name": "id", "type": "BIGINT"},
				object{"name": "word", "type": "VARCHAR"}, object{"name": "filling", "type": "VARCHAR"})
			// The file is large, and the secret is in a dictionary and among the bounds.
			secret := "zz-" + rand.Text()
			var rows strings.Builder
			const count, at = 300_000, 60_000
			for id := range count {
				word := []string{"one", "two", "three"}[id%3]
				if id == at {
					word = secret
				}
				fmt.Fprintf(&rows, `{"id":%d,"word":%q,"filling":%q}`+"\n", id, word, rand.Text())
			}
			inserted := s.Admin.Call("POST", path+"/rows", rows.String(), "Content-Type", "application/x-ndjson")
			require.Equal(t, 200, inserted.Status, "%s", inserted.Body)
			dir := folder(s, name)
			require.NotEmpty(t, filesWith(t, dir, secret, 0), "the search finds the value while the row is there")

			s.Admin.OK("POST", path+"/rows/delete", object{"where": fmt.Sprintf("id BETWEEN %d AND %d", at-5, at+5)})
			if name == "vectors" {
				s.Admin.OK("POST", path+"/optimize", object{})
			}
			s.Admin.OK("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})
			version := s.Admin.Version(path)
			for id := range 3 { // checkpoints follow
				s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": count + id, "word": "one", "filling": ""}))
			}
			checkpoints, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.checkpoint*"))
			require.NoError(t, err)
			require.NotEmpty(t, checkpoints)
			require.Equal(t, float64(count-11+3), s.Admin.Count(s.Schema+"."+name))
			require.Empty(t, filesWith(t, dir, secret, int64(version)+1))
		})
	}
}

// folder returns the folder of a table.
func folder(s *harness.Server, table string) (dir string) {
	s.T.Helper()
	require.NoError(s.T, filepath.WalkDir(s.Root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == table {
			dir = path
			return filepath.SkipAll
		}
		return err
	}))
	require.NotEmpty(s.T, dir)
	return dir
}

// filesWith lists the files of a table that hold a text, in their bytes or in a page of a
// column. It skips files of the log for versions before from.
func filesWith(t *testing.T, dir, text string, from int64) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if version, err := strconv.ParseInt(strings.SplitN(entry.Name(), ".", 2)[0], 10, 64); err == nil && version < from {
			return nil
		}
		content, err := os.ReadFile(path) //nolint:gosec // of the test
		if err != nil {
			return err
		}
		if bytes.Contains(content, []byte(text)) || strings.HasSuffix(path, ".parquet") && pagesHold(t, content, text) {
			found = append(found, strings.TrimPrefix(path, dir))
		}
		return nil
	}))
	return found
}

// pagesHold reports whether a page of a Parquet file holds a text, dictionaries
// included.
func pagesHold(t *testing.T, content []byte, text string) bool {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(content))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for group := range f.NumRowGroups() {
		r := f.RowGroup(group)
		for column := range r.NumColumns() {
			pages, err := r.GetColumnPageReader(column)
			require.NoError(t, err)
			for pages.Next() {
				if bytes.Contains(pages.Page().Data(), []byte(text)) {
					return true
				}
			}
			require.NoError(t, pages.Err())
		}
	}
	return false
}
