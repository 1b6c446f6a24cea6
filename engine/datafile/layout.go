package datafile

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// defaultTargetBytes is also the default of delta-rs.
const defaultTargetBytes = 100 << 20

// TargetBytes returns the file size that the table's properties ask for, or 100
// MiB.
func TargetBytes(snap *delta.Snapshot) int64 {
	if n, ok := snap.TargetFileSize(); ok {
		return n
	}
	return defaultTargetBytes
}

// Codec returns the compression that the table's properties ask for, as
// [engine.FileLayout] names it, or zstd if they name none or one that is not
// supported.
func Codec(snap *delta.Snapshot) string {
	if codec, ok := snap.Codec(); ok {
		return codec
	}
	return "zstd"
}

// Layout returns the layout of the table's files. Delta encodings of Parquet are
// allowed only if no column has floating-point numbers.
func Layout(snap *delta.Snapshot) engine.FileLayout {
	exact := !hasFloats(delta.Struct{Fields: snap.Schema().Fields})
	return engine.FileLayout{Codec: Codec(snap), NoFloats: exact, DeltaEncoding: exact}
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
	return true // unknown
}
