package native

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
)

// clearNulls zeroes the value slots of NULLs. DuckDB copies its vectors into a batch
// regardless of validity, so the slot of a NULL holds arbitrary memory: values of other rows
// or statements, and addresses. Readers ignore the slot, but the bytes travel in the Arrow
// stream. The batch must not be shared yet.
func clearNulls(batch arrow.RecordBatch) {
	for _, column := range batch.Columns() {
		clearNullSlots(column.Data())
	}
}

func clearNullSlots(data arrow.ArrayData) {
	if buffers := data.Buffers(); data.NullN() != 0 && len(buffers) == 2 && buffers[0] != nil && buffers[1] != nil {
		if fixed, ok := data.DataType().(arrow.FixedWidthDataType); ok {
			clearSlots(buffers[1].Bytes(), buffers[0].Bytes(), data.Offset(), data.Len(), fixed.BitWidth())
		}
	}
	for _, child := range data.Children() {
		clearNullSlots(child)
	}
}

// clearSlots zeroes the slots of width bits at offset … offset+n whose bit in
// valid is not set.
func clearSlots(values, valid []byte, offset, n, width int) {
	for at := offset; at < offset+n; {
		if at%8 == 0 && valid[at/8] == 0xff {
			at += 8
			continue
		}
		end := min(offset+n, at-at%8+8)
		// nulls are the bits of the current byte, from at to end, whose values are NULL.
		nulls := ^valid[at/8] & (0xff << (at % 8)) & (0xff >> ((8 - end%8) % 8))
		if width == 1 {
			values[at/8] &^= nulls
		}
		for width > 1 && nulls != 0 {
			slot := at - at%8 + bits.TrailingZeros8(nulls)
			clear(values[slot*width/8 : (slot+1)*width/8])
			nulls &= nulls - 1
		}
		at = end
	}
}
