package arrowcheck

import (
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"
)

// flatTable is a table in an unchecked flatbuffer, read as the Arrow library reads it.
// Offsets may form cycles and share what they point to, so a walk over tables bounds
// depth and number.
type flatTable struct{ flatbuffers.Table }

// flatRoot returns the table that a buffer begins with.
func flatRoot(b []byte) flatTable {
	return flatTable{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

// slot returns the place of a field in the table's index.
func slot(field int) flatbuffers.VOffsetT { return flatbuffers.VOffsetT(4 + 2*field) }

// The values of scalar fields; 0 if the table lacks the field.
func (t flatTable) byteField(field int) byte   { return t.GetByteSlot(slot(field), 0) }
func (t flatTable) int16Field(field int) int16 { return t.GetInt16Slot(slot(field), 0) }
func (t flatTable) int64Field(field int) int64 { return t.GetInt64Slot(slot(field), 0) }

// table returns the table that a field points to, if the table has the field.
func (t flatTable) table(field int) (flatTable, bool) {
	offset := flatbuffers.UOffsetT(t.Offset(slot(field)))
	if offset == 0 {
		return t, false
	}
	return flatTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + offset)}}, true
}

// flatVector is a vector within its buffer.
type flatVector struct {
	table       flatTable
	elements    []byte
	start       flatbuffers.UOffsetT
	n, elemSize int
}

// vector returns the vector, or string, that a field points to; it is empty if the table
// lacks the field.
func (t flatTable) vector(field, elemSize int) flatVector {
	offset := flatbuffers.UOffsetT(t.Offset(slot(field)))
	if offset == 0 {
		return flatVector{}
	}
	v := flatVector{table: t, start: t.Vector(offset), n: t.VectorLen(offset), elemSize: elemSize}
	v.elements = t.Bytes[v.start:][:v.n*elemSize]
	return v
}

// tableAt returns an element that is a table.
func (v flatVector) tableAt(i int) flatTable {
	at := v.start + flatbuffers.UOffsetT(i*v.elemSize)
	return flatTable{flatbuffers.Table{Bytes: v.table.Bytes, Pos: v.table.Indirect(at)}}
}

// number returns an element that is a 64-bit number.
func (v flatVector) number(i int) int64 {
	return int64(binary.LittleEndian.Uint64(v.elements[i*v.elemSize:]))
}

// pair returns an element that is a struct of two 64-bit numbers.
func (v flatVector) pair(i int) (int64, int64) {
	at := v.elements[i*v.elemSize:]
	return int64(binary.LittleEndian.Uint64(at)), int64(binary.LittleEndian.Uint64(at[8:]))
}
