package sqltype

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSyntax is the error of [Parse].
var ErrSyntax = errors.New("not the name of a type")

// maxDepth bounds how deep types are nested.
const maxDepth = 64

// scalars maps names in lower case to types: DuckDB's names and aliases, and those
// of Delta and Spark that mean the same.
var scalars = map[string]Type{
	"string": Varchar, "text": Varchar, "char": Varchar, "bpchar": Varchar,
	"long": BigInt, "int8": BigInt, "int64": BigInt,
	"int": Integer, "int4": Integer, "int32": Integer, "signed": Integer,
	"short": SmallInt, "int2": SmallInt, "int16": SmallInt,
	"byte": TinyInt, "int1": TinyInt,
	"real": Float, "float4": Float, "float8": Double,
	"bool": Boolean, "logical": Boolean,
	"binary": Blob, "bytea": Blob, "varbinary": Blob,
	"timestamp_ntz": Timestamp, "datetime": Timestamp, "timestamptz": TimestampTZ,
}

// printed maps the names that String prints to their types.
var printed = map[string]Type{}

func init() {
	for _, t := range []Scalar{
		Boolean, TinyInt, SmallInt, Integer, BigInt, HugeInt, UTinyInt, USmallInt, UInteger, UBigInt, UHugeInt, BigNum,
		Float, Double, Varchar, JSON, Blob, Bit, UUID, Date, Time, TimeNS, TimeTZ,
		Timestamp, TimestampS, TimestampMS, TimestampNS, TimestampTZ, Interval, Variant, Geometry, Null, Unknown,
	} {
		printed[string(t)] = t
		scalars[strings.ToLower(string(t))] = t
	}
}

// Parse reads the name of a type in DuckDB's notation or in Delta's.
//
// Two names mean different things in the two: "timestamp" and a bare "decimal". In
// lower case they are Delta's (an instant; ten digits), in any other case DuckDB's
// (without time zone; DECIMAL(18,3)). Lengths of texts are ignored, as DuckDB does.
// The error wraps [ErrSyntax].
func Parse(text string) (Type, error) {
	if t, ok := printed[text]; ok {
		return t, nil
	}
	p := parser{rest: text}
	t, err := p.parse(0)
	if p.space(); err == nil && p.rest != "" {
		err = syntaxError("text after the type")
	}
	if err != nil {
		return nil, fmt.Errorf("type %.200q: %w", text, err)
	}
	return t, nil
}

// MustParse is [Parse] for constants. It panics on an error.
func MustParse(text string) Type {
	t, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return t
}

func syntaxError(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrSyntax)...)
}

