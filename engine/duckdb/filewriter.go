package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.FileWriter = FileWriter{}

// FileWriter writes data files, each call in a new instance that has no
// extension and sees the files and the directory of the call only. The zero
// value works. It is safe for concurrent use.
type FileWriter struct {
	// Lease fills the fields that a request's lease leaves zero.
	Lease engine.Lease
}

// WriteFiles implements engine.FileWriter. Files are made in a hidden folder and
// moved below Dir when all of them are complete. Values of partition columns
// never become part of a name.
func (w FileWriter) WriteFiles(ctx context.Context, req engine.WriteRequest) (_ []engine.DataFile, err error) {
	dir, err := filepath.EvalSymlinks(req.Dir)
	if err != nil || !filepath.IsAbs(dir) {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "directory", Position: -1, Text: clip(req.Dir)}
	}
	work := filepath.Join(dir, ".writing-"+uuid.NewString())
	if err := os.Mkdir(work, 0o750); err != nil {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "directory", Position: -1, Text: clip(err.Error())}
	}
	// What cannot be removed is hidden, and no part of any table.
	defer func() { _ = os.RemoveAll(work) }()
	files, err := w.copyTo(ctx, work, req)
	if err != nil {
		return nil, err
	}
	if err := moveAll(files, work, dir); err != nil {
		return nil, err
	}
	return files, nil
}

// copyTo runs the query in an instance of its own. Names of the files are still
// absolute.
func (w FileWriter) copyTo(ctx context.Context, work string, req engine.WriteRequest) ([]engine.DataFile, error) {
	temp := filepath.Join(work, "spill")
	in, err := openInstance(baseConfig())
	if err != nil {
		return nil, err
	}
	defer in.close()
	lease := withDefaults(w.Lease)
	if req.Lease.Memory > 0 {
		lease.Memory = req.Lease.Memory
	}
	if req.Lease.Threads > 0 {
		lease.Threads = req.Lease.Threads
	}
	if err := in.exec(writerLockdown(work, temp, req.ReadFiles, lease)); err != nil {
		return nil, err
	}
	if len(req.ReadFiles) > 0 {
		// Folders named like month=1 are no columns, and a file from before a
		// column was added counts as NULL in it.
		view := "CREATE VIEW input AS SELECT * FROM read_parquet(" + quoteList(req.ReadFiles) + ", hive_partitioning=false, union_by_name=true)"
		if err := in.exec(view); err != nil {
			return nil, err
		}
	}
	g := newGuard(ctx, nil, req.Lease.Timeout, in.conn)
	defer g.end()
	c, err := in.open(copySQL(work, req), engine.Args{}, writes, func() error { return nil })
	if err != nil {
		return nil, stopped(g, err)
	}
	defer c.close()
	var files []engine.DataFile
	err = c.each(func(r rowReader) error {
		files = append(files, dataFile(r))
		return nil
	})
	return files, stopped(g, err)
}

// stopped prefers the guard's word on why a statement failed.
func stopped(g *guard, err error) error {
	if err == nil {
		return nil
	}
	if cause := g.err(); cause != nil {
		return cause
	}
	return err
}

func writerLockdown(work, temp string, read []string, lease engine.Lease) string {
	return strings.Join([]string{
		"SET TimeZone='UTC'",
		"SET memory_limit='" + strconv.FormatInt(lease.Memory, 10) + "B'",
		"SET threads=" + strconv.Itoa(lease.Threads),
		"SET temp_directory=" + engine.QuoteString(temp),
		"SET allowed_directories=" + quoteList([]string{work}),
		"SET allowed_paths=" + quoteList(read),
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	}, ";\n")
}

