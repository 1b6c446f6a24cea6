package pruning_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A row holds, by column, nil or the text of a value as an engine.ConditionValue. The oracle below
// compares such texts by their type, without statistics.
type row map[string]*string

type file struct {
	name string
	rows []row
}

func compareTexts(t delta.DataType, a, b string) int {
	switch t {
	case delta.String:
		return strings.Compare(a, b)
	case delta.Boolean:
		return strings.Compare(a, b) // false, true
	case delta.Date:
		return mustTime(time.DateOnly, a).Compare(mustTime(time.DateOnly, b))
	case delta.Timestamp, delta.TimestampNTZ:
		return mustTime(time.DateTime, a).Compare(mustTime(time.DateTime, b))
	}
	return mustNumber(a).Cmp(mustNumber(b))
}

func mustTime(layout, text string) time.Time {
	at, err := time.Parse(layout, text)
	if err != nil {
		panic(err)
	}
	return at
}

func mustNumber(text string) *big.Rat {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	return n
}

// satisfies evaluates a condition over a row.
func satisfies(schema delta.Struct, c engine.Condition, r row) bool {
	child := func(k engine.Condition) bool { return satisfies(schema, k, r) }
	switch c.Op {
	case engine.ConditionUnknown:
		return true
	case engine.ConditionNever:
		return false
	case engine.ConditionAnd:
		return !slices.ContainsFunc(c.Children, func(k engine.Condition) bool { return !child(k) })
	case engine.ConditionOr:
		return slices.ContainsFunc(c.Children, child)
	}
	f, _ := schema.Field(c.Column)
	v := r[c.Column]
	switch {
	case c.Op == engine.ConditionIsNull || v == nil:
		return v == nil && c.Op == engine.ConditionIsNull
	case c.Op == engine.ConditionIsNotNull:
		return true
	}
	return slices.ContainsFunc(c.Values, func(value engine.ConditionValue) bool {
		order := compareTexts(f.Type, *v, string(value))
		switch c.Op {
		case engine.ConditionNotEqual:
			return order != 0
		case engine.ConditionLess:
			return order < 0
		case engine.ConditionLessOrEqual:
			return order <= 0
		case engine.ConditionGreater:
			return order > 0
		case engine.ConditionGreaterOrEqual:
			return order >= 0
		}
		return order == 0
	})
}

var long = strings.Repeat("a", 31)

// pools are values in ascending order: a file takes its own from a few
// neighbours, so that files differ in what they can hold.
var pools = map[string]struct {
	typ   delta.DataType
	texts []string
}{
	"l": {delta.Long, []string{"-9223372036854775808", "-9007199254740993", "-1", "0", "1", "2", "9007199254740992", "9007199254740993",
		"9223372036854775806", "9223372036854775807"}},
	"i":  {delta.Integer, []string{"-2147483648", "-5", "0", "7", "8", "9", "2147483647"}},
	"sh": {delta.Short, []string{"-32768", "-1", "0", "1", "32767"}},
	"b":  {delta.Byte, []string{"-128", "0", "1", "2", "127"}},
	"d":  {delta.Decimal{Precision: 10, Scale: 2}, []string{"-99999999.99", "-1.50", "-0.01", "0.00", "0.01", "1.50", "1.51", "99999999.99"}},
	"d18": {delta.Decimal{Precision: 18, Scale: 2}, []string{"-9999999999999999.99", "0.00", "1234567890123456.78", "1234567890123456.79",
		"9999999999999999.99"}},
	"d38": {delta.Decimal{Precision: 38, Scale: 10}, []string{
		"-9999999999999999999999999999.9999999999", "-12345678901234567.8900000001", "-0.0000000001", "0.0000000000", "0.0000000001",
		"12345678901234567.8900000000", "12345678901234567.8900000001", "12345678901234569.0000000000",
		"9999999999999999999999999999.9999999999"}},
	"s": {delta.String, []string{"", " ", "A", "EU", "EU-west", "a", long, long + "a", long + "aa", long + "ab", long + "b", long + "\u007f",
		long + "\u007fz",
		long + "é" + "x", long + "é" + "y", long + "\ufffd" + "a", long + "\U0001f600" + "a", long + strings.Repeat("\U0010ffff", 3), long +
			strings.Repeat("\U0010ffff", 70) + "a",
		"b", "quote\"back\\slash", "zoë", "日本", "\ue000", "\U0001f600", strings.Repeat("\U0010ffff", 32), strings.Repeat("\U0010ffff", 33),
		strings.Repeat("\U0010ffff", 80)}},
	"dt": {delta.Date, []string{"0001-01-01", "1000-02-28", "1582-10-14", "1582-10-15", "1969-12-31", "1970-01-01", "2024-02-28", "2024-02-29",
		"2024-03-01", "9999-12-31"}},
	"ts": {delta.Timestamp, instants},
	"tn": {delta.TimestampNTZ, instants},
	"bo": {delta.Boolean, []string{"false", "true"}},
}

