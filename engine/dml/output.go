package dml

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// dir makes a new folder name in the scratch directory.
func (w *write) dir() string {
	w.dirs++
	return "d" + strconv.Itoa(w.dirs)
}

// spool writes the rows of a query into the scratch directory, for queries that
// follow. The files are named as the scratch directory knows them.
func (w *write) spool(ctx context.Context, sql string, sources ...engine.Source) (names []string, rows int64, err error) {
	dir, layout := w.dir(), engine.ScratchLayout()
	layout.Ordered = w.KeepOrder
	files, err := w.Session.Write(ctx, engine.WriteStatement{Statement: w.statement(sql, sources...), Dir: dir, Layout: layout})
	for _, f := range files {
		if f.Rows > 0 {
			names, rows = append(names, dir+"/"+f.Name), rows+f.Rows
		}
	}
	return names, rows, err
}

// outcome is a query for rows of the table.
type outcome struct {
	// sql has the table's columns and then those of more.
	sql     string
	more    []string
	sources []engine.Source
	// rowGroup is the number of rows of a row group; 0 is the engine's default.
	rowGroup int64
}

// output writes rows as data files of the table and, unless the run is dry, uploads them.
// After an error it leaves none of them.
func (w *write) output(ctx context.Context, o outcome) ([]delta.AddFile, error) {
	dir, files, err := w.outputFiles(ctx, o)
	if err != nil || w.DryRun {
		return nil, err
	}
	return datafile.Upload(ctx, w.Snapshot, dir, files, nil)
}

// outputFiles writes rows into files as the table has them. They are in dir.
func (w *write) outputFiles(ctx context.Context, o outcome) (dir string, files []engine.DataFile, err error) {
	dir = w.dir()
	layout := datafile.Layout(w.Snapshot)
	layout.PartitionBy, layout.FileBytes, layout.RowGroupRows, layout.Ordered = w.storedPartitions(), datafile.TargetBytes(w.Snapshot), o.rowGroup, w.KeepOrder
	if w.KeepOrder && w.sizeOf(o.sources) <= layout.FileBytes {
		layout.FileBytes = 0 // several threads keep the order of one file only
	}
	if w.Snapshot.Mapped() {
		layout.FieldIDs = pruning.FieldIDs(w.Snapshot.FileColumns())
		o.sql = w.underStoredNames(o.sql, o.more)
	} else {
		o.sql = w.withoutVoid(o.sql)
	}
	files, err = w.Session.Write(ctx, engine.WriteStatement{Statement: w.statement(o.sql, o.sources...), Dir: dir, Layout: layout})
	return filepath.Join(w.Scratch, dir), files, err
}

// sizeOf is how long the files of sources are together. One whose length nobody knows
// counts as nothing: the files that follow from it become longer then.
func (w *write) sizeOf(sources []engine.Source) (sum int64) {
	for _, s := range sources {
		if s.Files == nil {
			continue
		}
		if s.Location == w.Scratch {
			for _, path := range paths(s.Files) {
				if info, err := os.Stat(filepath.Join(w.Scratch, filepath.FromSlash(path))); err == nil {
					sum += info.Size()
				}
			}
			continue
		}
		for _, f := range liveFiles(w.Snapshot, paths(s.Files)) {
			sum += f.Add.Size
		}
	}
	return sum
}
