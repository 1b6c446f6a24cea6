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

// Column is a column of the table, or a member of one, by its name in files.
type Column struct {
	Name string
	// Type is that of its values; nil when they have no bounds. A column with
	// members has none.
	Type arrow.DataType
	// Members are those of a struct.
	Members []Column
}

// Form says how a checkpoint tells what is known of files. The zero value is the
// form that every reader has: texts only.
type Form struct {
	// NoText leaves out add.stats (delta.checkpoint.writeStatsAsJson=false).
	NoText bool
	// Statistics are the columns of add.stats_parsed, and Partitions those of
	// add.partitionValues_parsed (delta.checkpoint.writeStatsAsStruct). Nil leaves
	// either out.
	Statistics, Partitions []Column
}

// addFields are the members of add that depend on the form.
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

// document are statistics as one struct (protocol, "Per-file Statistics"). Structs
// without members, which Parquet does not have, are left out.
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

// bounded are the columns that have bounds.
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

// counted are the columns as those of numbers.
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

// typer makes typed values of texts, and counts what it could not say.
type typer struct {
	form     Form
	document *object
	// statistics counts texts that say more than their typed form, and
	// partitions files with a value of another type than its column's.
	statistics, partitions int64
}

func newTyper(f Form) *typer { return &typer{form: f, document: newObject(f.document())} }

// addValues are the values of addFields.
func (t *typer) addValues(a *action.Add) []any {
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

// partition leaves null what is no value of the column's type.
func (t *typer) partition(texts map[string]*string) []any {
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

// parsed is nil for a file without statistics.
func (t *typer) parsed(text string) []any {
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

// object reads JSON objects with a member for each column.
type object struct {
	columns []Column
	place   map[string]int
	// inner are those of the columns with members.
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

// read types the next value, which is nil where it is no object. all becomes false
// when it says something that is not among the values.
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

// skip passes over a value that has no place. Null and the empty object say nothing.
func skip(dec *jsontext.Decoder, all *bool) error {
	raw, err := dec.ReadValue()
	if err == nil && raw.Kind() != 'n' && string(raw) != "{}" {
		*all = false
	}
	return err
}
