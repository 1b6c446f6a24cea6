package pruning_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// log is a table as another writer leaves it.
type log struct {
	fields     string
	partitions string
	properties string
	features   string
	adds       []string
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (l log) load(t *testing.T) *delta.Snapshot {
	t.Helper()
	protocol := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	if l.features != "" {
		protocol = `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[` + l.features + `],"writerFeatures":[` +
			l.features + `]}}`
	}
	schema := `{"type":"struct","fields":[` + l.fields + `]}`
	lines := []string{protocol, `{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":` + quoted(schema) +
		`,"partitionColumns":[` + l.partitions + `],"configuration":{` + l.properties + `}}}`}
	body := strings.Join(append(lines, l.adds...), "\n")
	b := mem.New()
	require.NoError(t, b.Put(t.Context(), "_delta_log/00000000000000000000.json", strings.NewReader(body), int64(len(body))))
	s, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	return s
}

func field(name, typ string) string {
	if !strings.HasPrefix(typ, "{") {
		typ = `"` + typ + `"`
	}
	return `{"name":"` + name + `","type":` + typ + `,"nullable":true,"metadata":{}}`
}

const byName = `"delta.columnMapping.mode":"name"`

const byID = `"delta.columnMapping.mode":"id"`

func mappedField(name, stored string) string { return mappedAs(field(name, "string"), stored, 1) }

func mappedAs(field, stored string, id int) string {
	return strings.Replace(field, `{}`, fmt.Sprintf(`{"delta.columnMapping.physicalName":%q,"delta.columnMapping.id":%d}`, stored, id), 1)
}

func widenedField(name, typ string) string {
	f := field(name, typ)
	at := strings.LastIndex(f, `{}`)
	return f[:at] + `{"delta.typeChanges":[{"fromType":"integer","toType":"long"}]}` + f[at+2:]
}

func add(path, partition, stats string) string {
	if stats != "" {
		stats = `,"stats":` + quoted(stats)
	}
	return `{"add":{"path":` + quoted(path) + `,"partitionValues":{` + partition + `},"size":1,"modificationTime":1,"dataChange":true` +
		stats + `}}`
}

const fullStats = `{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0,"a":0,"m":1}}`

const arrayOfLong = `{"type":"array","elementType":"long","containsNull":true}`

const arrayOfStruct = `{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]},"containsNull":true}`

// What the list cannot serve is left to a reader of the log.
func TestTablesThatAreNotListed(t *testing.T) {
	id := field("id", "long")
	withVector := strings.Replace(add("a.parquet", "", fullStats), `"dataChange"`,
		`"deletionVector":{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,`+
			`"cardinality":6},"dataChange"`, 1)
	for name, c := range map[string]struct {
		log    log
		listed bool
	}{
		"plain":                     {log{fields: id, adds: []string{add("a.parquet", "", fullStats)}}, true},
		"empty":                     {log{fields: id}, true},
		"without statistics":        {log{fields: id, adds: []string{add("a.parquet", "", "")}}, true},
		"a name with spaces":        {log{fields: id, adds: []string{add("p=a%20b%25c/a.parquet", "", fullStats)}}, true},
		"a star":                    {log{fields: id, adds: []string{add("a*.parquet", "", fullStats)}}, true},
		"an encoded question mark":  {log{fields: id, adds: []string{add("a%3F.parquet", "", fullStats)}}, true},
		"a bracket":                 {log{fields: id, adds: []string{add("%5Ba].parquet", "", fullStats)}}, true},
		"a line break":              {log{fields: id, adds: []string{add("a%0Ab.parquet", "", fullStats)}}, true},
		"a backslash":               {log{fields: id, adds: []string{add("a%5Cb.parquet", "", fullStats)}}, true},
		"a backslash before a star": {log{fields: id, adds: []string{add("a%5C*.parquet", "", fullStats)}}, false},
		"a deletion vector":         {log{fields: id, features: `"deletionVectors"`, adds: []string{withVector}}, false},
		"an unused feature": {log{fields: id, features: `"deletionVectors"`, adds: []string{add("a.parquet", "", fullStats)}},
			true},
		"an unknown feature":   {log{fields: id, features: `"futureThing"`, adds: []string{add("a.parquet", "", fullStats)}}, false},
		"mapped columns":       {log{fields: mappedField("id", "c-1"), features: `"columnMapping"`, properties: byName}, true},
		"mapped without names": {log{fields: id, features: `"columnMapping"`, properties: byName}, false},
		"mapped to one name": {log{fields: mappedField("id", "c") + "," + mappedField("b", "C"), features: `"columnMapping"`,
			properties: byName}, false},
		"mapped by id": {log{fields: mappedField("id", "c-1"), features: `"columnMapping"`, properties: byID}, true},
		"mapped by id, one for two": {log{fields: mappedField("id", "c-1") + "," + mappedField("b", "c-2"), features: `"columnMapping"`,
			properties: byID}, false},
		"mapped by id, without one": {log{fields: id, features: `"columnMapping"`, properties: byID}, false},
		"mapped by id and nested": {log{fields: mappedField("id", "c-1") + "," + mappedAs(field("a", arrayOfLong), "c-2", 2),
			features: `"columnMapping"`, properties: byID}, true},
		"mapped and partitioned": {log{fields: mappedField("id", "c-1") + "," + mappedField("p", "c-2"), partitions: `"p"`,
			features: `"columnMapping"`, properties: byName, adds: []string{add("a.parquet", `"c-2":"x"`, "")}}, true},
		"a mapped partition's own name": {log{fields: mappedField("id", "c-1") + "," + mappedField("p", "c-2"), partitions: `"p"`,
			features: `"columnMapping"`, properties: byName, adds: []string{add("a.parquet", `"p":"x"`, "")}}, false},
		"a widened column": {log{fields: widenedField("id", "long"), features: `"typeWidening"`,
			adds: []string{add("a.parquet", "", fullStats)}}, true},
		"a widened element": {log{fields: id + "," + widenedField("a", arrayOfLong), features: `"typeWidening"`,
			adds: []string{add("a.parquet", "", fullStats)}}, true},
		"a variant": {log{fields: id + "," + field("v", "variant"), features: `"variantType"`}, true},
		"a list proved to be there": {log{fields: id + "," + field("a", arrayOfLong), adds: []string{add("a.parquet", "", fullStats)}},
			true},
		"a list that may be missing": {log{fields: id + "," + field("a", arrayOfLong), adds: []string{add("a.parquet", "", "")}}, true},
		"a member that may be missing": {log{fields: id + "," + field("m", arrayOfStruct), adds: []string{add("a.parquet", "", fullStats)}},
			true},
		"an empty table of structs": {log{fields: field("m", arrayOfStruct)}, true},
		"a partition": {log{fields: id + "," + field("p", "string"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"x"`, fullStats)}}, true},
		"a missing partition value": {log{fields: id + "," + field("p", "string"), partitions: `"p"`,
			adds: []string{add("a.parquet", ``, fullStats)}}, true},
		"a value of no partition": {log{fields: id, adds: []string{add("a.parquet", `"p":"x"`, fullStats)}}, true},
		"a partition value of no integer": {log{fields: id + "," + field("p", "integer"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"1e3"`, fullStats)}}, false},
		"a partition value out of range": {log{fields: id + "," + field("p", "byte"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"300"`, fullStats)}}, false},
		"NUL in a partition value": {log{fields: id + "," + field("p", "string"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"a\u0000"`, fullStats)}}, true},
		"a float partition": {log{fields: id + "," + field("p", "double"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"1.0"`, fullStats)}}, true},
		"a binary partition": {log{fields: id + "," + field("p", "binary"), partitions: `"p"`,
			adds: []string{add("a.parquet", `"p":"x"`, fullStats)}}, true},
		"only partition columns": {log{fields: field("p", "string"), partitions: `"p"`, adds: []string{add("a.parquet", `"p":"x"`, "")}},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			snap := c.log.load(t)
			_, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
			require.Equal(t, c.listed, ok)
		})
	}
}

// A table whose log cannot be read is listed whatever its files are, or refused.
func TestTablesThatAreOnlyListed(t *testing.T) {
	columns := mappedField("id", "c-1") + "," + mappedField("p", "c-2")
	nestedColumn := strings.Replace(field("m", arrayOfStruct), `"metadata":{}}]},"containsNull":true},"nullable":true,"metadata":{}`,
		`"metadata":{"delta.columnMapping.physicalName":"c-4"}}]},"containsNull":true},"nullable":true,`+
			`"metadata":{"delta.columnMapping.physicalName":"c-3"}`, 1)
	var many []string
	for i := range 100 {
		many = append(many, add(fmt.Sprintf("%03d.parquet", i), fmt.Sprintf(`"c-2":"v%d"`, i), ""))
	}
	withVector := strings.Replace(many[0], `"dataChange"`,
		`"deletionVector":{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,`+
			`"cardinality":6},"dataChange"`, 1)
	for name, c := range map[string]struct {
		log              log
		read, restricted bool
	}{
		"many values":          {log{fields: columns, adds: many}, true, true},
		"nested":               {log{fields: columns + "," + nestedColumn, adds: many}, true, true},
		"vectors are possible": {log{fields: columns, features: `,"deletionVectors"`, adds: many}, true, false},
		"a deletion vector": {log{fields: columns, features: `,"deletionVectors"`, adds: append([]string{withVector}, many[1:]...)},
			false, false},
		"a name that no list takes": {log{fields: columns, adds: append([]string{add("a%5C*.parquet", `"c-2":"x"`, "")}, many[1:]...)}, true,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			c.log.features, c.log.partitions, c.log.properties = `"columnMapping"`+c.log.features, `"p"`, byName
			snap := c.log.load(t)
			refused := map[bool]error{false: pruning.Check(snap), true: pruning.CheckRestricted(snap)}
			for restricted, readable := range map[bool]bool{false: c.read, true: c.restricted} {
				list := pruning.List
				if restricted {
					list = pruning.ListRestricted
				}
				if !readable {
					require.ErrorIs(t, refused[restricted], delta.ErrUnsupportedFeature)
					continue
				}
				require.NoError(t, refused[restricted])
				files, ok := list(snap, columnsOf(snap.Schema()), engine.Condition{})
				require.True(t, ok)
				require.Equal(t, 100, files.Len())
				require.Equal(t, "c-1", files.Stored[0].Name)
			}
		})
	}
	plain := log{fields: field("id", "long")}.load(t)
	require.NoError(t, pruning.Check(plain))
	require.NoError(t, pruning.CheckRestricted(plain))
}

// TestTablesWithVariantsAreReadAsLists checks that tables with variants are read as lists
// only, and that the counts of NULLs in their statistics are ignored.
func TestTablesWithVariantsAreReadAsLists(t *testing.T) {
	snap := log{fields: field("id", "long") + "," + field("v", "variant"), features: `"variantType"`, adds: []string{
		add("a.parquet", "", `{"numRecords":2,"nullCount":{"id":0,"v":0}}`),
	}}.load(t)
	require.NoError(t, pruning.Check(snap))
	require.NoError(t, pruning.CheckRestricted(snap))
	require.ErrorIs(t, delta.CheckScannable(snap), delta.ErrUnsupportedFeature)
	for _, op := range []engine.ConditionOp{engine.ConditionIsNull, engine.ConditionEqual} {
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: op, Column: "v", Values: []engine.ConditionValue{"x"}})
		require.True(t, ok)
		require.Equal(t, 1, list.Len(), op)
		require.Equal(t, "VARCHAR", list.Columns[1].Type.String())
		require.Equal(t, "VARIANT", list.Stored[1].Type.String())
		require.Len(t, list.Parts, 2)
	}
	list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: engine.ConditionIsNull, Column: "id"})
	require.True(t, ok)
	require.Zero(t, list.Len())
}

// One value has several forms in the log, and ” is NULL.
func TestGroupsAreByValue(t *testing.T) {
	var adds []string
	for i, p := range []string{`"2024-01-02T03:04:05.000000Z"`, `"2024-01-02 03:04:05"`, `""`, `null`, `"2024-01-02 04:04:05+01"`} {
		adds = append(adds, add(fmt.Sprintf("%d.parquet", i), `"p":`+p, fullStats))
	}
	snap := log{fields: field("id", "long") + "," + field("p", "timestamp"), partitions: `"p"`, adds: adds}.load(t)
	list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
	require.True(t, ok)
	stamp := engine.FileStamp{Size: 1, Modified: 1}
	require.Equal(t, []engine.FileGroup{
		{Partition: map[string]*string{"p": nil}, Paths: []string{"2.parquet", "3.parquet"}, Stamps: []engine.FileStamp{stamp, stamp}},
		{Partition: map[string]*string{"p": ptr("2024-01-02 03:04:05+00")}, Paths: []string{"0.parquet", "1.parquet", "4.parquet"},
			Stamps: []engine.FileStamp{stamp, stamp, stamp}},
	}, list.Groups)
}

// The order of rows of other files does not depend on a file without visible rows.
func TestOrderDoesNotTellOfOtherFiles(t *testing.T) {
	adds := []string{add("b.parquet", `"p":"1"`, fullStats), add("c.parquet", `"p":"2"`, fullStats)}
	paths := func(adds ...string) (out []string) {
		snap := log{fields: field("id", "long") + "," + field("p", "integer"), partitions: `"p"`, adds: adds}.load(t)
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
		require.True(t, ok)
		for _, g := range list.Groups {
			out = append(out, g.Paths...)
		}
		return out
	}
	require.Equal(t, []string{"b.parquet", "c.parquet"}, paths(adds...))
	require.Equal(t, []string{"b.parquet", "a.parquet", "c.parquet"}, paths(append(adds, add("a.parquet", `"p":"2"`, fullStats))...))
}

func TestManyPartitionsAreListedOnlyWhenPruned(t *testing.T) {
	var adds []string
	for i := range 65 {
		adds = append(adds, add(fmt.Sprintf("%d.parquet", i), fmt.Sprintf(`"p":"%d"`, i), fullStats))
	}
	snap := log{fields: field("id", "long") + "," + field("p", "integer"), partitions: `"p"`, adds: adds}.load(t)
	_, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
	require.False(t, ok)
	list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: engine.ConditionGreater, Column: "p",
		Values: []engine.ConditionValue{"0"}})
	require.True(t, ok)
	require.Len(t, list.Groups, 64)
}

// Whether a reader who does not see every row gets a list is the same whatever
// files there are.
func TestListsOfRestrictedReadersDoNotFollowFromFiles(t *testing.T) {
	var many []string
	for i := range 70 {
		many = append(many, add(fmt.Sprintf("%d.parquet", i), fmt.Sprintf(`"p":"%d"`, i), fullStats))
	}
	partitioned := log{fields: field("id", "long") + "," + field("p", "integer"), partitions: `"p"`}
	for _, adds := range [][]string{many[:1], many} {
		partitioned.adds = adds
		snap := partitioned.load(t)
		list, ok := pruning.ListRestricted(snap, columnsOf(snap.Schema()), engine.Condition{})
		require.True(t, ok)
		require.Len(t, list.Groups, len(adds))
	}
	for _, name := range []string{"*.parquet", "%5B%5C%0A%7B%23%3F.parquet"} {
		partitioned.adds = append(many[:1:1], add(name, `"p":"9"`, fullStats))
		snap := partitioned.load(t)
		list, ok := pruning.ListRestricted(snap, columnsOf(snap.Schema()), engine.Condition{})
		require.True(t, ok, name)
		require.Len(t, list.Groups, 2, name)
	}
	nested := log{fields: field("id", "long") +
		`,{"name":"l","type":{"type":"array","elementType":"long","containsNull":true},"nullable":true,"metadata":{}}`}
	for _, stats := range []string{"", fullStats} {
		nested.adds = []string{add("a.parquet", "", stats)}
		snap := nested.load(t)
		_, ok := pruning.ListRestricted(snap, columnsOf(snap.Schema()), engine.Condition{})
		require.True(t, ok, stats)
	}
}

func TestUniform(t *testing.T) {
	fields := field("id", "long") + "," + field("s", "string")
	all := `{"numRecords":2,"minValues":{"id":1,"s":"a"},"maxValues":{"id":2,"s":"b"},"nullCount":{"id":0,"s":1}}`
	for stats, want := range map[string]bool{
		all: true,
		`{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0,"s":1}}`:    true,
		`{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0,"s":2}}`:    false,
		`{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}`:          false,
		`{"numRecords":2,"minValues":{"id":1,"s":null},"maxValues":{"id":2},"nullCount":{"id":0}}`: false,
		`{"minValues":{"id":1,"s":"a"}}`: false,
		"":                               false,
	} {
		snap := log{fields: fields, adds: []string{add("a.parquet", "", all), add("b.parquet", "", stats)}}.load(t)
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
		require.True(t, ok)
		require.Equal(t, want, list.Uniform, stats)
	}
}

// A file that is not listed does not count for whether the list is uniform.
func TestUniformIsOfTheListedFiles(t *testing.T) {
	snap := log{fields: field("id", "long"), adds: []string{
		add("a.parquet", "", `{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}`),
		add("b.parquet", "", `{"numRecords":1,"nullCount":{"id":1}}`),
	}}.load(t)
	list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: engine.ConditionIsNotNull, Column: "id"})
	require.True(t, ok && list.Uniform)
	require.Equal(t, []string{"a.parquet"}, paths(list))
}

// Statistics that cannot be trusted skip nothing.
func TestDoubtfulStatistics(t *testing.T) {
	five := engine.Condition{Op: engine.ConditionEqual, Column: "id", Values: []engine.ConditionValue{"5"}}
	for stats, listed := range map[string]bool{
		`{"numRecords":1,"minValues":{"id":6},"maxValues":{"id":7},"nullCount":{"id":0}}`:                     false,
		`{"tightBounds":false,"nullCount":{"id":0},"maxValues":{"id":7},"minValues":{"id":6},"numRecords":1}`: false,
		`{"numRecords":1,"nullCount":{"id":1}}`:                                                               false,
		`{"numRecords":2,"nullCount":{"id":1}}`:                                                               true,
		`{"numRecords":1,"minValues":{"id":6},"maxValues":{"id":7}`:                                           true,
		`{"numRecords":1,"minValues":{"id":6},"maxValues":{"id":7}} x`:                                        true,
		`{"numRecords":1,"minValues":{"id":"6"},"maxValues":{"id":"7"}}`:                                      true,
		`{"numRecords":1,"minValues":{"id":6.5},"maxValues":{"id":7e0}}`:                                      true,
		`{"numRecords":1,"minValues":{"id":99999999999999999999},"maxValues":{"id":999999999999999999999}}`:   true,
		`{"numRecords":1,"minValues":{"id":6},"minValues":{"id":1},"maxValues":{"id":7}}`:                     true,
		`{"numRecords":-1,"minValues":{"id":6},"maxValues":{"id":7},"nullCount":{"id":-1}}`:                   true,
		`{"minValues":{"id":6},"maxValues":{"id":7}}`:                                                         true,
		`{"numRecords":1,"minValues":[6],"maxValues":{"ID":1}}`:                                               true,
		`{"numRecords":1,"minValues":{"i\u0064":6},"maxValues":{"id":7}}`:                                     false,
		`[]`: true,
		``:   true,
	} {
		snap := log{fields: field("id", "long"), adds: []string{add("a.parquet", "", stats)}}.load(t)
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), five)
		require.True(t, ok)
		require.Equal(t, listed, list.Len() == 1, stats)
	}
}

// Conditions that do not fit the table skip nothing by themselves.
func TestOddConditions(t *testing.T) {
	snap := log{fields: field("id", "long") + "," + field("f", "double") + "," + field("d", "decimal(10,2)") + "," + field("t", "timestamp"),
		adds: []string{
			add("a.parquet", "", `{"numRecords":1,"minValues":{"id":6,"f":1.0,"d":1.5,"t":"2024-01-01T00:00:00"},"maxValues":{"id":7,"f":2.0,`+
				`"d":1.5,"t":"2024-01-01T00:00:00"},"nullCount":{"id":0,"f":0,"d":0,"t":0}}`),
		}}.load(t)
	equal := func(column, value string) engine.Condition {
		return engine.Condition{Op: engine.ConditionEqual, Column: column, Values: []engine.ConditionValue{engine.ConditionValue(value)}}
	}
	for _, c := range []engine.Condition{
		{}, {Op: 99, Column: "id"}, {Op: engine.ConditionEqual, Column: "id"}, {Op: engine.ConditionAnd},
		equal("ID", "1"), equal("missing", "1"), equal("id", "x"), equal("id", "1.5"), equal("f", "9"), equal("d", "1.505"), equal("d", "1e0x"),
		equal("t", "2030-01-01 00:00:00"), // the bound has no offset
		{Op: engine.ConditionOr, Children: []engine.Condition{equal("id", "1"), equal("missing", "1")}},
	} {
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), c)
		require.True(t, ok)
		require.Equal(t, 1, list.Len(), "%+v", c)
	}
	for _, c := range []engine.Condition{
		{Op: engine.ConditionNever}, {Op: engine.ConditionOr}, equal("id", "1"), equal("d", "1.51"), {Op: engine.ConditionIsNull, Column: "f"},
		{Op: engine.ConditionAnd, Children: []engine.Condition{equal("missing", "1"), equal("id", "1")}},
	} {
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), c)
		require.True(t, ok)
		require.Zero(t, list.Len(), "%+v", c)
		require.Empty(t, list.Groups)
	}
}

// The next version accounts for added and for removed files.
func TestNextVersion(t *testing.T) {
	schema := delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}}
	named := func(name string, n int) delta.AddFile {
		return delta.AddFile{Name: name, Size: 1, ModTime: time.Unix(1, 0),
			Stats: fmt.Sprintf(`{"numRecords":1,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, n, n)}
	}
	is := func(n string) engine.Condition {
		return engine.Condition{Op: engine.ConditionEqual, Column: "id", Values: []engine.ConditionValue{engine.ConditionValue(n)}}
	}
	find := func(s *delta.Snapshot, n string) []string {
		list, ok := pruning.List(s, columnsOf(schema), is(n))
		require.True(t, ok)
		return paths(list)
	}
	first := mustTable(t, schema, nil, []delta.AddFile{named("b", 1), named("d", 2)})
	require.Equal(t, []string{"b"}, find(first, "1"))
	second := mustAdd(t, first, named("a", 2), named("c", 3))
	require.Equal(t, []string{"a", "d"}, find(second, "2"))
	require.Equal(t, []string{"c"}, find(second, "3"))
	txn := second.Begin(delta.Operation{Name: "OPTIMIZE"})
	for f := range second.Files() {
		if f.Name == "b" || f.Name == "d" {
			require.NoError(t, txn.Remove(true, f))
		}
	}
	rewritten := named("bb", 1)
	rewritten.Rearranged = true
	require.NoError(t, txn.Add(rewritten))
	third, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"bb"}, find(third, "1"))
	require.Equal(t, []string{"a"}, find(third, "2"))
	require.Equal(t, []string{"b"}, find(first, "1"), "the old version stays what it was")
}

