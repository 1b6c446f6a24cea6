package ingest

import (
	"bytes"
	"errors"
	"io"
)

var byteOrderMark = []byte("\uFEFF")

// skipMark leaves out the byte order mark that some writers put before UTF-8.
func skipMark(in io.Reader) (io.Reader, error) {
	head := make([]byte, len(byteOrderMark))
	n, err := io.ReadFull(in, head)
	switch {
	case err == nil && bytes.Equal(head, byteOrderMark):
		return in, nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrTruncated):
		return io.MultiReader(bytes.NewReader(head[:n]), in), nil
	}
	return nil, err
}
