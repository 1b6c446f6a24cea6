package checkpoint

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Column is a column of the table, or a nested field, by its physical name.
type Column struct {
	Name string
	// Type is the type of its values; nil if they have no bounds. It is nil if the
	// column has members.
	Type arrow.DataType
	// Members are the fields of a struct.
	Members []Column
}

// Form selects how a checkpoint stores statistics and partition values. The zero value
// selects JSON only, which every reader supports.
type Form struct {
	// NoText leaves out add.stats (delta.checkpoint.writeStatsAsJson=false).
	NoText bool
	// Statistics are the columns of add.stats_parsed, and Partitions those of
	// add.partitionValues_parsed (delta.checkpoint.writeStatsAsStruct). Nil omits the
	// struct.
	Statistics, Partitions []Column
}

// addFields returns the members of add that depend on the form.
func (f Form) addFields() []arrow.Field {
	var fields []arrow.Field
	if !f.NoText {
		fields = append(fields, field("stats", textType))
	}
	if f.Partitions != nil {
		fields = append(fields, field("partitionValues_parsed", valuesType(f.Partitions)))
	}
	if f.Statistics != nil {
		fields = append(fields, field("stats_parsed", valuesType(f.document())))
	}
	return fields
}

// document returns the members of the typed statistics (protocol, "Per-file
// Statistics"). It omits structs without members, which Parquet does not support.
func (f Form) document() []Column {
	columns := []Column{{Name: "numRecords", Type: longType}, {Name: "tightBounds", Type: boolType}}
	if bounds := bounded(f.Statistics); len(bounds) > 0 {
		columns = append(columns, Column{Name: "minValues", Members: bounds}, Column{Name: "maxValues", Members: bounds})
	}
	if len(f.Statistics) > 0 {
		columns = append(columns, Column{Name: "nullCount", Members: counted(f.Statistics)})
	}
	return columns
}

func valuesType(columns []Column) arrow.DataType {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		t := c.Type
		if len(c.Members) > 0 {
			t = valuesType(c.Members)
		}
		fields[i] = field(c.Name, t)
	}
	return arrow.StructOf(fields...)
}

// bounded returns the columns with bounds.
func bounded(columns []Column) []Column {
	var out []Column
	for _, c := range columns {
		if len(c.Members) > 0 {
			c.Members = bounded(c.Members)
		}
		if c.Type != nil || len(c.Members) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// counted returns the columns with the types of their null counts.
func counted(columns []Column) []Column {
	out := slices.Clone(columns)
	for i, c := range out {
		if len(c.Members) > 0 {
			out[i].Members = counted(c.Members)
		} else {
			out[i].Type = longType
		}
	}
	return out
}

// typedEncoder converts statistics and partition values to their typed form, and counts those
// that it cannot represent.
type typedEncoder struct {
	form     Form
	document *object
	// statistics counts files whose statistics the typed form cannot represent
	// completely, and partitions those with a partition value that is invalid for its
	// column's type.
	statistics, partitions int64
}

func newTypedEncoder(f Form) *typedEncoder {
	return &typedEncoder{form: f, document: newObject(f.document())}
}

// addValues returns the values of addFields.
func (t *typedEncoder) addValues(a *action.Add) []any {
	var values []any
	if !t.form.NoText {
		values = append(values, orNull(a.Stats))
	}
	if t.form.Partitions != nil {
		values = append(values, t.partition(a.PartitionValues))
	}
	if t.form.Statistics != nil {
		values = append(values, t.parsed(a.Stats))
	}
	return values
}

// partition replaces values that are invalid for the column's type by null.
func (t *typedEncoder) partition(texts map[string]*string) []any {
	values, wrong := make([]any, len(t.form.Partitions)), false
	for i, c := range t.form.Partitions {
		if text := texts[c.Name]; text != nil && *text != "" {
			values[i] = parse(c.Type, *text)
			wrong = wrong || values[i] == nil
		}
	}
	if wrong {
		t.partitions++
	}
	return values
}

// parsed returns nil for a file without statistics.
func (t *typedEncoder) parsed(text string) []any {
	if text == "" {
		return nil
	}
	dec, all := jsontext.NewDecoder(strings.NewReader(text)), true
	values, err := t.document.read(dec, &all)
	if err == nil {
		_, err = dec.ReadToken() // the end
	}
	if !errors.Is(err, io.EOF) {
		values, all = nil, false
	}
	if !all {
		t.statistics++
	}
	return values
}

// object decodes JSON objects with a member for each column.
type object struct {
	columns []Column
	place   map[string]int
	// inner holds the decoders of the columns with members.
	inner []*object
}

func newObject(columns []Column) *object {
	o := &object{columns: columns, place: make(map[string]int, len(columns)), inner: make([]*object, len(columns))}
	for i, c := range columns {
		o.place[c.Name] = i
		if len(c.Members) > 0 {
			o.inner[i] = newObject(c.Members)
		}
	}
	return o
}

// read decodes the next value. It returns nil if the value is not an object, and sets
// all to false if the result does not represent the value completely.
func (o *object) read(dec *jsontext.Decoder, all *bool) ([]any, error) {
	if dec.PeekKind() != '{' {
		return nil, skip(dec, all)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	values := make([]any, len(o.columns))
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		i, known := o.place[name.String()]
		switch {
		case !known:
			err = skip(dec, all)
		case o.inner[i] != nil:
			values[i], err = o.inner[i].read(dec, all)
		default:
			values[i], err = readValue(dec, o.columns[i].Type, all)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return values, err
}

func readValue(dec *jsontext.Decoder, t arrow.DataType, all *bool) (any, error) {
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return nil, err
	}
	v := parseJSON(t, raw)
	*all = *all && v != nil
	return v, nil
}

// skip skips a value without a column. Null and the empty object lose no information.
func skip(dec *jsontext.Decoder, all *bool) error {
	raw, err := dec.ReadValue()
	if err == nil && raw.Kind() != 'n' && string(raw) != "{}" {
		*all = false
	}
	return err
}
