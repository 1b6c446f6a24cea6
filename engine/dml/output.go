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

// dir returns a new name for a folder in the scratch directory.
func (w *write) dir() string {
	w.dirs++
	return "d" + strconv.Itoa(w.dirs)
}

// spool writes the rows of a query into files of the scratch directory, for later
// queries. It returns their names relative to that directory.
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

// rowQuery is a query for rows to write.
type rowQuery struct {
	// sql returns the table's columns, followed by those of extra.
	sql     string
	extra   []string
	sources []engine.Source
	// rowGroup is the number of rows of a row group; 0 means the engine's default.
	rowGroup int64
}

// writeFiles writes rows as data files of the table and, unless the run is dry,
// uploads them. After an error it leaves none.
func (w *write) writeFiles(ctx context.Context, o rowQuery) ([]delta.AddFile, error) {
	dir, files, err := w.writeLocal(ctx, o)
	if err != nil || w.DryRun {
		return nil, err
	}
	return datafile.Upload(ctx, w.Snapshot, dir, files, nil)
}

// writeLocal writes rows into files with the table's layout, below dir.
func (w *write) writeLocal(ctx context.Context, o rowQuery) (dir string, files []engine.DataFile, err error) {
	dir = w.dir()
	layout := datafile.Layout(w.Snapshot)
	layout.PartitionBy, layout.FileBytes = w.storedPartitions(), datafile.TargetBytes(w.Snapshot)
	layout.RowGroupRows, layout.Ordered = o.rowGroup, w.KeepOrder
	if w.KeepOrder && w.totalSize(o.sources) <= layout.FileBytes {
		layout.FileBytes = 0 // several threads keep the order only within one file
	}
	if w.Snapshot.Mapped() {
		layout.FieldIDs = pruning.FieldIDs(w.Snapshot.FileColumns())
		o.sql = w.withStoredNames(o.sql, o.extra)
	} else {
		o.sql = w.withoutVoid(o.sql)
	}
	files, err = w.Session.Write(ctx, engine.WriteStatement{Statement: w.statement(o.sql, o.sources...), Dir: dir, Layout: layout})
	return filepath.Join(w.Scratch, dir), files, err
}

// totalSize returns the total size of the sources' files. Sources whose size is
// unknown count as nothing, which makes the written files larger.
func (w *write) totalSize(sources []engine.Source) (sum int64) {
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
