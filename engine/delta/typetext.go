package delta

import (
	"fmt"
	"strings"
)

// duckDBNames maps the primitive types to DuckDB's names for their values in files.
var duckDBNames = map[Primitive]string{
	String:       "VARCHAR",
	Long:         "BIGINT",
	Integer:      "INTEGER",
	Short:        "SMALLINT",
	Byte:         "TINYINT",
	Float:        "FLOAT",
	Double:       "DOUBLE",
	Boolean:      "BOOLEAN",
	Binary:       "BLOB",
	Date:         "DATE",
	Timestamp:    "TIMESTAMP WITH TIME ZONE",
	TimestampNTZ: "TIMESTAMP",
	Variant:      "VARIANT",
}

// DuckDBType prints the type that a column of type t has in statements, as DuckDB
// prints it. A variant is JSON text there, and a void column an INTEGER that is
// always NULL. An unknown type gives "NULL".
func DuckDBType(t DataType) string {
	return printDuckDB(t, func(p Primitive) string {
		switch p {
		case Variant:
			return duckDBNames[String]
		case Void:
			return duckDBNames[Integer]
		}
		return duckDBNames[p]
	})
}

// DuckDBFileType is [DuckDBType] for the type that DuckDB reads from data files. It
// differs for variants only.
func DuckDBFileType(t DataType) string {
	return printDuckDB(t, func(p Primitive) string {
		if p == Void {
			return duckDBNames[Integer]
		}
		return duckDBNames[p]
	})
}

