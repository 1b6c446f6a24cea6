package staging

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Cells builds the values of a column, or of a part of one.
type Cells struct {
	Typ *DataType
	// Path is the place of the values in problems: address.city, tags[].
	Path string
	// b is the builder of the type.
	b array.Builder
	// Parts are the element, the key and the value, or the members.
	Parts []*Cells
	// names find the members of a struct.
	names Names
	// named holds the turn in which each member was named last; turn counts structs.
	named []uint32
	turn  uint32
	// seen are the keys of the current map, for cells of keys only; twice reports that a key
	// occurred again.
	seen  map[any]bool
	twice bool
	// Width is the memory that one value costs in addition to its text.
	Width int64
}

// newCells makes cells for what b builds.
func newCells(typ *DataType, path string, b array.Builder) *Cells {
	c := &Cells{Typ: typ, Path: path, b: b, Width: 16}
	switch typ.Kind {
	case KindArray:
		c.Parts = []*Cells{newCells(typ.fields[0].typ, path+"[]", b.(*array.ListBuilder).ValueBuilder())}
	case KindMap:
		entries := b.(*array.MapBuilder)
		c.Parts = []*Cells{
			newCells(typ.fields[0].typ, path+".key", entries.KeyBuilder()).asKey(),
			newCells(typ.fields[1].typ, path+".value", entries.ItemBuilder()),
		}
	case KindStruct:
		c.names = NewNames(len(typ.fields), func(i int) string { return typ.fields[i].name })
		c.named = make([]uint32, len(typ.fields))
		for i, f := range typ.fields {
			part := newCells(f.typ, path+"."+f.name, b.(*array.StructBuilder).FieldBuilder(i))
			c.Parts = append(c.Parts, part)
			c.Width += part.Width
		}
	}
	return c
}

// reserve makes room for n values of a column that is not nested.
func (c *Cells) reserve(n int) {
	if len(c.Parts) == 0 {
		c.b.Reserve(n)
	}
}

// Null appends NULL.
func (c *Cells) Null() { c.b.AppendNull() }

// LastIsNull reports whether the value appended last is NULL.
func (c *Cells) LastIsNull() bool { return c.b.IsNull(c.b.Len() - 1) }

// One appender for each kind. A call for a value of another kind is a defect.

func (c *Cells) integer(v int64) {
	if c.seen != nil {
		c.remember(v)
	}
	switch b := c.b.(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	default:
		c.b.(*array.Int8Builder).Append(int8(v))
	}
}

func (c *Cells) float(v float64) {
	if c.seen != nil {
		c.remember(floatKey(v))
	}
	if b, ok := c.b.(*array.Float64Builder); ok {
		b.Append(v)
		return
	}
	c.b.(*array.Float32Builder).Append(float32(v))
}

// Boolean appends a BOOLEAN.
func (c *Cells) Boolean(v bool) {
	if c.seen != nil {
		c.remember(v)
	}
	c.b.(*array.BooleanBuilder).Append(v)
}

func (c *Cells) decimal(v decimal128.Num) {
	if c.seen != nil {
		c.remember(v)
	}
	c.b.(*array.Decimal128Builder).Append(v)
}

// Date appends a DATE, in days since 1970-01-01.
func (c *Cells) Date(days int32) {
	if c.seen != nil {
		c.remember(days)
	}
	c.b.(*array.Date32Builder).Append(arrow.Date32(days))
}

// Timestamp appends a timestamp, in microseconds since 1970-01-01.
func (c *Cells) Timestamp(micros int64) {
	if c.seen != nil {
		c.remember(micros)
	}
	c.b.(*array.TimestampBuilder).Append(arrow.Timestamp(micros))
}

// Binary appends a copy of a BLOB.
func (c *Cells) Binary(v []byte) {
	if c.seen != nil {
		c.remember(string(v))
	}
	c.b.(*array.BinaryBuilder).Append(v)
}

