package deletion

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// The storage types.
const (
	inline   = "i"
	relative = "u"
)

// idDigits is the length of a UUID in Z85.
const idDigits = 20

// Inline is the descriptor that holds the set itself. Errors:
// [action.ErrTooLarge].
func Inline(r *Rows) (*action.DeletionVector, error) {
	data, err := encode(r)
	if err != nil {
		return nil, err
	}
	return &action.DeletionVector{
		StorageType: inline, PathOrInlineDV: encodeZ85(data),
		SizeInBytes: int32(len(data)), Cardinality: r.Count(), //nolint:gosec // at most MaxBytes
	}, nil
}

// DecodeInline reads the set out of a descriptor, whether it holds one or not
// (then ok is false). Errors: [action.ErrMalformed], [action.ErrTooLarge].
func DecodeInline(d *action.DeletionVector) (r *Rows, ok bool, err error) {
	if d.StorageType != inline {
		return nil, false, nil
	}
	if d.SizeInBytes > MaxBytes || len(d.PathOrInlineDV) > 2*MaxBytes {
		return nil, true, fmt.Errorf("inline deletion vector: %w", action.ErrTooLarge)
	}
	data, valid := decodeZ85(d.PathOrInlineDV)
	size := int(d.SizeInBytes)
	switch {
	case !valid || d.Offset != nil:
		return nil, true, malformed("inline text")
	case size > len(data) || len(data)-size > 3:
		return nil, true, malformed("inline size")
	case len(bytes.Trim(data[size:], "\x00")) > 0:
		return nil, true, malformed("bytes after the bitmap")
	}
	r, err = decode(data[:size])
	if err != nil {
		return nil, true, err
	}
	return r, true, r.matches(d)
}

// matches holds a set against what the log says of it.
func (r *Rows) matches(d *action.DeletionVector) error {
	if r.Count() != d.Cardinality {
		return malformed(fmt.Sprintf("%d rows instead of %d", r.Count(), d.Cardinality))
	}
	return nil
}

// CheckPlace refuses vectors that live outside the table: absolute ones, and a
// folder before the encoded file id that is more than the random letters and
// digits which writers put there. An absolute path is refused whatever it leads
// to: the log does not know where its table lies. The error is
// [logpath.ErrUnsafePath].
func CheckPlace(d *action.DeletionVector) error {
	switch d.StorageType {
	case inline:
		return nil
	case relative:
		folder := len(d.PathOrInlineDV) - idDigits
		if folder < 0 || strings.ContainsFunc(d.PathOrInlineDV[:folder], notAlphanumeric) {
			return fmt.Errorf("deletion vector %.200q: %w", d.PathOrInlineDV, logpath.ErrUnsafePath)
		}
		return nil
	}
	return fmt.Errorf("deletion vector %.200q: %w", d.PathOrInlineDV, logpath.ErrElsewhere)
}

// FileName is the object, below the table's folder, that a descriptor points
// into. Errors: those of [CheckPlace]; [action.ErrMalformed] for a descriptor
// that points at no file.
func FileName(d *action.DeletionVector) (string, error) {
	if err := CheckPlace(d); err != nil {
		return "", err
	}
	if d.StorageType == inline {
		return "", malformed("not in a file")
	}
	cut := len(d.PathOrInlineDV) - idDigits
	raw, ok := decodeZ85(d.PathOrInlineDV[cut:])
	if !ok {
		return "", malformed("file id")
	}
	name := objectName(uuid.UUID(raw))
	if cut > 0 {
		name = d.PathOrInlineDV[:cut] + "/" + name
	}
	return name, nil
}

func objectName(id uuid.UUID) string { return "deletion_vector_" + id.String() + ".bin" }

// notAlphanumeric finds what writers never put into the folder's name.
func notAlphanumeric(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}
