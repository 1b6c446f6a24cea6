package duckdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/workdir"
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
	made := filepath.Join(work, "files")
	if err := os.MkdirAll(made, 0o750); err != nil {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "directory", Position: -1, Text: clip(err.Error())}
	}
	// What cannot be removed is hidden, and no part of any table.
	defer func() { _ = os.RemoveAll(work) }()
	files, err := w.copyTo(ctx, work, req)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := syncFile(filepath.Join(made, f.Name)); err != nil {
			return nil, writeFailure(err)
		}
	}
	if err := workdir.Move(fileNames(files), made, dir); err != nil {
		return nil, writeFailure(err)
	}
	return files, nil
}

// copyTo runs the query in an instance of its own.
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
	layout := engine.FileLayout{PartitionBy: req.PartitionBy, FileBytes: req.FileBytes, RowGroupRows: req.RowGroupRows}
	files, err := in.writeFiles(engine.Statement{SQL: req.SQL}, layout, filepath.Join(work, "files"), g.err)
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

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
