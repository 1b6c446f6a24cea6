package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
)

// typed has a column of every type, one without bounds, and one in a struct.
var typed = []checkpoint.Column{
	{Name: "b", Type: arrow.PrimitiveTypes.Int8},
	{Name: "h", Type: arrow.PrimitiveTypes.Int16},
	{Name: "i", Type: arrow.PrimitiveTypes.Int32},
	{Name: "l", Type: arrow.PrimitiveTypes.Int64},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32},
	{Name: "d", Type: arrow.PrimitiveTypes.Float64},
	{Name: "e", Type: &arrow.Decimal128Type{Precision: 38, Scale: 10}},
	{Name: "o", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "s", Type: arrow.BinaryTypes.String},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us},
	{Name: "local", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
	{Name: "list"},
	{Name: "st", Members: []checkpoint.Column{{Name: "partitionValues_parsed", Type: arrow.PrimitiveTypes.Int64}, {Name: "m"}}},
	{Name: "bare", Members: []checkpoint.Column{{Name: "m"}}},
}

func writeTyped(t *testing.T, form checkpoint.Form, adds ...*action.Add) (checkpoint.Summary, []byte) {
	t.Helper()
	var actions []action.Action
	for _, a := range adds {
		actions = append(actions, a)
	}
	var buf bytes.Buffer
	sum, err := checkpoint.Write(&buf, form, slices.Values(actions))
	require.NoError(t, err)
	return sum, buf.Bytes()
}

// columnsOf returns the paths of a file's leaf columns.
func columnsOf(t *testing.T, body []byte) []string {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(body))
	require.NoError(t, err)
	var names []string
	for i := range r.MetaData().Schema.NumColumns() {
		names = append(names, r.MetaData().Schema.Column(i).Path())
	}
	return names
}

func TestStatisticsAreRebuiltFromTheirTypedForm(t *testing.T) {
	texts := []string{
		`{"numRecords":9007199254740993,"tightBounds":false,` +
			`"minValues":{"b":-128,"h":-32768,"i":-2147483648,"l":-9223372036854775808,"f":-1.5,"d":-0.1,"e":-0.0000000001,"o":false,"s":"",` +
			`"day":"0001-01-01","at":"0001-01-01T00:00:00.000Z","local":"0001-01-01T00:00:00.000","st":{"partitionValues_parsed":-5}},` +
			`"maxValues":{"b":127,"h":32767,"i":2147483647,"l":9223372036854775807,"f":0.1,"d":1e+300,"e":9999999999999999999999999999.9999999999,` +
			`"o":true,"s":"é\u0000\"","day":"9999-12-31","at":"9999-12-31T23:59:59.999Z","local":"2024-01-02T03:04:05.678901","st":{"partitionValues_parsed":5}},` +
			`"nullCount":{"o":0,"at":1,"list":4,"st":{"partitionValues_parsed":1,"m":2},"bare":{"m":3}}}`,
		`{"numRecords":0,"minValues":{"d":"-Infinity"},"maxValues":{"f":"NaN","d":"Infinity"}}`,
		`{"numRecords":7}`,
		``,
	}
	var adds []*action.Add
	for i, text := range texts {
		adds = append(adds, &action.Add{Path: string(rune('a' + i)), Stats: text})
	}
	sum, body := writeTyped(t, checkpoint.Form{NoText: true, Statistics: typed}, adds...)
	require.Zero(t, sum.UntypedStatistics)
	require.NotContains(t, columnsOf(t, body), "add.stats")
	got, err := read(t.Context(), body)
	require.NoError(t, err)
	for i, text := range texts {
		require.Equal(t, text, got[i].(*action.Add).Stats)
	}
}

