package delta_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func TestSchemaPreservesUnknownMembers(t *testing.T) {
	const text = `{"type":"struct","fields":[{"name":"a","type":"long","nullable":false,"metadata":{"comment":"c","delta.columnMapping.id":1,"x":{"y":[1,2]}}},` +
		`{"name":"b","type":{"type":"array","elementType":{"type":"struct","fields":[{"name":"c","type":"decimal(12,2)","nullable":true,"metadata":{}}]},"containsNull":false},"nullable":true,"metadata":{}},` +
		`{"name":"m","type":{"type":"map","keyType":"string","valueType":"interval day to second","valueContainsNull":true},"nullable":true,"metadata":{}}]}`
	s, err := delta.ParseSchema(text)
	require.NoError(t, err)
	require.Equal(t, "c", s.Fields[0].Comment())
	require.False(t, s.Fields[0].Nullable)
	require.Equal(t, "array<struct<c:decimal(12,2)>>", s.Fields[1].Type.String())
	again, err := s.JSON()
	require.NoError(t, err)
	require.JSONEq(t, text, again)
}

func TestSchemaRefuses(t *testing.T) {
	for _, bad := range []string{
		``, `7`, `"long"`, `{}`, `{"type":"struct","fields":[{"type":"long"}]}`, `{"type":"tuple"}`,
		`{"type":"struct","fields":[{"name":"a","type":"decimal(39,1)"}]}`,
		`{"type":"struct","fields":[{"name":"a","type":"decimal(2,3)"}]}`,
		`{"type":"struct","fields":[{"name":"a"}]}`,
		`{"type":"struct","fields":[{"name":"a","name":"b","type":"long"}]}`,
		`{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}`,
	} {
		_, err := delta.ParseSchema(bad)
		require.ErrorIs(t, err, delta.ErrInvalidSchema, bad)
	}
}

// TestInvalidTablesAreRefused checks that the error names the invalid part of the
// schema.
func TestInvalidTablesAreRefused(t *testing.T) {
	field := func(name string, dt delta.DataType) delta.Field {
		return delta.Field{Name: name, Type: dt, Nullable: true}
	}
	of := func(fields ...delta.Field) delta.Struct { return delta.Struct{Fields: fields} }
	notNull := delta.Field{Name: "x", Type: delta.Long}
	id := field("id", delta.Long)
	require.NoError(t, delta.CreateOptions{Schema: of(id, notNull, field("s", of(notNull))), PartitionColumns: []string{"x"}}.Validate())
	rows := map[string]struct {
		schema     delta.Struct
		partitions []string
		part       delta.SchemaPart
		index      int
	}{
		"nothing":               {of(), nil, delta.ColumnName, -1},
		"two cases of one name": {of(id, field("ID", delta.Long)), nil, delta.ColumnName, 1},
		"space in name":         {of(id, field("a b", delta.Long)), nil, delta.ColumnName, 1},
		"empty name":            {of(field("", delta.Long)), nil, delta.ColumnName, 0},
		"void":                  {of(id, field("v", delta.Void)), nil, delta.ColumnType, 1},
		"variant":               {of(id, field("v", delta.Variant)), nil, delta.ColumnType, 1},
		"variant deep inside":   {of(field("v", delta.Map{Key: delta.String, Value: of(field("w", delta.Variant))})), nil, delta.ColumnType, 0},
		"unknown":               {of(field("v", delta.Primitive("geo"))), nil, delta.ColumnType, 0},
		"no type":               {of(field("v", nil)), nil, delta.ColumnType, 0},
		"bad decimal":           {of(field("v", delta.Decimal{Precision: 40})), nil, delta.ColumnType, 0},
		"not null in array":     {of(field("v", delta.Array{Element: of(notNull)})), nil, delta.ColumnType, 0},
		"empty struct":          {of(field("v", of())), nil, delta.ColumnType, 0},
		"member twice":          {of(field("v", of(id, field("Id", delta.Long)))), nil, delta.ColumnType, 0},
		"space in a member":     {of(field("v", of(field("a b", delta.Long)))), nil, delta.ColumnType, 0},
		"partition unknown":     {of(id, notNull), []string{"x", "y"}, delta.PartitionColumn, 1},
		"partition twice":       {of(id, notNull), []string{"x", "x"}, delta.PartitionColumn, 1},
		"partition by all":      {of(id), []string{"id"}, delta.PartitionColumn, -1},
		"partition by double":   {of(id, field("d", delta.Double)), []string{"d"}, delta.PartitionColumn, 0},
		"partition by binary":   {of(id, field("d", delta.Binary)), []string{"d"}, delta.PartitionColumn, 0},
		"partition by array":    {of(id, field("d", delta.Array{Element: delta.Long})), []string{"d"}, delta.PartitionColumn, 0},
	}
	for name, row := range rows {
		err := delta.CreateOptions{Schema: row.schema, PartitionColumns: row.partitions}.Validate()
		require.ErrorIs(t, err, delta.ErrInvalidSchema, name)
		var unfit *delta.SchemaError
		require.ErrorAs(t, err, &unfit, name)
		require.Equal(t, row.part, unfit.Part, name)
		require.Equal(t, row.index, unfit.Index, name)
		require.NotEmpty(t, unfit.Reason, name)
	}
	mapped := map[string]string{"delta.columnMapping.mode": "name"}
	require.NoError(t, delta.CreateOptions{Schema: of(field("a b;", of(field("c d", delta.Long)))), Properties: mapped}.Validate(),
		"files have other names")
	require.Error(t, delta.CreateOptions{Schema: of(field("a\x00b", delta.Long)), Properties: mapped}.Validate())
	fed := delta.CreateOptions{Schema: of(id, field("_Commit_Version", delta.Long)),
		Properties: map[string]string{"delta.enableChangeDataFeed": "true"}}
	require.ErrorIs(t, fed.Validate(), delta.ErrInvalidSchema, "writers of change feeds refuse such a table")
}