type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// eat takes one character if it is next.
func (p *parser) eat(c byte) bool {
	p.space()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) need(c byte) error {
	if !p.eat(c) {
		return syntaxError("expected %q", c)
	}
	return nil
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// word takes an unquoted word.
func (p *parser) word() string {
	p.space()
	n := 0
	for n < len(p.rest) && wordByte(p.rest[n]) {
		n++
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// keywords takes the words given, in any case, or nothing.
func (p *parser) keywords(words ...string) bool {
	saved := p.rest
	for _, w := range words {
		if !strings.EqualFold(p.word(), w) {
			p.rest = saved
			return false
		}
	}
	return true
}

func (p *parser) parse(depth int) (Type, error) {
	t, err := p.base(depth)
	for err == nil && p.eat('[') {
		size := p.word()
		length, bad := strconv.ParseUint(size, 10, 32)
		switch depth++; {
		case size == "":
			t = List{t}
		case bad != nil:
			return nil, syntaxError("length %q", size)
		default:
			t = Array{t, uint32(length)}
		}
		if err = p.need(']'); err == nil && depth > maxDepth {
			err = syntaxError("nested deeper than %d", maxDepth)
		}
	}
	return t, err
}

func (p *parser) base(depth int) (Type, error) {
	if depth > maxDepth {
		return nil, syntaxError("nested deeper than %d", maxDepth)
	}
	p.space()
	if rest, ok := strings.CutPrefix(p.rest, string(Null)); ok {
		p.rest = rest
		return Null, nil
	}
	word := p.word()
	name := strings.ToLower(word)
	switch name {
	case "":
		return nil, syntaxError("expected a type name")
	case "array":
		if err := p.need('<'); err != nil {
			return nil, err
		}
		element, err := p.parse(depth + 1)
		if err != nil {
			return nil, err
		}
		return List{element}, p.need('>')
	case "map":
		return p.mapping(depth)
	case "struct", "row":
		fields, err := p.members(depth)
		return &Struct{fields}, err
	case "union":
		fields, err := p.members(depth)
		return &Union{fields}, err
	case "enum":
		return p.enum()
	case "decimal", "numeric", "dec":
		return p.decimal(word)
	case "time", "timestamp":
		return p.time(word), nil
	case "double":
		p.keywords("precision")
	case "varchar", "char", "bpchar":
		if p.eat('(') {
			p.word()
			if err := p.need(')'); err != nil {
				return nil, err
			}
		}
	}
	if t, ok := scalars[name]; ok {
		return t, nil
	}
	return nil, syntaxError("unknown type %.50q", word)
}

func (p *parser) time(word string) Type {
	plain, zoned := Timestamp, TimestampTZ
	if strings.EqualFold(word, "time") {
		plain, zoned = Time, TimeTZ
	}
	switch {
	case p.keywords("with", "time", "zone"):
		return zoned
	case !p.keywords("without", "time", "zone") && word == "timestamp":
		return zoned
	}
	return plain
}

func (p *parser) decimal(word string) (Type, error) {
	switch {
	case p.eat('('):
	case word == "decimal":
		return Decimal{Precision: 10}, nil
	default:
		return Decimal{Precision: 18, Scale: 3}, nil
	}
	precision, err := strconv.Atoi(p.word())
	scale := 0
	if err == nil && p.eat(',') {
		scale, err = strconv.Atoi(p.word())
	}
	if err != nil || precision < 1 || precision > MaxPrecision || scale > precision {
		return nil, syntaxError("digits of a decimal")
	}
	return Decimal{precision, scale}, p.need(')')
}

// open takes the bracket after map and struct and returns its partner.
func (p *parser) open() (byte, error) {
	if p.eat('<') {
		return '>', nil
	}
	return ')', p.need('(')
}

func (p *parser) mapping(depth int) (Type, error) {
	end, err := p.open()
	if err != nil {
		return nil, err
	}
	key, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.need(','); err != nil {
		return nil, err
	}
	value, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	return Map{key, value}, p.need(end)
}

func (p *parser) members(depth int) ([]Field, error) {
	end, err := p.open()
	if err != nil || p.eat(end) {
		return nil, err
	}
	var fields []Field
	for {
		f, err := p.member(depth, end)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
		if !p.eat(',') {
			return fields, p.need(end)
		}
	}
}

func (p *parser) member(depth int, end byte) (Field, error) {
	// A type alone is a member without a name.
	start := p.rest
	if t, err := p.parse(depth + 1); err == nil {
		if p.space(); p.rest != "" && (p.rest[0] == ',' || p.rest[0] == end) {
			return Field{Type: t}, nil
		}
	}
	p.rest = start
	name, err := p.ident()
	if err != nil {
		return Field{}, err
	}
	p.eat(':')
	t, err := p.parse(depth + 1)
	return Field{Name: name, Type: t, NotNull: p.keywords("not", "null")}, err
}

// ident reads a member's name: quoted with " or `, or everything up to a colon
// or a blank, so that Delta's own notation of odd names reads back.
func (p *parser) ident() (string, error) {
	p.space()
	if p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '`') {
		name, ok := p.quoted(p.rest[0])
		if !ok || name == "" {
			return "", syntaxError("quoted member name")
		}
		return name, nil
	}
	n := strings.IndexAny(p.rest, ": \t\r\n,()<>[]\"`")
	if n <= 0 {
		return "", syntaxError("expected a member name")
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name, nil
}

// quoted takes a text between quotes, inside which quotes are doubled.
func (p *parser) quoted(quote byte) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		if p.rest[i] == quote {
			if i+1 == len(p.rest) || p.rest[i+1] != quote {
				p.rest = p.rest[i+1:]
				return b.String(), true
			}
			i++
		}
		b.WriteByte(p.rest[i])
	}
	return "", false
}

func (p *parser) enum() (Type, error) {
	if err := p.need('('); err != nil {
		return nil, err
	}
	var values []string
	for {
		p.space()
		value, ok := "", strings.HasPrefix(p.rest, "'")
		if ok {
			value, ok = p.quoted('\'')
		}
		if !ok {
			return nil, syntaxError("value of an enum")
		}
		values = append(values, value)
		if !p.eat(',') {
			return &Enum{values}, p.need(')')
		}
	}
}
