package datafile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
)

func TestFloatingPointIsFoundWhereverItIs(t *testing.T) {
	of := func(types ...delta.DataType) delta.Struct {
		var s delta.Struct
		for _, typ := range types {
			s.Fields = append(s.Fields, delta.Field{Name: "f", Type: typ})
		}
		return s
	}
	exact := of(delta.Long, delta.String, delta.Timestamp, delta.Decimal{Precision: 38, Scale: 2}, delta.Array{Element: delta.Date})
	require.False(t, hasFloats(exact))
	for _, inexact := range []delta.DataType{
		delta.Double, delta.Float, delta.Array{Element: of(delta.Float)}, delta.Map{Key: delta.Double, Value: delta.Long},
		delta.Map{Key: delta.Long, Value: of(delta.Long, delta.Double)},
	} {
		require.True(t, hasFloats(of(exact, inexact)), "%v", inexact)
	}
}