func TestEncodeStats(t *testing.T) {
	p := func(s string) *string { return &s }
	n := func(i int64) *int64 { return &i }
	nullable := func(name string, dt delta.DataType) delta.Field {
		return delta.Field{Name: name, Type: dt, Nullable: true}
	}
	long := strings.Repeat("a", 31)
	last := "\U0010FFFF"
	rows := []struct {
		name     string
		of       delta.DataType
		min, max string
		want     string // of min and max
	}{
		{"integers stay exact", delta.Long, "-9223372036854775807", "9223372036854775807", `-9223372036854775807 9223372036854775807`},
		{"zeros widen", delta.Double, "0.0", "-0.0", `-0.0 0.0`},
		{"infinities go", delta.Double, "-inf", "inf", ` `},
		{"float is short", delta.Float, "0.1", "16777216.0", `0.1 1.6777216e+07`},
		{"decimal digits", delta.Decimal{Precision: 38, Scale: 10}, "-0.0000000001", "123.4500000000", `-0.0000000001 123.4500000000`},
		{"short text", delta.String, "é", "zz", `"é" "zz"`},
		{"exactly the prefix", delta.String, long + "b", long + "b", `"` + long + `b" "` + long + `b"`},
		{"cut text", delta.String, long + "bc", long + "bc", `"` + long + `b" "` + long + `b` + "\x7f" + `"`},
		{"cut before a wide character", delta.String, long + "bé", long + "bé", `"` + long + `b" "` + long + `b` + last + `"`},
		{"cut before the last character", delta.String, "a", long + "b" + last + "c", `"a" "` + long + "b" + last + "\x7f" + `"`},
		{"nothing above", delta.String, "a", long + "b" + strings.Repeat(last, 40), `"a" `},
		{"broken text", delta.String, "\xff", "\xff", ` `},
		{"dates", delta.Date, "0001-01-01", "12345-01-01", `"0001-01-01" `},
		{"years before Christ", delta.Date, "0005-01-01 (BC)", "2024-01-01", ` "2024-01-01"`},
		{
			"instants widen", delta.Timestamp, "1969-12-31 23:59:59.999999+00", "2024-01-02 03:04:05.678901+00",
			`"1969-12-31T23:59:59.999Z" "2024-01-02T03:04:05.679Z"`,
		},
		{"whole milliseconds stay", delta.TimestampNTZ, "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678",
			`"2024-01-02T03:04:05.678" "2024-01-02T03:04:05.678"`},
		{"end of time", delta.TimestampNTZ, "2024-01-02 00:00:00", "9999-12-31 23:59:59.999999", `"2024-01-02T00:00:00.000" `},
		{"no bounds of booleans", delta.Boolean, "0", "1", ` `},
		{"no bounds of binaries", delta.Binary, "00", "FF", ` `},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			text, err := delta.EncodeStats(delta.Struct{Fields: []delta.Field{nullable("c", row.of)}}, nil, nil, 3,
				[]delta.ColumnStats{{Path: []string{"c"}, Min: &row.min, Max: &row.max, NullCount: n(1)}})
			require.NoError(t, err)
			var got struct {
				NumRecords           int64
				MinValues, MaxValues map[string]json.RawMessage
				NullCount            map[string]int64
				TightBounds          bool
			}
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.EqualValues(t, 3, got.NumRecords)
			require.True(t, got.TightBounds)
			require.Equal(t, map[string]int64{"c": 1}, got.NullCount)
			require.Equal(t, row.want, string(got.MinValues["c"])+" "+string(got.MaxValues["c"]))
		})
	}

	schema := delta.Struct{Fields: []delta.Field{
		nullable("p", delta.Long),
		nullable("st", delta.Struct{Fields: []delta.Field{nullable("x", delta.Long), nullable("y", delta.Double)}}),
		nullable("arr", delta.Array{Element: delta.Long, ContainsNull: true}),
		nullable("z", delta.Long), nullable("all_null", delta.Long),
	}}
	columns := []delta.ColumnStats{
		{Path: []string{"p"}, Min: p("1"), Max: p("1"), NullCount: n(0)},
		{Path: []string{"st", "x"}, Min: p("1"), Max: p("2"), NullCount: n(0)},
		{Path: []string{"st", "y"}, Min: p("1"), Max: p("2"), NullCount: n(0), HasNaN: true},
		{Path: []string{"arr", "element"}, Min: p("1"), Max: p("2"), NullCount: n(9)},
		{Path: []string{"z"}, Min: p("5"), Max: p("6"), NullCount: n(2)},
		{Path: []string{"all_null"}, NullCount: n(3)},
		{Path: []string{"stranger"}, Min: p("5"), Max: p("6"), NullCount: n(2)},
	}
	for props, want := range map[string]string{
		"": `{"maxValues":{"st":{"x":2},"z":6},"minValues":{"st":{"x":1},"z":5},` +
			`"nullCount":{"all_null":3,"st":{"x":0,"y":0},"z":2},"numRecords":3,"tightBounds":true}`,
		"delta.dataSkippingNumIndexedCols=1": `{"maxValues":{"st":{"x":2}},"minValues":{"st":{"x":1}},"nullCount":{"st":{"x":0}},` +
			`"numRecords":3,"tightBounds":true}`,
		"delta.dataSkippingNumIndexedCols=0": `{"maxValues":{},"minValues":{},"nullCount":{},"numRecords":3,"tightBounds":true}`,
		"delta.dataSkippingStatsColumns=`st`.x": `{"maxValues":{"st":{"x":2}},"minValues":{"st":{"x":1}},"nullCount":{"st":{"x":0}},` +
			`"numRecords":3,"tightBounds":true}`,
		"delta.dataSkippingStatsColumns=ST.X": `{"maxValues":{"st":{"x":2}},"minValues":{"st":{"x":1}},"nullCount":{"st":{"x":0}},` +
			`"numRecords":3,"tightBounds":true}`,
		"delta.dataSkippingStatsColumns=z , arr": `{"maxValues":{"z":6},"minValues":{"z":5},"nullCount":{"z":2},"numRecords":3,` +
			`"tightBounds":true}`,
	} {
		properties := map[string]string{}
		if name, v, ok := strings.Cut(props, "="); ok {
			properties[name] = v
		}
		got, err := delta.EncodeStats(schema, []string{"p"}, properties, 3, columns)
		require.NoError(t, err)
		require.Equal(t, want, got, props)
	}
}

