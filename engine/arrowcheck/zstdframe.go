package arrowcheck

import "encoding/binary"

// maxZstdWindow is the largest window of the standard levels up to 19.
const maxZstdWindow = 8 << 20

// checkZstd walks over a Zstandard frame, RFC 8878, without decoding it. A decoder allocates
// the window that a frame claims, for each frame; so there may be one frame with a bounded
// window.
func checkZstd(b []byte, limit int64) error {
	if len(b) < 5 || binary.LittleEndian.Uint32(b) != 0xFD2FB528 {
		return errCompression
	}
	descriptor := b[4]
	single := descriptor&(1<<5) != 0
	dictionary := []int{0, 1, 2, 4}[descriptor&3]
	sizeBytes := []int{0, 2, 4, 8}[descriptor>>6]
	if single && sizeBytes == 0 {
		sizeBytes = 1
	}
	at := 5
	if !single {
		if len(b) < at+1 {
			return errCompression
		}
		base := uint64(1) << (10 + b[at]>>3)
		if base+base/8*uint64(b[at]&7) > maxZstdWindow {
			return ErrTooLarge
		}
		at++
	}
	at += dictionary
	if len(b) < at+sizeBytes {
		return errCompression
	}
	if single {
		var raw [8]byte
		copy(raw[:], b[at:at+sizeBytes])
		size := binary.LittleEndian.Uint64(raw[:])
		if sizeBytes == 2 {
			size += 256
		}
		if size > uint64(limit) {
			return ErrTooLarge
		}
	}
	at += sizeBytes
	return checkZstdBlocks(b, at, descriptor&(1<<2) != 0)
}

// checkZstdBlocks checks that the blocks end where the data does.
func checkZstdBlocks(b []byte, at int, checksum bool) error {
	for last := false; !last; {
		if len(b) < at+3 {
			return errCompression
		}
		header := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		last = header&1 != 0
		length := header >> 3
		if header>>1&3 == 1 {
			length = 1 // one byte, repeated
		}
		at += 3 + length
	}
	if checksum {
		at += 4
	}
	if at != len(b) {
		return errCompression
	}
	return nil
}
