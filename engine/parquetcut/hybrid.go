package parquetcut

import (
	"encoding/binary"
	"fmt"
)

// maxRun keeps the length of a run of a hostile page from overflowing.
const maxRun = 1 << 30

// readHybrid reads n values of up to 32 bits in the encoding that levels and indices
// of dictionaries have (Encodings.md, "Run Length Encoding / Bit-Packing Hybrid").
// Values after the n-th are left alone.
func readHybrid(b []byte, width, n int) ([]uint32, error) {
	if width < 0 || width > 32 {
		return nil, fmt.Errorf("%w: values of %d bits", ErrNotCut, width)
	}
	out := make([]uint32, 0, n)
	for len(out) < n {
		header, used := binary.Uvarint(b)
		if used <= 0 || header>>1 > maxRun {
			return nil, fmt.Errorf("%w: a run without a length", ErrNotCut)
		}
		b = b[used:]
		if header&1 == 0 {
			size := (width + 7) / 8
			if len(b) < size || header == 0 {
				return nil, fmt.Errorf("%w: a run is cut off", ErrNotCut)
			}
			var raw [4]byte
			copy(raw[:], b[:size])
			b = b[size:]
			value := binary.LittleEndian.Uint32(raw[:])
			if uint64(value)>>width != 0 {
				return nil, fmt.Errorf("%w: a value of more than %d bits", ErrNotCut, width)
			}
			for range min(int(header>>1), n-len(out)) {
				out = append(out, value)
			}
			continue
		}
		packed := int(header>>1) * width // bytes: groups have eight values
		if len(b) < packed {
			// The last group may end with the last value.
			if need := ((n-len(out))*width + 7) / 8; len(b) < need {
				return nil, fmt.Errorf("%w: packed values are cut off", ErrNotCut)
			}
			packed = len(b)
		}
		count := min(int(header>>1)*8, n-len(out))
		out = unpack(out, b[:packed], width, count)
		b = b[packed:]
	}
	return out, nil
}

// unpack appends n values of some bits each, the lowest bits first.
func unpack(out []uint32, b []byte, width, n int) []uint32 {
	var bits uint64
	have, at, mask := 0, 0, uint64(1)<<width-1
	for range n {
		for have < width {
			bits |= uint64(b[at]) << have
			at++
			have += 8
		}
		out = append(out, uint32(bits&mask)) //nolint:gosec // masked
		bits >>= width
		have -= width
	}
	return out
}

// appendHybrid writes values: those that repeat as runs, the others packed.
func appendHybrid(out []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		if n := repeats(values); n >= 8 || n == len(values) {
			out = binary.AppendUvarint(out, uint64(n)<<1) //nolint:gosec // a length
			var raw [4]byte
			binary.LittleEndian.PutUint32(raw[:], values[0])
			out = append(out, raw[:(width+7)/8]...)
			values = values[n:]
			continue
		}
		n := 0
		for n < len(values) && (n == 0 || repeats(values[n:]) < 8) {
			n += 8
		}
		out = binary.AppendUvarint(out, uint64(n/8)<<1|1) //nolint:gosec // a length
		out = pack(out, values[:min(n, len(values))], n, width)
		values = values[min(n, len(values)):]
	}
	return out
}

// repeats is how often the first value stands at the front.
func repeats(values []uint32) int {
	for i, v := range values {
		if v != values[0] {
			return i
		}
	}
	return len(values)
}

// pack appends n values; those that are missing are 0.
func pack(out []byte, values []uint32, n, width int) []byte {
	var bits uint64
	have := 0
	for i := range n {
		if i < len(values) {
			bits |= uint64(values[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}
