package parquetbody

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// mark begins and ends every Parquet file whose footer is not encrypted.
const mark = "PAR1"

// maxFooterBytes bounds the metadata of a Parquet file.
const maxFooterBytes = 64 << 20

// Spool stores a Parquet body in a directory unchanged, so that a sandboxed engine can read
// it: see [Select]. It reads only the marks and the length of the footer. Members, shapes and
// the number of rows are unknown.
//
// Errors are [staging.ErrTruncated], [staging.ErrTooLarge], [*staging.SyntaxError], those of
// the context, of the body and of writing; the directory then holds nothing of this call.
func Spool(ctx context.Context, body io.Reader, dir string, limits staging.Limits) (*staging.Staged, error) {
	in := staging.NewMeter(ctx, body, limits.Bytes)
	file, err := os.CreateTemp(dir, "body-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("spooling a body: %w", err)
	}
	if err := spool(in, file); err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, in.Cut(err, staging.Parquet)
	}
	return &staging.Staged{File: filepath.Base(file.Name()), Rows: -1, Bytes: in.Offset()}, nil
}

func spool(in *staging.Meter, file *os.File) error {
	if _, err := io.Copy(file, in); err != nil {
		var limit *staging.LimitError
		if errors.As(err, &limit) {
			return limit
		}
		return err
	}
	if err := checkFooter(file, in.Offset()); err != nil {
		return err
	}
	return file.Close()
}

// checkFooter checks the two ends of a file.
func checkFooter(file io.ReaderAt, size int64) error {
	var head [len(mark)]byte
	var tail [4 + len(mark)]byte
	if size < int64(len(head)) {
		return staging.ErrTruncated
	}
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return err
	}
	if string(head[:]) != mark {
		return &staging.SyntaxError{Format: staging.Parquet, Offset: 0, Text: "does not begin with " + mark}
	}
	if size < int64(len(head)+len(tail)) {
		return staging.ErrTruncated
	}
	at := size - int64(len(tail))
	if _, err := file.ReadAt(tail[:], at); err != nil {
		return err
	}
	if string(tail[4:]) != mark {
		return staging.ErrTruncated
	}
	footer := int64(binary.LittleEndian.Uint32(tail[:]))
	if footer == 0 || footer > maxFooterBytes || footer > at-int64(len(head)) {
		return &staging.SyntaxError{Format: staging.Parquet, Offset: at, Text: "the length of the footer is not possible"}
	}
	return nil
}
