package arrowbody

import (
	"encoding/binary"
	"errors"
)

// errFlatbuffer is metadata that points outside of itself.
var errFlatbuffer = errors.New("metadata points outside of itself")

// flatTable is a table in a flatbuffer that nobody has checked: every access
// checks its own bounds. Offsets may form cycles and share what they point to, so
// whoever walks over tables bounds depth and number.
type flatTable struct {
	b   []byte
	pos int
}

// flatRoot is the table that a buffer begins with.
func flatRoot(b []byte) (flatTable, error) {
	return flatTable{b: b}.at(0)
}

// u32 reads four bytes.
func (t flatTable) u32(at int) (int, error) {
	if at < 0 || at+4 > len(t.b) {
		return 0, errFlatbuffer
	}
	return int(binary.LittleEndian.Uint32(t.b[at:])), nil
}

// at follows the offset that stands at a place to a table.
func (t flatTable) at(place int) (flatTable, error) {
	offset, err := t.u32(place)
	if err != nil {
		return t, err
	}
	pos := place + offset
	if _, err := t.u32(pos); err != nil {
		return t, err
	}
	return flatTable{b: t.b, pos: pos}, nil
}

// slot is where a field of the table stands, or 0 if the table lacks it. The
// field is size bytes long.
func (t flatTable) slot(field, size int) (int, error) {
	back, err := t.u32(t.pos)
	if err != nil {
		return 0, err
	}
	vtable := t.pos - int(int32(uint32(back)))
	if vtable < 0 || vtable+4 > len(t.b) {
		return 0, errFlatbuffer
	}
	length := int(binary.LittleEndian.Uint16(t.b[vtable:]))
	entry := 4 + 2*field
	if entry >= length {
		return 0, nil
	}
	if vtable+entry+2 > len(t.b) {
		return 0, errFlatbuffer
	}
	offset := int(binary.LittleEndian.Uint16(t.b[vtable+entry:]))
	if offset == 0 {
		return 0, nil
	}
	if t.pos+offset+size > len(t.b) {
		return 0, errFlatbuffer
	}
	return t.pos + offset, nil
}

// byteField reads a field of one byte.
func (t flatTable) byteField(field int) (byte, error) {
	at, err := t.slot(field, 1)
	if err != nil || at == 0 {
		return 0, err
	}
	return t.b[at], nil
}

// int64Field reads a field of eight bytes.
func (t flatTable) int64Field(field int) (int64, error) {
	at, err := t.slot(field, 8)
	if err != nil || at == 0 {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(t.b[at:])), nil
}

// int16Field reads a field of two bytes.
func (t flatTable) int16Field(field int) (int16, error) {
	at, err := t.slot(field, 2)
	if err != nil || at == 0 {
		return 0, err
	}
	return int16(binary.LittleEndian.Uint16(t.b[at:])), nil
}

// table reads a field that points to a table.
func (t flatTable) table(field int) (flatTable, bool, error) {
	at, err := t.slot(field, 4)
	if err != nil || at == 0 {
		return t, false, err
	}
	sub, err := t.at(at)
	return sub, err == nil, err
}

// flatVector is a vector within its buffer.
type flatVector struct {
	b                   []byte
	start, n, elemBytes int
}

// vector reads a field that points to a vector, or to a string.
func (t flatTable) vector(field, elemBytes int) (flatVector, error) {
	at, err := t.slot(field, 4)
	if err != nil || at == 0 {
		return flatVector{}, err
	}
	offset, err := t.u32(at)
	if err != nil {
		return flatVector{}, err
	}
	n, err := t.u32(at + offset)
	if err != nil {
		return flatVector{}, err
	}
	start := at + offset + 4
	if n > (len(t.b)-start)/elemBytes {
		return flatVector{}, errFlatbuffer
	}
	return flatVector{b: t.b, start: start, n: n, elemBytes: elemBytes}, nil
}

// table is an element that is a table.
func (v flatVector) table(i int) (flatTable, error) {
	return flatTable{b: v.b}.at(v.start + i*v.elemBytes)
}

// number is an element that is a 64-bit number.
func (v flatVector) number(i int) int64 {
	return int64(binary.LittleEndian.Uint64(v.b[v.start+i*v.elemBytes:]))
}

// pair is an element that is a struct of two 64-bit numbers.
func (v flatVector) pair(i int) (int64, int64) {
	at := v.start + i*v.elemBytes
	return int64(binary.LittleEndian.Uint64(v.b[at:])), int64(binary.LittleEndian.Uint64(v.b[at+8:]))
}
