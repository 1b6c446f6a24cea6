package variant

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// errVariant reports bytes that are not a variant.
var errVariant = errors.New("malformed variant")

// Limits of a variant's nesting, which is what Spark's JSON parser accepts, and of its text in
// bytes. They prevent crafted files from exhausting the process's memory.
const (
	maxVariantDepth = 1000
	maxVariantText  = 64 << 20
)

// maxTextPerByte is the maximum ratio of the length of the JSON of a value without members to that
// of the value: a control character has six bytes.
const maxTextPerByte = 6

// variantText decodes variants (Parquet, "Variant Binary Encoding") to JSON. Its zero value is
// ready to use.
type variantText struct {
	keys []string
	// room is the remaining number of bytes that values may have. Each value has its own bytes
	// unless several offsets refer to the same value.
	room int
}

// appendJSON appends the value as JSON. Values without a JSON form become strings: bytes
// in base64, dates and times as in ISO 8601, NaN and the infinities by name.
func (v *variantText) appendJSON(dst, metadata, value []byte) ([]byte, error) {
	if err := v.readKeys(metadata); err != nil {
		return nil, err
	}
	v.room = len(value)
	return v.value(dst, value, 0)
}

// isVariantNull reports whether the value is a JSON null.
func isVariantNull(value []byte) bool { return len(value) == 1 && value[0] == 0 }

// readKeys reads the metadata: the dictionary of the names of members.
func (v *variantText) readKeys(metadata []byte) error {
	v.keys = v.keys[:0]
	if len(metadata) == 0 || metadata[0]&0x0f != 1 {
		return errVariant
	}
	width := int(metadata[0]>>6) + 1
	n, rest, ok := takeUint(metadata[1:], width)
	if !ok || n > len(rest)/width {
		return errVariant
	}
	if (n+1)*width > len(rest) {
		return errVariant
	}
	offsets, text := rest[:(n+1)*width], rest[(n+1)*width:]
	for i := range n {
		from, to := littleEndian(offsets[i*width:], width), littleEndian(offsets[(i+1)*width:], width)
		if from > to || to > len(text) {
			return errVariant
		}
		v.keys = append(v.keys, string(text[from:to]))
	}
	return nil
}

// The basic types, in the lowest two bits of a value.
const (
	basicPrimitive = iota
	basicShortString
	basicObject
	basicArray
)

func (v *variantText) value(dst, value []byte, depth int) ([]byte, error) {
	if v.room--; v.room < 0 || len(value) == 0 || depth > maxVariantDepth || len(dst) > maxVariantText {
		return nil, errVariant
	}
	header, rest := value[0]>>2, value[1:]
	switch value[0] & 3 {
	case basicObject:
		return v.object(dst, header, rest, depth)
	case basicArray:
		return v.array(dst, header, rest, depth)
	}
	out, err := scalar(dst, value[0]&3, header, rest)
	v.room -= (len(out) - len(dst)) / maxTextPerByte
	return out, err
}

// scalar appends a value without members.
func scalar(dst []byte, basic, header byte, rest []byte) ([]byte, error) {
	if basic != basicShortString {
		return primitive(dst, header, rest)
	}
	if int(header) > len(rest) {
		return nil, errVariant
	}
	return appendText(dst, rest[:header]), nil
}

