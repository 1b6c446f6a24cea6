package variant

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestVariantTextOfEveryType expects the text of a value of every type.
func TestVariantTextOfEveryType(t *testing.T) {
	const micros, nanos = 1700000000123456, 1700000000123456789
	high := decimal128.New(-1, math.MaxUint64-4) // -5
	for want, write := range map[string]func(b *variant.Builder) error{
		`null`:                              func(b *variant.Builder) error { return b.AppendNull() },
		`true`:                              func(b *variant.Builder) error { return b.AppendBool(true) },
		`false`:                             func(b *variant.Builder) error { return b.AppendBool(false) },
		`-128`:                              func(b *variant.Builder) error { return b.AppendInt(-128) },
		`-32768`:                            func(b *variant.Builder) error { return b.AppendInt(-32768) },
		`2147483647`:                        func(b *variant.Builder) error { return b.AppendInt(math.MaxInt32) },
		`-9223372036854775808`:              func(b *variant.Builder) error { return b.AppendInt(math.MinInt64) },
		`0.1`:                               func(b *variant.Builder) error { return b.AppendFloat32(0.1) },
		`-1e-300`:                           func(b *variant.Builder) error { return b.AppendFloat64(-1e-300) },
		`1e+300`:                            func(b *variant.Builder) error { return b.AppendFloat64(1e300) },
		`"NaN"`:                             func(b *variant.Builder) error { return b.AppendFloat64(math.NaN()) },
		`"Infinity"`:                        func(b *variant.Builder) error { return b.AppendFloat32(float32(math.Inf(1))) },
		`"-Infinity"`:                       func(b *variant.Builder) error { return b.AppendFloat64(math.Inf(-1)) },
		`0.00001`:                           func(b *variant.Builder) error { return b.AppendDecimal4(5, decimal.Decimal32(1)) },
		`-0.5`:                              func(b *variant.Builder) error { return b.AppendDecimal4(1, decimal.Decimal32(-5)) },
		`0`:                                 func(b *variant.Builder) error { return b.AppendDecimal4(2, decimal.Decimal32(0)) },
		`12.3`:                              func(b *variant.Builder) error { return b.AppendDecimal8(4, decimal.Decimal64(123000)) },
		`-5`:                                func(b *variant.Builder) error { return b.AppendDecimal16(0, high) },
		`-0.000000000000000000000000000005`: func(b *variant.Builder) error { return b.AppendDecimal16(30, high) },
		`"2022-01-08"`:                      func(b *variant.Builder) error { return b.AppendDate(19000) },
		`"-3506-03-09"`:                     func(b *variant.Builder) error { return b.AppendDate(-2000000) },
		`"+56728-02-22"`:                    func(b *variant.Builder) error { return b.AppendDate(20000000) },
		`"2023-11-14T22:13:20.123456Z"`:     func(b *variant.Builder) error { return b.AppendTimestamp(micros, true, true) },
		`"2023-11-14T22:13:20.123456"`:      func(b *variant.Builder) error { return b.AppendTimestamp(micros, true, false) },
		`"2023-11-14T22:13:20.123456789Z"`:  func(b *variant.Builder) error { return b.AppendTimestamp(nanos, false, true) },
		`"2023-11-14T22:13:20.123456789"`:   func(b *variant.Builder) error { return b.AppendTimestamp(nanos, false, false) },
		`"01:01:01.000001"`:                 func(b *variant.Builder) error { return b.AppendTimeMicro(arrow.Time64(3661000001)) },
		`"/wA="`:                            func(b *variant.Builder) error { return b.AppendBinary([]byte{0xff, 0}) },
		`""`:                                func(b *variant.Builder) error { return b.AppendBinary(nil) },
		`"a\"b\\ü\n<\u0000"`:                func(b *variant.Builder) error { return b.AppendString("a\"b\\ü\n<\x00") },
		`"` + strings.Repeat("x", 80) + `"`: func(b *variant.Builder) error { return b.AppendString(strings.Repeat("x", 80)) },
		`"00112233-4455-6677-8899-aabbccddeeff"`: func(b *variant.Builder) error {
			return b.AppendUUID(uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"))
		},
	} {
		var b variant.Builder
		require.NoError(t, write(&b), want)
		v, err := b.Build()
		require.NoError(t, err, want)
		got, err := new(variantText).appendJSON(nil, v.Metadata().Bytes(), v.Bytes())
		require.NoError(t, err, want)
		require.Equal(t, want, string(got))
		require.True(t, json.Valid(got), want)
	}
}

// TestVariantTextIsTheDocument draws documents, encodes them with another implementation
// and decodes them to the same documents.
func TestVariantTextIsTheDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := drawDocument(t, 4)
		text, err := json.Marshal(document)
		require.NoError(t, err)
		v, err := variant.ParseJSON(string(text), false)
		require.NoError(t, err)
		got, err := new(variantText).appendJSON(nil, v.Metadata().Bytes(), v.Bytes())
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(got))
	})
}

