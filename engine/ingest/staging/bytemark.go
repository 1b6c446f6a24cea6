package staging

import (
	"bytes"
	"errors"
	"io"
)

var byteOrderMark = []byte("\uFEFF")

// SkipMark returns in without the byte order mark that some writers put before UTF-8, and the
// length of that mark.
func SkipMark(in io.Reader) (io.Reader, int64, error) {
	head := make([]byte, len(byteOrderMark))
	n, err := io.ReadFull(in, head)
	switch {
	case err == nil && bytes.Equal(head, byteOrderMark):
		return in, int64(n), nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrTruncated):
		return io.MultiReader(bytes.NewReader(head[:n]), in), 0, nil
	}
	return nil, 0, err
}