var instants = []string{
	"0001-01-01 00:00:00", "1883-11-18 00:00:00.5", "1899-12-31 23:59:59.999999", "1900-01-01 00:00:00.000001", "1969-12-31 23:59:59.998001",
	"1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2024-02-29 10:30:00.001", "2024-02-29 10:30:00.0019", "2024-02-29 10:30:00.001999",
	"2024-02-29 10:30:00.002", "2024-02-29 10:30:01", "9999-12-31 23:59:59.999", "9999-12-31 23:59:59.999999",
}

// columnOrder is that of the schema.
var columnOrder = []string{"l", "i", "sh", "b", "d", "d18", "d38", "s", "dt", "ts", "tn", "bo"}

var allColumns = func() delta.Struct {
	var s delta.Struct
	for _, name := range columnOrder {
		s.Fields = append(s.Fields, delta.Field{Name: name, Type: pools[name].typ, Nullable: true})
	}
	return s
}()

func ptr[T any](v T) *T { return &v }

// drawValue draws from a few neighbours of a column's pool, or NULL.
func drawValue(t *rapid.T, name string, low, width, nulls int) *string {
	pool := pools[name].texts
	if rapid.IntRange(0, 9).Draw(t, "null") < nulls {
		return nil
	}
	return ptr(pool[min(low+rapid.IntRange(0, width).Draw(t, "value"), len(pool)-1)])
}

// drawFile draws rows whose partition columns have one value.
func drawFile(t *rapid.T, number int, partitions []string) file {
	f := file{name: fmt.Sprintf("part-%05d.parquet", number), rows: make([]row, rapid.IntRange(1, 4).Draw(t, "rows"))}
	for i := range f.rows {
		f.rows[i] = row{}
	}
	for _, name := range columnOrder {
		low := rapid.IntRange(0, len(pools[name].texts)-1).Draw(t, "low")
		width := rapid.IntRange(0, 3).Draw(t, "width")
		nulls := rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(t, "nulls")
		constant := drawValue(t, name, low, width, nulls)
		if constant != nil && *constant == "" {
			constant = nil // the log cannot tell the two apart
		}
		for _, r := range f.rows {
			if slices.Contains(partitions, name) {
				r[name] = constant
			} else {
				r[name] = drawValue(t, name, low, width, nulls)
			}
		}
	}
	return f
}

var comparisons = []engine.ConditionOp{
	engine.ConditionEqual, engine.ConditionNotEqual, engine.ConditionLess, engine.ConditionLessOrEqual,
	engine.ConditionGreater, engine.ConditionGreaterOrEqual, engine.ConditionIn, engine.ConditionIsNull, engine.ConditionIsNotNull,
}

func drawCondition(t *rapid.T, depth int) engine.Condition {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth > 0 && kind < 4 {
		parts := make([]engine.Condition, rapid.IntRange(1, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = drawCondition(t, depth-1)
		}
		return engine.Condition{Op: engine.ConditionAnd + engine.ConditionOp(kind%2), Children: parts}
	}
	switch rapid.IntRange(0, 30).Draw(t, "rare") {
	case 0:
		return engine.Condition{}
	case 1:
		return engine.Condition{Op: engine.ConditionNever}
	}
	name := rapid.SampledFrom(columnOrder).Draw(t, "column")
	c := engine.Condition{Op: rapid.SampledFrom(comparisons).Draw(t, "op"), Column: name}
	values := 1
	switch c.Op {
	case engine.ConditionIsNull, engine.ConditionIsNotNull:
		values = 0
	case engine.ConditionIn:
		values = rapid.IntRange(1, 4).Draw(t, "values")
	}
	for range values {
		c.Values = append(c.Values, engine.ConditionValue(rapid.SampledFrom(pools[name].texts).Draw(t, "constant")))
	}
	return c
}

// mustTable commits files with statistics to a new table.
func mustTable(t require.TestingT, schema delta.Struct, partitions []string, adds []delta.AddFile) *delta.Snapshot {
	s, err := delta.Create(background(), mem.New(), delta.CreateOptions{Schema: schema, PartitionColumns: partitions})
	require.NoError(t, err)
	return mustAdd(t, s, adds...)
}

func mustAdd(t require.TestingT, s *delta.Snapshot, adds ...delta.AddFile) *delta.Snapshot {
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(adds...))
	next, err := txn.Commit(background())
	require.NoError(t, err)
	return next
}

// addOf describes a file as a writer of statistics would.
func addOf(t require.TestingT, schema delta.Struct, f file, partitions []string, stats string) delta.AddFile {
	add := delta.AddFile{Name: f.name, Size: 1, ModTime: time.Unix(1, 0), Stats: stats, PartitionValues: map[string]*string{}}
	for _, name := range partitions {
		field, _ := schema.Field(name)
		v, err := delta.PartitionValue(field.Type, f.rows[0][name])
		require.NoError(t, err)
		add.PartitionValues[name] = v
	}
	return add
}

func columnsOf(schema delta.Struct) []engine.Column {
	var out []engine.Column
	for _, f := range schema.Fields {
		out = append(out, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: f.Nullable})
	}
	return out
}

func paths(l *engine.FileList) []string {
	var out []string
	for _, g := range l.Groups {
		out = append(out, g.Paths...)
	}
	slices.Sort(out)
	return out
}

func background() context.Context { return context.Background() }
