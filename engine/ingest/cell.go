package ingest

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// cells builds the values of a column, or of a part of one.
type cells struct {
	typ *dataType
	// path is where the values stand, for problems: address.city, tags[].
	path string
	// b is the builder of the type.
	b array.Builder
	// parts are the element, the key and the value, or the members.
	parts []*cells
	// names find the members of a struct.
	names names
	// named says in which turn a member was given last; turn counts structs.
	named []uint32
	turn  uint32
	// seen are the keys of the map at hand, for cells of keys only; twice says that
	// one was there before.
	seen  map[any]bool
	twice bool
	// width is what one value costs in memory beyond its text.
	width int64
}

// newCells makes cells for what b builds.
func newCells(typ *dataType, path string, b array.Builder) *cells {
	c := &cells{typ: typ, path: path, b: b, width: 16}
	switch typ.kind {
	case kindArray:
		c.parts = []*cells{newCells(typ.fields[0].typ, path+"[]", b.(*array.ListBuilder).ValueBuilder())}
	case kindMap:
		entries := b.(*array.MapBuilder)
		c.parts = []*cells{
			newCells(typ.fields[0].typ, path+".key", entries.KeyBuilder()).asKey(),
			newCells(typ.fields[1].typ, path+".value", entries.ItemBuilder()),
		}
	case kindStruct:
		c.names = newNames(len(typ.fields), func(i int) string { return typ.fields[i].name })
		c.named = make([]uint32, len(typ.fields))
		for i, f := range typ.fields {
			part := newCells(f.typ, path+"."+f.name, b.(*array.StructBuilder).FieldBuilder(i))
			c.parts = append(c.parts, part)
			c.width += part.width
		}
	}
	return c
}

// reserve makes room for values of a column that is no nested one.
func (c *cells) reserve(n int) {
	if len(c.parts) == 0 {
		c.b.Reserve(n)
	}
}

// null appends NULL.
func (c *cells) null() { c.b.AppendNull() }

// lastIsNull reports whether the value appended last is NULL.
func (c *cells) lastIsNull() bool { return c.b.IsNull(c.b.Len() - 1) }

// The appenders of one kind each. A kind that is not theirs is a defect.

func (c *cells) integer(v int64) {
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

func (c *cells) float(v float64) {
	if c.seen != nil {
		c.remember(floatKey(v))
	}
	if b, ok := c.b.(*array.Float64Builder); ok {
		b.Append(v)
		return
	}
	c.b.(*array.Float32Builder).Append(float32(v))
}

func (c *cells) boolean(v bool) {
	if c.seen != nil {
		c.remember(v)
	}
	c.b.(*array.BooleanBuilder).Append(v)
}

func (c *cells) decimal(v decimal128.Num) {
	if c.seen != nil {
		c.remember(v)
	}
	c.b.(*array.Decimal128Builder).Append(v)
}

func (c *cells) date(days int32) {
	if c.seen != nil {
		c.remember(days)
	}
	c.b.(*array.Date32Builder).Append(arrow.Date32(days))
}

func (c *cells) timestamp(micros int64) {
	if c.seen != nil {
		c.remember(micros)
	}
	c.b.(*array.TimestampBuilder).Append(arrow.Timestamp(micros))
}

func (c *cells) binary(v []byte) {
	if c.seen != nil {
		c.remember(string(v))
	}
	c.b.(*array.BinaryBuilder).Append(v)
}

func (c *cells) list() { c.b.(*array.ListBuilder).Append(true) }

func (c *cells) entries() {
	c.parts[0].forget()
	c.b.(*array.MapBuilder).Append(true)
}

// structure begins a struct.
func (c *cells) structure() {
	c.b.(*array.StructBuilder).Append(true)
	c.turn++
}

// find returns the number of the member that a body calls name, or -1.
func (c *cells) find(name []byte) int { return c.names.find(name) }

// member returns the cells of a member of the struct at hand, or nil when the body has
// named it before.
func (c *cells) member(i int) *cells {
	if c.named[i] == c.turn {
		return nil
	}
	c.named[i] = c.turn
	return c.parts[i]
}

// endStructure makes the members NULL that the body did not name.
func (c *cells) endStructure() {
	for i, part := range c.parts {
		if c.named[i] != c.turn {
			part.null()
		}
	}
}

const notUTF8 = "text is not UTF-8"

// text appends a string as it is.
func (c *cells) text(v []byte) (message string) {
	if !utf8.Valid(v) {
		return notUTF8
	}
	if c.seen != nil {
		c.remember(string(v))
	}
	c.b.(*array.StringBuilder).BinaryBuilder.Append(v) // which copies once
	return ""
}

// digits appends the value that a number's text says. Nothing is appended when
// there is a message.
func (c *cells) digits(text []byte) (message string) {
	switch c.typ.kind {
	case kindByte, kindShort, kindInteger, kindLong:
		low, high := integerRange(c.typ.kind)
		if v, ok := parseInteger(text, low, high); ok {
			c.integer(v)
			return ""
		}
	case kindDecimal:
		if v, ok := parseDecimal(text, c.typ.precision, c.typ.scale); ok {
			c.decimal(v)
			return ""
		}
	case kindFloat, kindDouble:
		bitSize := 64
		if c.typ.kind == kindFloat {
			bitSize = 32
		}
		if v, ok := parseFloat(text, bitSize); ok {
			c.float(v)
			return ""
		}
	}
	return c.typ.expects()
}

// quoted appends the value that the text of a string says. Nothing is appended
// when there is a message.
func (c *cells) quoted(text []byte) (message string) {
	switch c.typ.kind {
	case kindString:
		return c.text(text)
	case kindByte, kindShort, kindInteger, kindLong, kindDecimal:
		return c.digits(text)
	case kindFloat, kindDouble:
		if v, ok := parseSpecial(text); ok {
			c.float(v)
			return ""
		}
	case kindBinary:
		if v, err := base64.StdEncoding.Strict().AppendDecode(nil, text); err == nil {
			c.binary(v)
			return ""
		}
	case kindDate:
		if v, ok := parseDate(text); ok {
			c.date(v)
			return ""
		}
	case kindTimestamp, kindTimestampNTZ:
		if v, ok := parseTimestamp(text, c.typ.kind == kindTimestamp); ok {
			c.timestamp(v)
			return ""
		}
	}
	return c.typ.expects()
}

// field appends the value that a text without quotes or type says: a CSV field,
// a key of an object. Nothing is appended when there is a message.
func (c *cells) field(text []byte) (message string) {
	switch c.typ.kind {
	case kindBoolean:
		switch strings.ToLower(string(text)) {
		case "true", "t", "1":
			c.boolean(true)
			return ""
		case "false", "f", "0":
			c.boolean(false)
			return ""
		}
		return c.typ.expects()
	case kindFloat, kindDouble:
		if len(text) > 0 && text[len(text)-1] <= '9' {
			return c.digits(text)
		}
	}
	return c.quoted(text)
}
