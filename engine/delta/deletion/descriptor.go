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

// Inline returns a descriptor that contains the set. Errors: [action.ErrTooLarge].
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

// DecodeInline returns the set in a descriptor; ok is false if the descriptor is not
// inline. Errors: [action.ErrMalformed], [action.ErrTooLarge].
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

// matches returns an error if the set differs from the descriptor's cardinality.
func (r *Rows) matches(d *action.DeletionVector) error {
	if r.Count() != d.Cardinality {
		return malformed(fmt.Sprintf("%d rows instead of %d", r.Count(), d.Cardinality))
	}
	return nil
}

// CheckLocation refuses deletion vectors outside the table: absolute paths, and a folder
// before the encoded file id that does not consist of the random letters and digits
// that writers put there. It refuses absolute paths without regard to their target,
// because the log does not record the table's location. The error is
// [logpath.ErrUnsafePath].
func CheckLocation(d *action.DeletionVector) error {
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

// FileName returns the name of the object that holds the vector, below the table's
// folder. Errors: those of [CheckLocation]; [action.ErrMalformed] if the vector is not in
// a file.
func FileName(d *action.DeletionVector) (string, error) {
	if err := CheckLocation(d); err != nil {
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

// notAlphanumeric reports whether writers never use the character in the folder's name.
func notAlphanumeric(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}
