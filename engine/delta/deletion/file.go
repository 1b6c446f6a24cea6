package deletion

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// formatVersion is the first byte of a deletion vector file (protocol, "Deletion Vector
// File Storage Format").
const formatVersion = 1

// frameBytes is the size of the frame of a set in a file: its size before it, its
// checksum after it.
const frameBytes = 8

// maxFileBytes keeps every offset in the range of a descriptor.
const maxFileBytes = 1 << 30

// EncodeFile returns a file that contains several sets, and the descriptor of each. id
// names the file and must be new. Errors: [action.ErrTooLarge].
func EncodeFile(id uuid.UUID, sets []*Rows) (name string, body []byte, vectors []*action.DeletionVector, err error) {
	body = []byte{formatVersion}
	for _, r := range sets {
		data, err := encode(r)
		if err != nil {
			return "", nil, nil, err
		}
		offset := int32(len(body)) //nolint:gosec // below maxFileBytes
		if len(body)+len(data) > maxFileBytes {
			return "", nil, nil, action.ErrTooLarge
		}
		body = binary.BigEndian.AppendUint32(body, uint32(len(data))) //nolint:gosec // at most MaxBytes
		body = append(body, data...)
		body = binary.BigEndian.AppendUint32(body, crc32.ChecksumIEEE(data))
		vectors = append(vectors, &action.DeletionVector{
			StorageType: relative, PathOrInlineDV: encodeZ85(id[:]), Offset: &offset,
			SizeInBytes: int32(len(data)), Cardinality: r.Count(), //nolint:gosec // at most MaxBytes
		})
	}
	return objectName(id), body, vectors, nil
}

// FileRange returns the part of the file that [DecodeFile] needs. Errors:
// [action.ErrTooLarge].
func FileRange(d *action.DeletionVector) (offset, length int64, err error) {
	if d.SizeInBytes > MaxBytes {
		return 0, 0, action.ErrTooLarge
	}
	offset = 1
	if d.Offset != nil {
		offset = int64(*d.Offset)
	}
	if offset < 1 {
		return 0, 0, malformed("offset")
	}
	return offset, int64(d.SizeInBytes) + frameBytes, nil
}

// DecodeFile decodes a set from the part of its file that [FileRange] returns. Errors:
// [action.ErrMalformed], [action.ErrTooLarge].
func DecodeFile(d *action.DeletionVector, part []byte) (*Rows, error) {
	size := int(d.SizeInBytes)
	if len(part) != size+frameBytes {
		return nil, malformed("file ends early")
	}
	if binary.BigEndian.Uint32(part) != uint32(size) { //nolint:gosec // not negative
		return nil, malformed("size")
	}
	data := part[4 : 4+size]
	if binary.BigEndian.Uint32(part[4+size:]) != crc32.ChecksumIEEE(data) {
		return nil, malformed("checksum")
	}
	r, err := decode(data)
	if err != nil {
		return nil, err
	}
	return r, r.matches(d)
}
