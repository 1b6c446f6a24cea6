package datafile

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// defaultTargetBytes is what delta-rs takes too.
const defaultTargetBytes = 100 << 20

// TargetBytes is the size of files that a table asks for with
// delta.targetFileSize, as bytes or as a number with a unit (128mb), or 100 MiB.
func TargetBytes(snap *delta.Snapshot) int64 {
	text := strings.ToLower(strings.TrimSpace(snap.Properties()["delta.targetFileSize"]))
	digits := strings.TrimRight(text, "kmgtb ")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40}[strings.TrimSpace(text[len(digits):])]
	if err != nil || !known || n <= 0 || n > math.MaxInt64>>shift {
		return defaultTargetBytes
	}
	return n << shift
}

// Codec is the compression that a table asks for with
// delta.parquet.compression.codec, in the words of engine.FileLayout; without a
// wish that we can fulfil it is zstd.
func Codec(snap *delta.Snapshot) string {
	switch name := strings.ToLower(snap.Properties()["delta.parquet.compression.codec"]); name {
	case "snappy", "gzip", "lz4_raw", "uncompressed":
		return name
	case "none":
		return "uncompressed"
	case "lz4raw", "lz4":
		return "lz4_raw"
	}
	return "zstd"
}

// DeltaEncoding reports whether new files may have the delta encodings of Parquet,
// see engine.FileLayout: no column holds floating-point numbers.
func DeltaEncoding(snap *delta.Snapshot) bool {
	return !hasFloats(delta.Struct{Fields: snap.Schema().Fields})
}

func hasFloats(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Primitive:
		return t == delta.Float || t == delta.Double
	case delta.Decimal:
		return false
	case delta.Array:
		return hasFloats(t.Element)
	case delta.Map:
		return hasFloats(t.Key) || hasFloats(t.Value)
	case delta.Struct:
		return slices.ContainsFunc(t.Fields, func(f delta.Field) bool { return hasFloats(f.Type) })
	}
	return true // nobody knows
}