func TestStatisticsThatHaveNoTypedForm(t *testing.T) {
	for name, text := range map[string]string{
		"no document":              `{`,
		"a member twice":           `{"numRecords":1,"numRecords":1}`,
		"an unknown member":        `{"numRecords":1,"later":{"x":1}}`,
		"an unknown column":        `{"minValues":{"other":1}}`,
		"an unknown count":         `{"nullCount":{"st":{"other":1}}}`,
		"bounds of a list":         `{"minValues":{"list":{"element":1}}}`,
		"a struct that is none":    `{"nullCount":{"st":1}}`,
		"bounds that are none":     `{"minValues":[]}`,
		"beyond the type":          `{"minValues":{"b":128}}`,
		"a fraction":               `{"minValues":{"i":1.5}}`,
		"a number in quotes":       `{"minValues":{"l":"1"}}`,
		"a decimal too fine":       `{"minValues":{"e":0.00000000001}}`,
		"a decimal too large":      `{"minValues":{"e":99999999999999999999999999999}}`,
		"a decimal without end":    `{"minValues":{"e":1e1000000000}}`,
		"a word for a number":      `{"minValues":{"d":"much"}}`,
		"a number for a string":    `{"minValues":{"s":1}}`,
		"a day that is none":       `{"minValues":{"day":"2023-02-29"}}`,
		"an instant anywhere":      `{"minValues":{"at":"2024-01-02T03:04:05.678"}}`,
		"a local time somewhere":   `{"minValues":{"local":"2024-01-02T03:04:05.678-05:00"}}`,
		"finer than microseconds":  `{"minValues":{"at":"2024-01-02T03:04:05.0000001Z"}}`,
		"a text for a truth value": `{"minValues":{"o":"true"}}`,
	} {
		sum, body := writeTyped(t, checkpoint.Form{Statistics: typed}, &action.Add{Path: "a", Stats: text},
			&action.Add{Path: "b", Stats: `{"numRecords":1}`})
		require.EqualValues(t, 1, sum.UntypedStatistics, name)
		got, err := read(t.Context(), body)
		require.NoError(t, err, name)
		require.Equal(t, text, got[0].(*action.Add).Stats, name)
	}
	// These members hold no information.
	sum, _ := writeTyped(t, checkpoint.Form{Statistics: typed}, &action.Add{Path: "a",
		Stats: `{"numRecords":null,"minValues":{"other":null,"st":{}},"maxValues":null,"later":{}}`})
	require.Zero(t, sum.UntypedStatistics)
}

func TestInstantsKeepTheirOffset(t *testing.T) {
	sum, body := writeTyped(t, checkpoint.Form{NoText: true, Statistics: typed},
		&action.Add{Path: "a", Stats: `{"minValues":{"at":"2024-01-02T03:04:05.678-05:00"}}`})
	require.Zero(t, sum.UntypedStatistics)
	got, err := read(t.Context(), body)
	require.NoError(t, err)
	require.Equal(t, `{"minValues":{"at":"2024-01-02T08:04:05.678Z"}}`, got[0].(*action.Add).Stats)
}