func printDuckDB(t DataType, primitive func(Primitive) string) string {
	switch t := t.(type) {
	case Primitive:
		if name := primitive(t); name != "" {
			return name
		}
	case Decimal:
		return "DECIMAL" + t.String()[len("decimal"):]
	case Array:
		return printDuckDB(t.Element, primitive) + "[]"
	case Map:
		return "MAP(" + printDuckDB(t.Key, primitive) + ", " + printDuckDB(t.Value, primitive) + ")"
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = duckDBIdent(f.Name) + " " + printDuckDB(f.Type, primitive)
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	return `"NULL"`
}

// duckDBIdent quotes a name the way DuckDB does when it prints a type.
func duckDBIdent(name string) string {
	plain := name != "" && !duckDBKeywords[strings.ToLower(name)]
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		plain = letter || i > 0 && '0' <= c && c <= '9'
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// typeNames holds the names of both languages that mean one thing in each.
// Aliases are DuckDB's.
var typeNames = map[string]DataType{
	"string": String, "varchar": String, "text": String, "char": String, "bpchar": String,
	"long": Long, "bigint": Long, "int8": Long, "int64": Long,
	"integer": Integer, "int": Integer, "int4": Integer, "int32": Integer, "signed": Integer,
	"short": Short, "smallint": Short, "int2": Short, "int16": Short,
	"byte": Byte, "tinyint": Byte, "int1": Byte,
	"float": Float, "real": Float, "float4": Float,
	"double": Double, "float8": Double, "double precision": Double,
	"boolean": Boolean, "bool": Boolean, "logical": Boolean,
	"binary": Binary, "blob": Binary, "bytea": Binary, "varbinary": Binary,
	"date":          Date,
	"timestamp_ntz": TimestampNTZ, "datetime": TimestampNTZ, "timestamp without time zone": TimestampNTZ,
	"timestamptz": Timestamp, "timestamp with time zone": Timestamp,
	"variant": Variant,
}

// ParseType reads the name of a type in Delta's notation or in DuckDB's.
//
// Two names mean different things in the two: "timestamp" and a bare
// "decimal". In lower case they are Delta's (an instant in UTC; ten digits),
// in any other case DuckDB's (without time zone; DECIMAL(18,3)). Members and
// elements are nullable unless a struct member says NOT NULL.
// The error is [ErrInvalidSchema].
func ParseType(text string) (DataType, error) {
	const most = 64 << 10
	if len(text) > most {
		return nil, fmt.Errorf("type of %d bytes: %w", len(text), ErrInvalidSchema)
	}
	p := typeParser{rest: text}
	t, err := p.parse(0)
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", text, err)
	}
	if p.space(); p.rest != "" {
		return nil, fmt.Errorf("type %q: text after the type: %w", text, ErrInvalidSchema)
	}
	return t, nil
}

type typeParser struct{ rest string }

func (p *typeParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// eat takes one character if it is next.
func (p *typeParser) eat(c byte) bool {
	p.space()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *typeParser) need(c byte) error {
	if !p.eat(c) {
		return fmt.Errorf("expected %q: %w", c, ErrInvalidSchema)
	}
	return nil
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// word takes an unquoted word.
func (p *typeParser) word() string {
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
func (p *typeParser) keywords(words ...string) bool {
	saved := p.rest
	for _, w := range words {
		if !strings.EqualFold(p.word(), w) {
			p.rest = saved
			return false
		}
	}
	return true
}

func (p *typeParser) parse(depth int) (DataType, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("nested deeper than %d: %w", maxTypeDepth, ErrInvalidSchema)
	}
	t, err := p.base(depth)
	if err != nil {
		return nil, err
	}
	for p.eat('[') {
		if err := p.need(']'); err != nil {
			return nil, fmt.Errorf("array of fixed size: %w", err)
		}
		if depth++; depth > maxTypeDepth {
			return nil, fmt.Errorf("nested deeper than %d: %w", maxTypeDepth, ErrInvalidSchema)
		}
		t = Array{Element: t, ContainsNull: true}
	}
	return t, nil
}

func (p *typeParser) base(depth int) (DataType, error) {
	word := p.word()
	name := strings.ToLower(word)
	switch name {
	case "":
		return nil, fmt.Errorf("expected a type name: %w", ErrInvalidSchema)
	case "array":
		return p.array(depth)
	case "map":
		return p.mapping(depth)
	case "struct", "row":
		return p.structure(depth)
	case "decimal", "numeric", "dec":
		return p.decimal(word)
	case "timestamp":
		return p.timestamp(word), nil
	case "double":
		p.keywords("precision")
	case "varchar", "char", "bpchar":
		if p.eat('(') { // DuckDB ignores the length too
			p.word()
			if err := p.need(')'); err != nil {
				return nil, err
			}
		}
	}
	if t, ok := typeNames[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("unknown type %q: %w", word, ErrInvalidSchema)
}

func (p *typeParser) timestamp(word string) DataType {
	switch {
	case p.keywords("with", "time", "zone"):
		return Timestamp
	case p.keywords("without", "time", "zone"):
		return TimestampNTZ
	case word == "timestamp":
		return Timestamp
	}
	return TimestampNTZ
}

func (p *typeParser) decimal(word string) (DataType, error) {
	if !p.eat('(') {
		if word == "decimal" {
			return Decimal{Precision: 10}, nil
		}
		return Decimal{Precision: 18, Scale: 3}, nil
	}
	args, rest, ok := strings.Cut(p.rest, ")")
	if !ok {
		return nil, fmt.Errorf("expected ')': %w", ErrInvalidSchema)
	}
	p.rest = rest
	return parseDecimal("(" + args + ")")
}

func (p *typeParser) array(depth int) (DataType, error) {
	if err := p.need('<'); err != nil {
		return nil, err
	}
	element, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	return Array{Element: element, ContainsNull: true}, p.need('>')
}

// open takes the bracket after map and struct and returns its partner.
func (p *typeParser) open() (byte, error) {
	if p.eat('<') {
		return '>', nil
	}
	return ')', p.need('(')
}

func (p *typeParser) mapping(depth int) (DataType, error) {
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
	return Map{Key: key, Value: value, ValueContainsNull: true}, p.need(end)
}

func (p *typeParser) structure(depth int) (DataType, error) {
	end, err := p.open()
	if err != nil {
		return nil, err
	}
	var s Struct
	if p.eat(end) {
		return s, nil
	}
	seen := make(map[string]bool)
	for {
		f, err := p.member(depth)
		if err != nil {
			return nil, err
		}
		lower := strings.ToLower(f.Name)
		if seen[lower] {
			return nil, fmt.Errorf("member %q twice: %w", f.Name, ErrInvalidSchema)
		}
		seen[lower] = true
		s.Fields = append(s.Fields, f)
		if !p.eat(',') {
			return s, p.need(end)
		}
	}
}

func (p *typeParser) member(depth int) (Field, error) {
	name, err := p.ident()
	if err != nil {
		return Field{}, err
	}
	p.eat(':')
	t, err := p.parse(depth + 1)
	if err != nil {
		return Field{}, err
	}
	return Field{Name: name, Type: t, Nullable: !p.keywords("not", "null")}, nil
}

// ident reads a member's name: quoted with " or `, or everything up to a colon
// or a blank, so that Delta's own notation of odd names reads back.
func (p *typeParser) ident() (string, error) {
	p.space()
	if p.rest == "" {
		return "", fmt.Errorf("expected a member name: %w", ErrInvalidSchema)
	}
	if q := p.rest[0]; q == '"' || q == '`' {
		return p.quoted(q)
	}
	n := strings.IndexAny(p.rest, ": \t\r\n,()<>[]\"`")
	if n <= 0 {
		return "", fmt.Errorf("expected a member name: %w", ErrInvalidSchema)
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name, nil
}

func (p *typeParser) quoted(q byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		if p.rest[i] != q {
			b.WriteByte(p.rest[i])
			continue
		}
		if i+1 < len(p.rest) && p.rest[i+1] == q {
			b.WriteByte(q)
			i++
			continue
		}
		p.rest = p.rest[i+1:]
		if b.Len() == 0 {
			break
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("quoted member name: %w", ErrInvalidSchema)
}
