package write

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/scan"
)

// Files writes the rows of st into new files of the directory dir, as the layout requests.
// Files without rows are not returned. After an error some files may remain in dir.
func Files(in *native.Instance, st engine.Statement, layout engine.FileLayout, dir string, step func() error) ([]engine.DataFile, error) {
	if err := in.OnlyOne(st.SQL); err != nil {
		return nil, err
	}
	files, err := copyOut(in, st, layout, dir, step)
	if err != nil || len(layout.PartitionBy) == 0 {
		return files, err
	}
	var out []engine.DataFile
	for _, part := range byPartition(files, layout.PartitionBy) {
		if part, err = resize(in, part, layout, dir, step); err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// Unordered runs f while rows may be written in any order, if anyOrder is true: to keep their
// order a file buffers the rows that its threads have ready early, which takes a multiple of
// the memory.
func Unordered(in *native.Instance, anyOrder bool, f func() error) (err error) {
	if !anyOrder {
		return f()
	}
	if err := in.Exec("SET preserve_insertion_order=false"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Exec("SET preserve_insertion_order=true")) }()
	return f()
}

// copyOut runs st into files of the directory dir.
func copyOut(in *native.Instance, st engine.Statement, layout engine.FileLayout, dir string, step func() error) ([]engine.DataFile, error) {
	checked := st
	var err error
	if !layout.NoFloats {
		if checked.SQL, err = withoutNegativeZeros(in, st.SQL); err != nil {
			return nil, hidden(err)
		}
	}
	files, err := copyOnce(in, checked, layout, dir, true, step)
	if checked.SQL != st.SQL && metNegativeZero(err, step) {
		return copyOnce(in, st, layout, dir, false, step)
	}
	return files, err
}

// copyOnce is copyOut with or without dictionaries.
func copyOnce(in *native.Instance, st engine.Statement, layout engine.FileLayout, dir string, dictionaries bool,
	step func() error) ([]engine.DataFile, error) {
	sql, err := copySQL(st.SQL, layout, dir, dictionaries)
	if err != nil {
		return nil, err
	}
	c, err := in.Open(sql, st.Args, native.Writes, step)
	if err != nil {
		return nil, hidden(err)
	}
	defer c.Close()
	var files []engine.DataFile
	err = c.Each(func(r engine.Row) error {
		if f := dataFile(r); f.Rows > 0 {
			files = append(files, f)
		}
		return nil
	})
	return files, hidden(err)
}

// hidden removes the position from an error about SQL that the caller has never seen.
func hidden(err error) error {
	if e := native.AsError(err); e != nil {
		e.Position = -1
	}
	return err
}

// resize turns the files of one partition into one file, or files of the requested size.
// DuckDB ends a partition's file when too many are open, never by its size.
func resize(in *native.Instance, part []engine.DataFile, layout engine.FileLayout, dir string,
	step func() error) ([]engine.DataFile, error) {
	if len(part) == 1 && (layout.FileBytes <= 0 || part[0].Bytes <= layout.FileBytes+layout.FileBytes/2) {
		return part, nil
	}
	paths := make([]string, len(part))
	for i, f := range part {
		path, err := scan.GlobEscape(filepath.Join(dir, f.Name))
		if err != nil {
			return nil, err
		}
		paths[i] = path
	}
	layout.PartitionBy = nil
	files, err := copyOut(in, engine.Statement{SQL: "SELECT * FROM " + scan.ReadParquet(paths, ", hive_partitioning=false")},
		layout, dir, step)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Partition = part[0].Partition
	}
	for _, f := range part {
		if err := os.Remove(filepath.Join(dir, f.Name)); err != nil {
			return nil, Failure(err)
		}
	}
	return files, nil
}