func copySQL(work string, req engine.WriteRequest) string {
	options := []string{"FORMAT parquet", "COMPRESSION zstd", "RETURN_STATS"}
	target := filepath.Join(work, "files")
	switch {
	case len(req.PartitionBy) > 0:
		columns := make([]string, len(req.PartitionBy))
		for i, c := range req.PartitionBy {
			columns[i] = engine.QuoteIdent(c)
		}
		options = append(options, "PARTITION_BY ("+strings.Join(columns, ", ")+")", "WRITE_PARTITION_COLUMNS false", "FILENAME_PATTERN 'part-{uuid}'")
	case req.FileBytes > 0:
		options = append(options, "FILENAME_PATTERN 'part-{uuid}'")
	default:
		target = filepath.Join(work, "part-"+uuid.NewString()+".parquet")
	}
	if req.FileBytes > 0 {
		options = append(options, "FILE_SIZE_BYTES "+strconv.FormatInt(req.FileBytes, 10))
	}
	if req.RowGroupRows > 0 {
		options = append(options, "ROW_GROUP_SIZE "+strconv.FormatInt(req.RowGroupRows, 10))
	}
	return "COPY (" + req.SQL + ") TO " + engine.QuoteString(target) + " (" + strings.Join(options, ", ") + ")"
}

// dataFile reads one row of what COPY with RETURN_STATS reports.
func dataFile(r rowReader) engine.DataFile {
	f := engine.DataFile{
		Name:      strings.Clone(r.text(0)),
		Rows:      int64(r.batch.Column(1).(*array.Uint64).Value(r.row)),
		Bytes:     int64(r.batch.Column(2).(*array.Uint64).Value(r.row)),
		Partition: map[string]*string{},
	}
	statistics := r.batch.Column(4).(*array.Map)
	eachEntry(statistics, r.row, func(key string, at int) {
		f.Columns = append(f.Columns, columnStats(key, statistics.Items().(*array.Map), at))
	})
	keys := r.batch.Column(5).(*array.Map)
	eachEntry(keys, r.row, func(key string, at int) { f.Partition[key] = textAt(keys.Items().(*array.String), at) })
	return f
}

func columnStats(name string, facts *array.Map, row int) engine.ColumnStats {
	out := engine.ColumnStats{Path: splitQuoted(name)}
	values := facts.Items().(*array.String)
	eachEntry(facts, row, func(key string, at int) {
		value := textAt(values, at)
		if value == nil {
			return
		}
		switch key {
		case "min":
			out.Min = value
		case "max":
			out.Max = value
		case "has_nan":
			out.HasNaN = *value == "true"
		case "null_count":
			if n, err := strconv.ParseInt(*value, 10, 64); err == nil {
				out.NullCount = &n
			}
		}
	})
	return out
}

func eachEntry(m *array.Map, row int, f func(key string, at int)) {
	if m.IsNull(row) {
		return
	}
	keys := m.Keys().(*array.String)
	start, end := m.ValueOffsets(row)
	for at := int(start); at < int(end); at++ {
		f(strings.Clone(keys.Value(at)), at)
	}
}

func textAt(column *array.String, row int) *string {
	if column.IsNull(row) {
		return nil
	}
	text := strings.Clone(column.Value(row))
	return &text
}

// splitQuoted reads "a"."b""c" as the path a, b"c.
func splitQuoted(text string) []string {
	var path []string
	for text != "" {
		text = strings.TrimPrefix(text, `"`)
		var part strings.Builder
		for {
			before, after, found := strings.Cut(text, `"`)
			part.WriteString(before)
			text = after
			if !found || !strings.HasPrefix(after, `"`) {
				break
			}
			part.WriteByte('"')
			text = after[1:]
		}
		path = append(path, part.String())
		text = strings.TrimPrefix(text, ".")
	}
	return path
}

// moveAll gives the files their final place below dir, on disk before they are
// named. After a failure none of them is left there.
func moveAll(files []engine.DataFile, work, dir string) error {
	moved := 0
	err := func() error {
		for i := range files {
			name := filepath.Base(files[i].Name)
			if err := syncFile(files[i].Name); err != nil {
				return err
			}
			if err := os.Rename(files[i].Name, filepath.Join(dir, name)); err != nil {
				return err
			}
			files[i].Name = name
			moved++
		}
		return syncFile(dir)
	}()
	if err == nil {
		return nil
	}
	for _, f := range files[:moved] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name)))
	}
	return &engine.Error{Kind: engine.KindIO, Class: "write", Position: -1, Text: clip(fmt.Sprintf("move out of %s: %v", work, err))}
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