func (v *variantText) object(dst []byte, header byte, rest []byte, depth int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	err := v.members(header, rest, func(key string, value []byte) (err error) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst, err = v.value(append(appendText(dst, []byte(key)), ':'), value, depth+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// members calls visit with the members of an object. The bytes of a value may extend beyond its
// end, which its content determines.
func (v *variantText) members(header byte, rest []byte, visit func(key string, value []byte) error) error {
	offsetWidth, idWidth := int(header&3)+1, int(header>>2&3)+1
	n, rest, ok := takeUint(rest, countWidth(header>>4&1))
	if !ok || n > len(rest) || n*idWidth+(n+1)*offsetWidth > len(rest) {
		return errVariant
	}
	ids, offsets, values := rest[:n*idWidth], rest[n*idWidth:n*idWidth+(n+1)*offsetWidth], rest[n*idWidth+(n+1)*offsetWidth:]
	for i := range n {
		id, at := littleEndian(ids[i*idWidth:], idWidth), littleEndian(offsets[i*offsetWidth:], offsetWidth)
		if id >= len(v.keys) || at > len(values) {
			return errVariant
		}
		if err := visit(v.keys[id], values[at:]); err != nil {
			return err
		}
	}
	return nil
}

func (v *variantText) array(dst []byte, header byte, rest []byte, depth int) ([]byte, error) {
	width := int(header&3) + 1
	n, rest, ok := takeUint(rest, countWidth(header>>2&1))
	if !ok || n > len(rest) || (n+1)*width > len(rest) {
		return nil, errVariant
	}
	offsets, values := rest[:(n+1)*width], rest[(n+1)*width:]
	dst = append(dst, '[')
	for i := range n {
		at := littleEndian(offsets[i*width:], width)
		if at > len(values) {
			return nil, errVariant
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = v.value(dst, values[at:], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// countWidth returns the width, in bytes, of the number of elements of an array or object.
func countWidth(large byte) int {
	if large == 1 {
		return 4
	}
	return 1
}

// The layouts of dates and times, without the year: see [appendTime].
const (
	layoutDate      = "-01-02"
	layoutTimestamp = "-01-02T15:04:05.999999999"
	layoutTime      = "15:04:05.999999"
)

// primitiveBytes holds the lengths of the values of the primitive types, by their numbers;
// -1 for types whose values contain their length.
var primitiveBytes = []int{0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, -1, -1, 8, 8, 8, 16}

// The numbers of the primitive types whose values contain their length.
const (
	kindBinary = 15
	kindString = 16
)

func primitive(dst []byte, kind byte, rest []byte) ([]byte, error) {
	if int(kind) >= len(primitiveBytes) || len(rest) < primitiveBytes[kind] {
		return nil, errVariant
	}
	n := func(width int) int64 { return signed(rest, width) }
	switch kind {
	case 0:
		return append(dst, "null"...), nil
	case 1:
		return append(dst, "true"...), nil
	case 2:
		return append(dst, "false"...), nil
	case 3, 4, 5, 6:
		return strconv.AppendInt(dst, n(primitiveBytes[kind]), 10), nil
	case 7:
		return sqltype.AppendFloat(dst, math.Float64frombits(uint64(n(8))), 64), nil
	case 8, 9, 10:
		return appendDecimal(dst, rest[1:primitiveBytes[kind]], int(rest[0]))
	case 11:
		return appendTime(dst, time.Unix(n(4)*24*60*60, 0), layoutDate), nil
	case 12:
		return appendTime(dst, time.UnixMicro(n(8)), layoutTimestamp+"Z"), nil
	case 13:
		return appendTime(dst, time.UnixMicro(n(8)), layoutTimestamp), nil
	case 14:
		return sqltype.AppendFloat(dst, float64(math.Float32frombits(uint32(n(4)))), 32), nil
	case 17:
		return append(time.UnixMicro(n(8)).UTC().AppendFormat(append(dst, '"'), layoutTime), '"'), nil
	case 18:
		return appendTime(dst, time.Unix(0, n(8)), layoutTimestamp+"Z"), nil
	case 19:
		return appendTime(dst, time.Unix(0, n(8)), layoutTimestamp), nil
	case 20:
		return appendUUID(dst, rest[:16]), nil
	}
	length, data, ok := takeUint(rest, 4)
	if !ok || length > len(data) {
		return nil, errVariant
	}
	if kind == kindString {
		return appendText(dst, data[:length]), nil
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), data[:length]), '"'), nil
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst, text []byte) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(string(text), "\uFFFD")) // fails only for invalid UTF-8
	return dst
}

// appendDecimal appends a number without trailing zeros of its fraction: they are not part
// of the value, and other writers drop them.
func appendDecimal(dst, unscaled []byte, scale int) ([]byte, error) {
	if scale > 38 {
		return nil, errVariant
	}
	bigEndian := slices.Clone(unscaled)
	slices.Reverse(bigEndian)
	text := sqltype.FormatDecimal(sqltype.FromBigEndian(bigEndian), scale)
	if scale > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return append(dst, text...), nil
}

// appendTime appends a quoted time: the year, with a sign beyond four digits as in ISO
// 8601, and the time in the layout.
func appendTime(dst []byte, t time.Time, layout string) []byte {
	t = t.UTC()
	dst = append(dst, '"')
	year := t.Year()
	switch {
	case year < 0:
		dst, year = append(dst, '-'), -year
	case year > 9999:
		dst = append(dst, '+')
	}
	text := strconv.Itoa(year)
	dst = append(dst, "0000"[:max(0, 4-len(text))]...)
	dst = append(dst, text...)
	return append(t.AppendFormat(dst, layout), '"')
}

func appendUUID(dst, id []byte) []byte {
	dst = append(dst, '"')
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, []byte{b})
	}
	return append(dst, '"')
}

// takeUint decodes a number of width bytes and returns the bytes after it.
func takeUint(from []byte, width int) (n int, rest []byte, ok bool) {
	if len(from) < width {
		return 0, nil, false
	}
	return littleEndian(from, width), from[width:], true
}

// littleEndian decodes a number of 1 to 4 bytes.
func littleEndian(from []byte, width int) int {
	var padded [4]byte
	copy(padded[:], from[:width])
	return int(binary.LittleEndian.Uint32(padded[:]))
}

// signed decodes a number of 1, 2, 4 or 8 bytes.
func signed(from []byte, width int) int64 {
	var padded [8]byte
	copy(padded[:], from[:width])
	shift := 64 - 8*width
	return int64(binary.LittleEndian.Uint64(padded[:])<<shift) >> shift
}

// unwrap returns the parts of a variant that a file does not mark as one. The engine has read it as
// a struct and converted that to a variant: an object with the members metadata and value.
func (v *variantText) unwrap(metadata, value []byte) (innerMetadata, innerValue []byte, err error) {
	if err := v.readKeys(metadata); err != nil {
		return nil, nil, err
	}
	if len(value) == 0 || value[0]&3 != basicObject {
		return nil, nil, errVariant
	}
	parts := map[string][]byte{}
	err = v.members(value[0]>>2, value[1:], func(key string, value []byte) error {
		if len(value) == 0 || value[0]&3 != basicPrimitive || value[0]>>2 != kindBinary {
			return errVariant
		}
		length, data, ok := takeUint(value[1:], 4)
		if !ok || length > len(data) {
			return errVariant
		}
		parts[key] = data[:length]
		return nil
	})
	return parts["metadata"], parts["value"], err
}
