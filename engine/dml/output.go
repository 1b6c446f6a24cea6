package dml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

const (
	// fileBytes is where a data file ends, where the table says nothing.
	fileBytes = 100 << 20
	// uploads is how many files go to the store at once.
	uploads = 4
)

// dir makes a new folder name in the scratch directory.
func (w *write) dir() string {
	w.dirs++
	return "d" + strconv.Itoa(w.dirs)
}

// spool writes the rows of a query into the scratch directory, for queries that
// follow. The files are named as the scratch directory knows them.
func (w *write) spool(ctx context.Context, sql string, sources ...engine.Source) (names []string, rows int64, err error) {
	dir := w.dir()
	files, err := w.Session.Write(ctx, engine.WriteStatement{Statement: w.statement(sql, sources...), Dir: dir, Layout: engine.FileLayout{Codec: "snappy"}})
	for _, f := range files {
		if f.Rows > 0 {
			names, rows = append(names, dir+"/"+f.Name), rows+f.Rows
		}
	}
	return names, rows, err
}

// output writes the rows of a query, which has the table's columns, as data files
// and uploads them. After an error none of them is left.
func (w *write) output(ctx context.Context, sql string, sources ...engine.Source) ([]delta.AddFile, error) {
	dir := w.dir()
	layout := engine.FileLayout{PartitionBy: w.Snapshot.PartitionColumns(), FileBytes: w.fileBytes(), Codec: w.codec()}
	files, err := w.Session.Write(ctx, engine.WriteStatement{Statement: w.statement(sql, sources...), Dir: dir, Layout: layout})
	if err != nil || w.DryRun {
		return nil, err
	}
	adds := make([]delta.AddFile, len(files))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for i, f := range files {
		group.Go(func() (err error) {
			if f.Rows > 0 {
				adds[i], err = w.upload(groupCtx, filepath.Join(w.Scratch, dir, filepath.FromSlash(f.Name)), i, f)
			}
			return err
		})
	}
	err = group.Wait()
	made := adds[:0]
	for _, a := range adds {
		if a.Name != "" {
			made = append(made, a)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.withdraw(ctx, made))
	}
	return made, nil
}

// upload gives a file its place below the table and describes it for the log. A
// name is returned also when it is not known whether the file is there.
func (w *write) upload(ctx context.Context, path string, number int, f engine.DataFile) (delta.AddFile, error) {
	add, err := w.describe(f)
	if err != nil {
		return add, err
	}
	body, err := os.Open(path)
	if err != nil {
		return add, err
	}
	defer func() { _ = body.Close() }()
	add.Name = fmt.Sprintf("part-%05d-%s-c000.%s.parquet", number, uuid.NewString(), w.codec())
	if err := w.Snapshot.Bucket().Put(ctx, add.Name, body, add.Size); err != nil {
		return add, fmt.Errorf("uploading a data file: %w", err)
	}
	return add, os.Remove(path)
}

// describe turns what the engine says of a file into what the log says of it.
func (w *write) describe(f engine.DataFile) (delta.AddFile, error) {
	columns := make([]delta.ColumnStats, len(f.Columns))
	for i, c := range f.Columns {
		columns[i] = delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: c.NullCount, HasNaN: c.HasNaN}
	}
	stats, err := w.Snapshot.EncodeStats(f.Rows, columns)
	if err != nil {
		return delta.AddFile{}, err
	}
	values := make(map[string]*string, len(f.Partition))
	for name, text := range f.Partition {
		field, ok := w.Snapshot.Schema().Field(name)
		if !ok {
			return delta.AddFile{}, fmt.Errorf("partition column %q: %w", name, delta.ErrInvalidSchema)
		}
		if values[name], err = delta.PartitionValue(field.Type, text); err != nil {
			return delta.AddFile{}, err
		}
	}
	return delta.AddFile{PartitionValues: values, Size: f.Bytes, ModTime: time.Now(), Stats: stats}, nil
}

// withdrawTime bounds the removal of files that nothing names.
const withdrawTime = 15 * time.Second

// withdraw takes uploaded files away again, also after the caller is gone. What
// it cannot take away, a vacuum does.
func (w *write) withdraw(ctx context.Context, adds []delta.AddFile) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	var errs []error
	for _, a := range adds {
		errs = append(errs, w.Snapshot.Bucket().Delete(ctx, a.Name))
	}
	return errors.Join(errs...)
}

// fileBytes is the table's own size of files, in bytes or with a unit.
func (w *write) fileBytes() int64 {
	text := strings.ToLower(strings.TrimSpace(w.Snapshot.Properties()["delta.targetFileSize"]))
	shift := 0
	for unit, bits := range map[string]int{"kb": 10, "mb": 20, "gb": 30, "k": 10, "m": 20, "g": 30} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(rest), bits
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "b"), 10, 64)
	if err != nil || n <= 0 || n > 1<<40>>shift {
		return fileBytes
	}
	return n << shift
}

// codec is the compression that the table asks for.
func (w *write) codec() string {
	switch name := strings.ToLower(w.Snapshot.Properties()["delta.parquet.compression.codec"]); name {
	case "snappy", "gzip", "lz4_raw", "uncompressed":
		return name
	case "none":
		return "uncompressed"
	}
	return "zstd"
}