// A list without anything skipped is made once.
func TestFullListIsShared(t *testing.T) {
	snap := log{fields: field("id", "long"), adds: []string{add("a.parquet", "", fullStats)}}.load(t)
	one, _ := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
	two, _ := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: engine.ConditionIsNotNull, Column: "id"})
	require.Same(t, one, two)
	three, _ := pruning.List(snap, []engine.Column{{Name: "id", Type: sqltype.Integer}}, engine.Condition{})
	require.NotEqual(t, one.Digest(), three.Digest())
}

// Concurrent statements share what is parsed.
func TestConcurrentLists(t *testing.T) {
	var adds []string
	for i := range 50 {
		adds = append(adds,
			add(fmt.Sprintf("%02d.parquet", i), "", fmt.Sprintf(`{"numRecords":1,"minValues":{"c%d":%d},"maxValues":{"c%d":%d},"nullCount":{}}`,
				i%40,
				i, i%40, i)))
	}
	var fields []string
	for i := range 40 {
		fields = append(fields, field(fmt.Sprintf("c%d", i), "long"))
	}
	snap := log{fields: strings.Join(fields, ","), adds: adds}.load(t)
	columns := columnsOf(snap.Schema())
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				n := (worker*7 + i) % 40
				column := fmt.Sprintf("c%d", n)
				list, ok := pruning.List(snap, columns, engine.Condition{Op: engine.ConditionEqual, Column: column,
					Values: []engine.ConditionValue{"-1"}})
				want := 49 // those that say nothing of the column
				if n < 10 {
					want = 48
				}
				if !ok || list.Len() != want {
					t.Errorf("%s: %v, %d files", column, ok, list.Len())
				}
			}
		})
	}
	group.Wait()
}