func drawDocument(t *rapid.T, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int32().Draw(t, "int")
	case 3:
		return rapid.Float64().Draw(t, "float")
	case 4:
		return rapid.String().Draw(t, "text")
	case 5:
		list := make([]any, rapid.IntRange(0, 5).Draw(t, "len"))
		for i := range list {
			list[i] = drawDocument(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 5).Draw(t, "len") {
		object[rapid.String().Draw(t, "key")] = drawDocument(t, depth-1)
	}
	return object
}

// TestTextOfVariantsWithSharedValuesIsBounded decodes variants in which many offsets lead
// to one value, which could make a text exponentially longer than the variant.
func TestTextOfVariantsWithSharedValuesIsBounded(t *testing.T) {
	value := []byte{0}
	for range 12 {
		// Ten elements, each at offset 0.
		array := append([]byte{basicArray, 10}, make([]byte, 11)...)
		value = append(array, value...)
	}
	_, err := new(variantText).appendJSON(nil, []byte{1, 0, 0}, value)
	require.ErrorIs(t, err, errVariant)

	// A text of 60 bytes, once and 200 times.
	text := append([]byte{60<<2 | basicShortString}, strings.Repeat("\x01", 60)...)
	for n, want := range map[int]error{1: nil, 200: errVariant} {
		value = append([]byte{basicArray, byte(n)}, make([]byte, n+1)...)
		_, err = new(variantText).appendJSON(nil, []byte{1, 0, 0}, append(value, text...))
		require.ErrorIs(t, err, want, n)
	}
}

// TestDeepVariants nests arrays as deep as Spark's parser of JSON does, and deeper.
func TestDeepVariants(t *testing.T) {
	for depth, want := range map[int]error{maxVariantDepth: nil, maxVariantDepth + 1: errVariant} {
		value := []byte{0}
		for range depth {
			value = append([]byte{basicArray | 3<<2, 1, 0, 0, 0, 0, 0, 0, 0, 0}, value...) // of one element, with offsets of four bytes
		}
		text, err := new(variantText).appendJSON(nil, []byte{1, 0, 0}, value)
		require.ErrorIs(t, err, want, depth)
		if want == nil {
			require.Equal(t, strings.Repeat("[", depth)+"null"+strings.Repeat("]", depth), string(text))
		}
	}
}

func FuzzVariantText(f *testing.F) {
	for _, text := range []string{`{"a":1,"b":[null,true,"x",1.5],"":{}}`, `[]`, `"x"`} {
		v, err := variant.ParseJSON(text, false)
		require.NoError(f, err)
		f.Add(v.Metadata().Bytes(), v.Bytes())
	}
	f.Fuzz(func(t *testing.T, metadata, value []byte) {
		_, _, _ = new(variantText).unwrap(metadata, value)
		if text, err := new(variantText).appendJSON(nil, metadata, value); err == nil {
			require.True(t, json.Valid(text), "%q", text)
		}
	})
}
