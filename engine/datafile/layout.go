package datafile

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// defaultTargetBytes is what delta-rs takes too.
const defaultTargetBytes = 100 << 20

// TargetBytes is the size of files that a table asks for, or 100 MiB.
func TargetBytes(snap *delta.Snapshot) int64 {
	if n, ok := snap.TargetFileSize(); ok {
		return n
	}
	return defaultTargetBytes
}

// Codec is the compression that a table asks for, in the words of
// engine.FileLayout; without a wish that we can fulfil it is zstd.
func Codec(snap *delta.Snapshot) string {
	if codec, ok := snap.Codec(); ok {
		return codec
	}
	return "zstd"
}

// Layout is how a table has the values in its files: without floating-point numbers
// they may have the delta encodings of Parquet.
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
	return true // nobody knows
}