func TestStringBoundsArePrefixes(t *testing.T) {
	schema := delta.Struct{Fields: []delta.Field{{Name: "c", Type: delta.String, Nullable: true}}}
	text := "abcdé" + strings.Repeat("z", 40)
	for length, want := range map[string]string{
		"2": `{"c":"ab"} {"c":"ab\u007f"}`, "4": `{"c":"abcd"} {"c":"abcd\U0010FFFF"}`, "45": `{"c":"` + text + `"} {"c":"` + text + `"}`,
	} {
		out, err := delta.EncodeStats(schema, nil, map[string]string{"delta.dataSkippingStringPrefixLength": length}, 1,
			[]delta.ColumnStats{{Path: []string{"c"}, Min: &text, Max: &text}})
		require.NoError(t, err)
		var got struct{ MinValues, MaxValues map[string]string }
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		want = strings.ReplaceAll(strings.ReplaceAll(want, `\U0010FFFF`, "\U0010FFFF"), `\u007f`, "\x7f")
		require.Equal(t, want, fmt.Sprintf(`{"c":"%s"} {"c":"%s"}`, got.MinValues["c"], got.MaxValues["c"]), length)
	}
}

// TestClusteringColumnsHaveStatistics checks that files have statistics of all
// clustering columns.
func TestClusteringColumnsHaveStatistics(t *testing.T) {
	b := mem.New()
	mustLog(t, b, `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["clustering","domainMetadata"]}}`+"\n"+
		metaLine("a", `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"st\",\"type\":{\"type\":\"struct\",`+
			`\"fields\":[{\"name\":\"x\",\"type\":\"long\"},{\"name\":\"y\",\"type\":\"long\"}]}}]}`,
			"", `"delta.dataSkippingNumIndexedCols":"0"`)+"\n"+
		`{"domainMetadata":{"domain":"delta.clustering","configuration":"{\"clusteringColumns\":[[\"st\",\"y\"]]}","removed":false}}`)
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	one, none := "1", int64(0)
	var columns []delta.ColumnStats
	for _, path := range [][]string{{"id"}, {"st", "x"}, {"st", "y"}} {
		columns = append(columns, delta.ColumnStats{Path: path, Min: &one, Max: &one, NullCount: &none})
	}
	text, err := s.EncodeStats(3, columns)
	require.NoError(t, err)
	require.Equal(t, `{"maxValues":{"st":{"y":1}},"minValues":{"st":{"y":1}},"nullCount":{"st":{"y":0}},"numRecords":3,"tightBounds":true}`,
		text)
}

// TestTextBoundsHold checks that a truncated maximum is not less, and a truncated
// minimum not greater, than the text in byte order, which for UTF-8 is code point
// order.
func TestTextBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune{'a', '~', 0x7f, 0x80, 'é', 0x10ffff, 0}), 0, 90, -1).Draw(t, "text")
		schema := delta.Struct{Fields: []delta.Field{{Name: "c", Type: delta.String, Nullable: true}}}
		out, err := delta.EncodeStats(schema, nil, nil, 1, []delta.ColumnStats{{Path: []string{"c"}, Min: &text, Max: &text}})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ MinValues, MaxValues map[string]string }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if got.MinValues["c"] > text {
			t.Fatalf("min %q of %q", got.MinValues["c"], text)
		}
		if upper, ok := got.MaxValues["c"]; ok && upper < text {
			t.Fatalf("max %q of %q", upper, text)
		}
	})
}

func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true},"nullable":true,"metadata":{"x":1}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := delta.ParseSchema(text)
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInvalidSchema)
			return
		}
		out, err := s.JSON()
		require.NoError(t, err)
		again, err := delta.ParseSchema(out)
		require.NoError(t, err)
		require.True(t, delta.EqualTypes(s, again))
	})
}