// TestInt96Timestamps reads the timestamps of the reference writer, which have the
// deprecated form of Parquet: Julian days and nanoseconds of a day.
func TestInt96Timestamps(t *testing.T) {
	optional := parquet.Repetitions.Optional
	group := func(name string, fields ...schema.Node) schema.Node {
		return schema.MustGroup(schema.NewGroupNode(name, optional, fields, -1))
	}
	leaf := func(name string, t parquet.Type) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNode(name, optional, t, -1, -1))
	}
	root := schema.MustGroup(schema.NewGroupNode("root", parquet.Repetitions.Required, schema.FieldList{group("add",
		leaf("path", parquet.Types.ByteArray), leaf("size", parquet.Types.Int64),
		group("stats_parsed", group("minValues", leaf("at", parquet.Types.Int96))))}, -1))
	rows := []struct {
		day   uint32
		nanos uint64
		want  string
	}{
		{2460312, 11045_678901_000, "2024-01-02T03:04:05.678901Z"},
		{2440587, 86399_999000_000, "1969-12-31T23:59:59.999Z"},
		{2440588, 0, "1970-01-01T00:00:00.000Z"},
		{1721426, 0, "0001-01-01T00:00:00.000Z"},
		{5373484, 86399_999999_000, "9999-12-31T23:59:59.999999Z"},
	}
	n := len(rows)
	instants := make([]parquet.Int96, n)
	for i, row := range rows {
		binary.LittleEndian.PutUint64(instants[i][:8], row.nanos)
		binary.LittleEndian.PutUint32(instants[i][8:], row.day)
	}
	var buf bytes.Buffer
	w := file.NewParquetWriter(&buf, root)
	rg := w.AppendRowGroup()
	column := func() file.ColumnChunkWriter {
		c, err := rg.NextColumn()
		require.NoError(t, err)
		return c
	}
	paths := column().(*file.ByteArrayColumnChunkWriter)
	_, err := paths.WriteBatch(slices.Repeat([]parquet.ByteArray{parquet.ByteArray("a")}, n), slices.Repeat([]int16{2}, n), nil)
	require.NoError(t, errors.Join(err, paths.Close()))
	sizes := column().(*file.Int64ColumnChunkWriter)
	_, err = sizes.WriteBatch(make([]int64, n), slices.Repeat([]int16{2}, n), nil)
	require.NoError(t, errors.Join(err, sizes.Close()))
	ats := column().(*file.Int96ColumnChunkWriter)
	_, err = ats.WriteBatch(instants, slices.Repeat([]int16{4}, n), nil)
	require.NoError(t, errors.Join(err, ats.Close(), rg.Close(), w.Close()))

	got, err := read(t.Context(), buf.Bytes())
	require.NoError(t, err)
	for i, row := range rows {
		require.Equal(t, `{"minValues":{"at":"`+row.want+`"}}`, got[i].(*action.Add).Stats)
	}
}

func TestFormsSelectColumns(t *testing.T) {
	_, body := writeTyped(t, checkpoint.Form{}, &action.Add{Path: "a"})
	plain := columnsOf(t, body)
	require.Contains(t, plain, "add.stats")
	require.False(t, slices.ContainsFunc(plain, func(c string) bool { return bytes.Contains([]byte(c), []byte("_parsed")) }))

	_, body = writeTyped(t, checkpoint.Form{NoText: true, Statistics: []checkpoint.Column{}},
		&action.Add{Path: "a", Stats: `{"numRecords":1}`})
	require.Contains(t, columnsOf(t, body), "add.stats_parsed.numRecords")
	got, err := read(t.Context(), body)
	require.NoError(t, err)
	require.Equal(t, `{"numRecords":1}`, got[0].(*action.Add).Stats)

	_, body = writeTyped(t, checkpoint.Form{Statistics: typed}, &action.Add{Path: "a"})
	names := columnsOf(t, body)
	require.Contains(t, names, "add.stats_parsed.nullCount.bare.m")
	require.NotContains(t, names, "add.stats_parsed.minValues.bare.m")
	require.NotContains(t, names, "add.stats_parsed.minValues.list")
}

func TestTypedPartitions(t *testing.T) {
	form := checkpoint.Form{Partitions: []checkpoint.Column{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32}, {Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "raw", Type: arrow.BinaryTypes.Binary},
	}}
	values := func(i, at, raw string) map[string]*string {
		return map[string]*string{"i": &i, "at": &at, "raw": &raw}
	}
	for _, row := range []struct {
		values  map[string]*string
		untyped int64
	}{
		{values("-5", "2024-01-02T03:04:05.678901Z", "x"), 0},
		{values("5", "2024-01-02 03:04:05", ""), 0},
		{map[string]*string{"i": nil, "at": nil, "raw": nil}, 0},
		{values("much", "2024-01-02 03:04:05", ""), 1},
		{values("5", "yesterday", ""), 1},
	} {
		sum, body := writeTyped(t, form, &action.Add{Path: "a", PartitionValues: row.values})
		require.Equal(t, row.untyped, sum.UntypedPartitions)
		require.Contains(t, columnsOf(t, body), "add.partitionValues_parsed.at")
		got, err := read(t.Context(), body)
		require.NoError(t, err)
		require.Equal(t, row.values, got[0].(*action.Add).PartitionValues)
	}
}
