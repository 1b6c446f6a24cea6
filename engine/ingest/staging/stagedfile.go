package staging

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// The bounds of a row group, which is in memory until it is complete.
const (
	groupRows  = 120 << 10
	groupBytes = 16 << 20
)

// stagedFile is a Parquet file that is being written. It ends complete or, after discard,
// removed.
type stagedFile struct {
	file  *os.File
	w     *pqarrow.FileWriter
	limit int64
	// written counts bytes of the file, total its rows; rows and bytes those of the row group.
	written, total, rows, bytes int64
	// err is the first failure. The library writes a footer after some failures and forgets
	// others; none of them may look like a complete file.
	err  error
	done bool
}

func newStagedFile(dir string, schema *arrow.Schema, limit int64) (*stagedFile, error) {
	file, err := os.CreateTemp(dir, "rows-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("staging rows: %w", err)
	}
	f := &stagedFile{file: file, limit: limit}
	properties := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(math.MaxInt64), // groups end by our count
		parquet.WithStats(false),                     // every row is read
		parquet.WithDictionaryDefault(false),         // costs more time than it saves space
		parquet.WithStoreDecimalAsInteger(true),      // where 18 digits suffice
		parquet.WithCreatedBy("Lakewarden"),
	)
	f.w, err = pqarrow.NewFileWriter(schema, f, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		f.discard()
		return nil, fmt.Errorf("staging rows: %w", err)
	}
	return f, nil
}

var errIncomplete = errors.New("staged file is not complete")

// Write implements io.Writer for the library.
func (f *stagedFile) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if f.written += int64(len(p)); f.limit > 0 && f.written > f.limit {
		f.err = &LimitError{What: "staged bytes", Limit: f.limit}
		return 0, f.err
	}
	n, err := f.file.Write(p)
	f.err = err
	return n, err
}

// write appends a batch of about size bytes and releases it.
func (f *stagedFile) write(batch arrow.RecordBatch, size int64) error {
	defer batch.Release()
	if f.rows >= groupRows || f.bytes >= groupBytes {
		f.rows, f.bytes = 0, 0
		f.w.NewBufferedRowGroup()
	}
	err := f.w.WriteBuffered(batch)
	f.rows += batch.NumRows()
	f.total += batch.NumRows()
	f.bytes += size
	return f.failure(err)
}

// failure returns the first failure.
func (f *stagedFile) failure(err error) error {
	if f.err == nil {
		f.err = err
	}
	var limit *LimitError
	switch {
	case f.err == nil:
		return nil
	case errors.As(f.err, &limit):
		return limit
	}
	return fmt.Errorf("staging rows: %w", f.err)
}

// close writes the footer, and checks that it has the number of rows that were written.
func (f *stagedFile) close() error {
	err := f.failure(f.w.Close())
	if err == nil {
		footer, problem := f.w.FileMetadata()
		if problem == nil && footer.NumRows != f.total {
			problem = errIncomplete
		}
		err = f.failure(problem)
	}
	if err == nil {
		err = f.failure(f.file.Close())
	}
	f.done = err == nil
	return err
}

// discard removes the file unless it was closed complete. It may be called twice.
func (f *stagedFile) discard() {
	if f == nil || f.done {
		return
	}
	f.file.Close()
	os.Remove(f.file.Name())
}

// name is the file's name in its directory.
func (f *stagedFile) name() string { return filepath.Base(f.file.Name()) }