// Bounds that writers may have moved inwards are widened.
func TestBoundsAreTakenWithCare(t *testing.T) {
	forty := strings.Repeat("k", 40)
	for _, c := range []struct {
		typ, min, max, value string
		listed               bool
	}{
		// A maximum that was cut without a tie-breaker.
		{"string", `"a"`, quoted(forty[:32]), forty, true},
		{"string", `"a"`, quoted(forty[:32]), forty[:31] + "l", false},
		{"string", `"a"`, quoted(forty[:31]), forty, false},
		// Days of the Julian calendar are up to ten days off.
		{"date", `"1500-01-01"`, `"1500-12-31"`, "1499-12-25", true},
		{"date", `"1600-01-01"`, `"1600-12-31"`, "1599-12-25", false},
		{"timestamp", `"1899-06-01T00:00:00.000Z"`, `"1899-06-02T00:00:00.000Z"`, "1899-06-02 00:10:00", true},
		{"timestamp", `"1999-06-01T00:00:00.000Z"`, `"1999-06-02T00:00:00.000Z"`, "1999-06-02 00:00:00.000999", true},
		{"timestamp", `"1999-06-01T00:00:00.000Z"`, `"1999-06-02T00:00:00.000Z"`, "1999-06-02 00:00:00.001", false},
		{"timestamp", `"1999-06-01T00:00:00.000+02:00"`, `"1999-06-02T00:00:00.000+02:00"`, "1999-06-01 22:00:00.001", false},
		{"timestamp_ntz", `"1999-06-01T00:00:00.000Z"`, `"1999-06-02T00:00:00.000Z"`, "2030-01-01 00:00:00", true},
		{"timestamp_ntz", `"1999-06-01 00:00:00"`, `"1999-06-02 00:00:00"`, "2030-01-01 00:00:00", false},
		// A passage through float64 loses digits beyond the fifteenth.
		{"decimal(38,2)", `0.05`, `1.2345678901234568e+20`, "123456789012345680000.01", true},
		{"decimal(38,2)", `0.05`, `1.2345678901234568e+20`, "123456789012346000000.00", false},
		{"decimal(15,2)", `0.05`, `1.01`, "1.02", false},
		{"boolean", `false`, `false`, "true", false},
	} {
		snap := log{fields: field("id", c.typ), features: `"timestampNtz"`, adds: []string{
			add("a.parquet", "", `{"numRecords":9,"minValues":{"id":`+c.min+`},"maxValues":{"id":`+c.max+`},"nullCount":{"id":0}}`),
		}}.load(t)
		list, ok := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{Op: engine.ConditionEqual, Column: "id",
			Values: []engine.ConditionValue{engine.ConditionValue(c.value)}})
		require.True(t, ok)
		require.Equal(t, c.listed, list.Len() == 1, "%+v", c)
	}
}

// What was proved of a file holds for it in the next version, and for no other.
func TestProofsGoOn(t *testing.T) {
	uniform := func(s *delta.Snapshot) bool {
		list, ok := pruning.List(s, columnsOf(s.Schema()), engine.Condition{})
		require.True(t, ok)
		return list.Uniform
	}
	const proving = `{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}`
	first := log{fields: field("id", "long"), adds: []string{`{"commitInfo":{"engineInfo":"another"}}`, add("b.parquet", "", proving)}}.load(t)
	require.True(t, uniform(first))
	named := func(name, stats string) delta.AddFile {
		return delta.AddFile{Name: name, Size: 1, ModTime: time.Unix(1, 0), Stats: stats}
	}
	second := mustAdd(t, first, named("c.parquet", proving))
	require.False(t, second.WholeFiles())
	require.True(t, uniform(second))
	third := mustAdd(t, second, named("a.parquet", `{"numRecords":1}`))
	require.False(t, uniform(third))
	fourth := mustAdd(t, third, named("d.parquet", proving))
	require.False(t, uniform(fourth))
}
