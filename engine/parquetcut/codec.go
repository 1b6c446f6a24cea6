package parquetcut

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Values of the format's CompressionCodec.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
)

// cutCodecs are those whose pages can be cut.
var cutCodecs = []int64{codecNone, codecSnappy, codecGzip, codecZstd}

// The coders are safe for concurrent use.
var (
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderLowmem(true))
	})
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithAllLitEntropyCompression(true)) // texts that repeat nothing, but few characters
	})
)

// decompress returns exactly n bytes.
func decompress(codec int64, body []byte, n int) ([]byte, error) {
	out, err := decompressed(codec, body, n)
	if err != nil || len(out) != n {
		return nil, fmt.Errorf("%w: a page that cannot be decompressed", errors.Join(ErrNotCut, err))
	}
	return out, nil
}

func decompressed(codec int64, body []byte, n int) ([]byte, error) {
	switch codec {
	case codecNone:
		return body, nil
	case codecSnappy:
		if claimed, err := s2.DecodedLen(body); err != nil || claimed != n {
			return nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
		return s2.Decode(make([]byte, n), body)
	case codecGzip:
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, int64(n)+1))
	case codecZstd:
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		return d.DecodeAll(body, make([]byte, 0, n))
	}
	return nil, ErrNotCut
}

// compress makes the body of a page; stored is for files that are read once, where
// compressing takes longer than it spares.
func compress(codec int64, raw []byte, stored bool) ([]byte, error) {
	switch codec {
	case codecNone:
		return slices.Clone(raw), nil
	case codecSnappy:
		return s2.EncodeSnappy(nil, raw), nil
	case codecGzip:
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(raw)
		err = errors.Join(err, w.Close())
		return out.Bytes(), err
	case codecZstd:
		if stored {
			return storedZstd(raw), nil
		}
		e, err := zstdEncoder()
		if err != nil {
			return nil, err
		}
		return e.EncodeAll(raw, nil), nil
	}
	return nil, ErrNotCut
}

// storedZstd is a frame of raw blocks (RFC 8878, sections 3.1.1.1 and 3.1.1.2).
func storedZstd(raw []byte) []byte {
	const singleSegment, fourByteSize, maxBlock = 1 << 5, 2 << 6, 128 << 10
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(raw)+3*(len(raw)/maxBlock+1)+9), 0xFD2FB528)
	out = binary.LittleEndian.AppendUint32(append(out, singleSegment|fourByteSize), uint32(len(raw))) //nolint:gosec // of one page
	for last := 0; last == 0; {
		block := raw[:min(len(raw), maxBlock)]
		if raw = raw[len(block):]; len(raw) == 0 {
			last = 1
		}
		header := len(block)<<3 | last
		out = append(append(out, byte(header), byte(header>>8), byte(header>>16)), block...) //nolint:gosec // 24 bits
	}
	return out
}