// List begins a list.
func (c *Cells) List() { c.b.(*array.ListBuilder).Append(true) }

// Entries begins a map.
func (c *Cells) Entries() {
	c.Parts[0].forget()
	c.b.(*array.MapBuilder).Append(true)
}

// Structure begins a struct.
func (c *Cells) Structure() {
	c.b.(*array.StructBuilder).Append(true)
	c.turn++
}

// Find returns the number of the member that a body calls name, or -1.
func (c *Cells) Find(name []byte) int { return c.names.Find(name) }

// Member returns the cells of a member of the current struct, nil if the body has named it
// before.
func (c *Cells) Member(i int) *Cells {
	if c.named[i] == c.turn {
		return nil
	}
	c.named[i] = c.turn
	return c.Parts[i]
}

// EndStructure makes the members NULL that the body did not name.
func (c *Cells) EndStructure() {
	for i, part := range c.Parts {
		if c.named[i] != c.turn {
			part.Null()
		}
	}
}

// NotUTF8 is the message for text with another encoding.
const NotUTF8 = "text is not UTF-8"

// Text appends a string as it is.
func (c *Cells) Text(v []byte) (message string) {
	if !utf8.Valid(v) {
		return NotUTF8
	}
	if c.seen != nil {
		c.remember(string(v))
	}
	c.b.(*array.StringBuilder).BinaryBuilder.Append(v) // which copies once
	return ""
}

// Digits appends the value of a number's text. If it returns a message, nothing is appended.
func (c *Cells) Digits(text []byte) (message string) {
	switch c.Typ.Kind {
	case kindByte, kindShort, kindInteger, kindLong:
		low, high := integerRange(c.Typ.Kind)
		if v, ok := parseInteger(text, low, high); ok {
			c.integer(v)
			return ""
		}
	case kindDecimal:
		if v, ok := parseDecimal(text, c.Typ.precision, c.Typ.scale); ok {
			c.decimal(v)
			return ""
		}
	case KindFloat, KindDouble:
		bitSize := 64
		if c.Typ.Kind == KindFloat {
			bitSize = 32
		}
		if v, ok := parseFloat(text, bitSize); ok {
			c.float(v)
			return ""
		}
	}
	return c.Typ.Expects()
}

// Quoted appends the value of a string's text. If it returns a message, nothing is appended.
func (c *Cells) Quoted(text []byte) (message string) {
	switch c.Typ.Kind {
	case KindString:
		return c.Text(text)
	case kindByte, kindShort, kindInteger, kindLong, kindDecimal:
		return c.Digits(text)
	case KindFloat, KindDouble:
		if v, ok := parseSpecial(text); ok {
			c.float(v)
			return ""
		}
	case kindBinary:
		if v, err := base64.StdEncoding.Strict().AppendDecode(nil, text); err == nil {
			c.Binary(v)
			return ""
		}
	case KindDate:
		if v, ok := sqltype.ParseDays(string(text)); ok {
			c.Date(v)
			return ""
		}
	case KindTimestamp, KindTimestampNTZ:
		offset := sqltype.WithoutOffset
		if c.Typ.Kind == KindTimestamp {
			offset = sqltype.WithOffset
		}
		if v, ok := sqltype.ParseMicros(string(text), offset); ok {
			c.Timestamp(v)
			return ""
		}
	}
	return c.Typ.Expects()
}

// Field appends the value of text without quotes or type: a CSV field, a key of an object. If
// it returns a message, nothing is appended.
func (c *Cells) Field(text []byte) (message string) {
	switch c.Typ.Kind {
	case KindBoolean:
		switch strings.ToLower(string(text)) {
		case "true", "t", "1":
			c.Boolean(true)
			return ""
		case "false", "f", "0":
			c.Boolean(false)
			return ""
		}
		return c.Typ.Expects()
	case KindFloat, KindDouble:
		if len(text) > 0 && text[len(text)-1] <= '9' {
			return c.Digits(text)
		}
	}
	return c.Quoted(text)
}