// byPartition groups files with equal values, in the order of their first file.
func byPartition(files []engine.DataFile, columns []string) [][]engine.DataFile {
	var out [][]engine.DataFile
	at := map[string]int{}
	for _, f := range files {
		var key strings.Builder
		for _, c := range columns {
			key.WriteString(scan.Literal(f.Partition[c]) + ",")
		}
		i, known := at[key.String()]
		if !known {
			i = len(out)
			at[key.String()] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// deltaDictionary is the largest number of values of a column in a row group that make a
// dictionary next to delta encodings: columns with fewer repetitions are smaller without one,
// and searching for repetitions costs more than writing.
const deltaDictionary = 1024

// codecs maps the codecs of a layout to DuckDB's names.
var codecs = map[string]string{
	"": "zstd", "zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "lz4_raw": "lz4_raw", "uncompressed": "uncompressed",
}

// copySQL returns SQL that writes a query into files of the directory dir. The query is in
// parentheses, where only a query parses.
func copySQL(query string, layout engine.FileLayout, dir string, dictionaries bool) (string, error) {
	codec, ok := codecs[layout.Codec]
	if !ok {
		return "", native.InternalError("layout", "unknown codec: "+layout.Codec)
	}
	options := []string{"FORMAT parquet", "COMPRESSION " + codec, "RETURN_STATS"}
	target := dir
	switch {
	case len(layout.PartitionBy) > 0:
		columns, texts := make([]string, len(layout.PartitionBy)), make([]string, len(layout.PartitionBy))
		for i, c := range layout.PartitionBy {
			columns[i] = engine.QuoteIdent(c)
			texts[i] = columns[i] + "::VARCHAR AS " + columns[i]
		}
		if !layout.NoFloats {
			// Only as texts do 0.0 and -0.0 differ.
			query = "SELECT * REPLACE (" + strings.Join(texts, ", ") + ") FROM (" + query + "\n)"
		}
		options = append(options, "PARTITION_BY ("+strings.Join(columns, ", ")+")", "WRITE_PARTITION_COLUMNS false",
			"HIVE_FILE_PATTERN false", "OVERWRITE_OR_IGNORE", "FILENAME_PATTERN 'part-{uuid}'")
	case layout.FileBytes > 0:
		options = append(options, "FILE_SIZE_BYTES "+strconv.FormatInt(layout.FileBytes, 10), "OVERWRITE_OR_IGNORE",
			"FILENAME_PATTERN 'part-{uuid}'")
	default:
		target = filepath.Join(dir, "part-"+uuid.NewString()+".parquet")
	}
	if layout.RowGroupRows > 0 {
		options = append(options, "ROW_GROUP_SIZE "+strconv.FormatInt(layout.RowGroupRows, 10))
	}
	if layout.DeltaEncoding {
		options = append(options, "PARQUET_VERSION v2")
	}
	switch {
	case !dictionaries:
		options = append(options, "DICTIONARY_SIZE_LIMIT 0")
	case layout.DeltaEncoding:
		options = append(options, "DICTIONARY_SIZE_LIMIT "+strconv.Itoa(deltaDictionary))
	}
	if ids := fieldIDs(layout); ids != "" {
		options = append(options, "FIELD_IDS "+ids)
	}
	return "COPY (" + query + "\n) TO " + engine.QuoteString(target) + " (" + strings.Join(options, ", ") + ")", nil
}

// fieldIDs returns the ids of the columns in files, "" for none.
func fieldIDs(layout engine.FileLayout) string {
	var columns []engine.FieldID
	for _, f := range layout.FieldIDs {
		if !slices.Contains(layout.PartitionBy, f.Column) {
			columns = append(columns, f)
		}
	}
	items := fieldItems(columns)
	if len(items) == 0 {
		return ""
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// fieldItems omits parts without an id; elements, keys and values usually have none.
func fieldItems(fields []engine.FieldID) []string {
	var items []string
	for _, f := range fields {
		var item []string
		if f.ID != 0 {
			item = append(item, "__duckdb_field_id: "+strconv.Itoa(f.ID))
		}
		item = append(item, fieldItems(f.Children)...)
		if len(item) > 0 {
			items = append(items, engine.QuoteString(f.Column)+": {"+strings.Join(item, ", ")+"}")
		}
	}
	return items
}

// Failure returns an error of the file system as one of the engine.
func Failure(err error) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: "write", Position: -1, Text: native.Clip(err.Error())}
}
