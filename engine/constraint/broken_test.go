package constraint_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// relation has rows of VALUES, with their numbers.
func relation(columns string, rows ...string) constraint.Relation {
	for i, r := range rows {
		rows[i] = fmt.Sprintf("(%s, %d)", r, i)
	}
	return constraint.Relation{From: "(SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(" + columns + ", n))", Row: "n"}
}

func created(t *testing.T, schema delta.Struct, properties map[string]string) *delta.Snapshot {
	t.Helper()
	snap, err := delta.Create(t.Context(), mem.New(), delta.CreateOptions{Schema: schema, Properties: properties})
	require.NoError(t, err)
	return snap
}

func check(t *testing.T, schema delta.Struct, name, text string) constraint.Rule {
	t.Helper()
	c, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
	require.NoError(t, err, text)
	return constraint.CheckRule(name, c)
}

func TestTheFirstClassThatIsBrokenIsReported(t *testing.T) {
	s, schema := scope(t), columns(t, "a", "integer", "b", "string")
	list := []constraint.Rule{
		constraint.RequireColumn("b"), check(t, schema, "positive", "a > 0"), check(t, schema, "square", "a * a >= a"),
		constraint.RowFilter(`r."b" = 'mine'`),
	}
	report, err := s.Broken(t.Context(), list, relation("a, b", "1, 'other'", "-1, NULL", "NULL, 'mine'"))
	require.NoError(t, err)
	require.Equal(t, constraint.Report{Breaches: []constraint.Breach{{Rule: 0, Row: 1}}, Total: 1}, report)

	report, err = s.Broken(t.Context(), list, relation("a, b", "-1, 'other'", "NULL, 'mine'", "50000, 'mine'"))
	require.NoError(t, err)
	require.Equal(t, constraint.Report{Breaches: []constraint.Breach{{1, 0}, {1, 1}, {2, 1}, {2, 2}}, Total: 4}, report,
		"NULL breaks a check, and so does an overflow")

	report, err = s.Broken(t.Context(), list, relation("a, b", "0, 'mine'", "-2147483647, 'other'"))
	require.NoError(t, err)
	require.Equal(t, []constraint.Breach{{1, 0}, {1, 1}, {2, 1}}, report.Breaches)

	report, err = s.Broken(t.Context(), list[3:], relation("a, b", "1, 'other'", "1, 'mine'", "1, NULL"))
	require.NoError(t, err)
	require.Equal(t, constraint.Report{Breaches: []constraint.Breach{{0, 0}, {0, 2}}, Total: 2}, report)

	report, err = s.Broken(t.Context(), list[:3],
		constraint.Relation{From: "(SELECT -x AS a, NULL::VARCHAR AS b, x AS n FROM range(100000) g(x))", Row: "n"})
	require.NoError(t, err)
	require.Len(t, report.Breaches, constraint.MaxReported)
	require.EqualValues(t, 100000, report.Total)
	require.Equal(t, constraint.Breach{Rule: 0, Row: 99}, report.Breaches[99])

	n, err := s.CountBroken(t.Context(), list[1], constraint.Relation{From: "(SELECT x AS a FROM range(-3, 5) g(x))"})
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
}

func TestRulesOfASnapshot(t *testing.T) {
	s := scope(t)
	schema := columns(t, "a", "integer", "st", "struct<x:integer NOT NULL,in:struct<y:string NOT NULL>>", "list", "array<integer>", "m",
		"map<string,integer>")
	schema.Fields[0].Nullable = false
	schema.Fields[0].Metadata = map[string]json.RawMessage{"delta.invariants": json.RawMessage(`"{\"expression\":{\"expression\":\"a < ` +
		`100\"}}"`)}
	schema.Fields[2].Type = delta.Array{Element: delta.Integer}
	schema.Fields[3].Type = delta.Map{Key: delta.String, Value: delta.Integer}
	snap := created(t, schema, map[string]string{"delta.constraints.odd": "`a` % 2 = 1"})
	set, err := constraint.Of(snap)
	require.NoError(t, err)
	require.NoError(t, set.Add(t.Context(), sharedParser(), "kept", "a <> 7"))
	var names []string
	for _, r := range set.Rows() {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"a", "st.x", "st.in.y", "list.element", "m.value", "a", "odd", "kept"}, names)

	good := "3, {'x': 1, 'in': {'y': 'q'}}, [1], MAP {'k': 1}"
	for row, rule := range map[string]int{
		good: -1,
		"NULL, {'x': 1, 'in': {'y': 'q'}}, [1], MAP {'k': 1}": 0,
		"3, {'x': NULL, 'in': {'y': 'q'}}, [1], MAP {'k': 1}": 1,
		"3, NULL, [], NULL":                                           -1, // what is not there has no members
		"3, {'x': 1, 'in': NULL}, [1], MAP {'k': 1}":                  -1,
		"3, {'x': 1, 'in': {'y': NULL}}, [1], MAP {'k': 1}":           2,
		"3, {'x': 1, 'in': {'y': 'q'}}, [1, NULL, 2], MAP {'k': 1}":   3,
		"3, {'x': 1, 'in': {'y': 'q'}}, [1], MAP {'k': 1, 'l': NULL}": 4,
		"101, {'x': 1, 'in': {'y': 'q'}}, [1], NULL":                  5,
		"4, {'x': 1, 'in': {'y': 'q'}}, [1], NULL":                    6,
		"7, {'x': 1, 'in': {'y': 'q'}}, [1], NULL":                    7,
	} {
		report, err := s.Broken(t.Context(), set.Rows(), relation("a, st, list, m", row, good))
		require.NoError(t, err, row)
		if rule < 0 {
			require.Zero(t, report.Total, row)
		} else {
			require.Equal(t, []constraint.Breach{{Rule: rule, Row: 0}}, report.Breaches, row)
		}
	}
}

func TestAConstraintWithoutCertainMeaningRefusesTheWriteByName(t *testing.T) {
	snap := created(t, columns(t, "name", "string"), map[string]string{"delta.constraints.caps": "upper(name) = name"})
	_, err := constraint.Of(snap)
	var feature *delta.FeatureError
	require.ErrorAs(t, err, &feature)
	require.Equal(t, "CHECK constraint caps", feature.Feature)
	require.True(t, feature.Write)

	set, err := constraint.Of(created(t, columns(t, "name", "string"), nil))
	require.NoError(t, err)
	require.ErrorIs(t, set.Add(t.Context(), sharedParser(), "gone", "dropped > 1"), delta.ErrUnsupportedFeature)
}

func TestKeysAreReadAsTheyWereWritten(t *testing.T) {
	schema := columns(t, "a", "integer", "b", "string", "c", "date", "l", "array<integer>")
	for _, keys := range []constraint.Keys{{}, {Primary: []string{"b", "a"}}, {Primary: []string{"c"}, Unique: []string{"a"}},
		{Unique: []string{"a", "b"}}} {
		written, properties, err := keys.Write(schema, map[string]string{"other": "x", constraint.PropertyPrimaryKey: `["z"]`})
		require.NoError(t, err)
		require.Equal(t, "x", properties["other"])
		require.Equal(t, keys, constraint.KeysOf(written, properties))
		snap := created(t, written, properties)
		require.Equal(t, keys, constraint.KeysOf(snap.Schema(), snap.Properties()), "through the log")
	}
	for _, keys := range []constraint.Keys{{Primary: []string{"a", "a"}}, {Primary: []string{"z"}}, {Unique: []string{"l"}},
		{Primary: []string{"A"}}} {
		_, _, err := keys.Write(schema, nil)
		require.ErrorIs(t, err, constraint.ErrInvalidKey)
	}

	written, properties, err := constraint.Keys{Primary: []string{"b", "a"}}.Write(schema, nil)
	require.NoError(t, err)
	written.Fields[1].Name = "renamed"
	require.Equal(t, []string{"renamed", "a"}, constraint.KeysOf(written, properties).Primary, "another writer's rename keeps the place")
	written.Fields = written.Fields[1:]
	require.Empty(t, constraint.KeysOf(written, properties).Primary, "a dropped column ends the key")
	properties[constraint.PropertyPrimaryKey] = "no list"
	require.Empty(t, constraint.KeysOf(written, properties).Primary)
}

// keyed are rows of small values with NULLs, as VALUES and in Go.
func keyed(t *rapid.T, label string) (values [][2]*int, sql string) {
	n := rapid.IntRange(1, 12).Draw(t, label)
	var rows []string
	for i := range n {
		var row [2]*int
		text := []string{"NULL::INTEGER", "NULL::INTEGER"}
		for j := range row {
			if v := rapid.IntRange(-1, 3).Draw(t, label); v >= 0 {
				row[j], text[j] = &v, fmt.Sprint(v)
			}
		}
		values = append(values, row)
		rows = append(rows, fmt.Sprintf("(%s, %s, %d)", text[0], text[1], i))
	}
	return values, "(SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(a, b, n))"
}

func same(key constraint.Key, columns []int, x, y [2]*int) bool {
	for _, c := range columns {
		if x[c] == nil || y[c] == nil {
			if !key.NullsEqual || x[c] != y[c] {
				return false
			}
		} else if *x[c] != *y[c] {
			return false
		}
	}
	return true
}

func TestKeyBreachesAreThoseOfComparingEveryPair(t *testing.T) {
	s, schema := scope(t), columns(t, "a", "integer", "b", "integer")
	keys := constraint.Keys{Primary: []string{"b", "a"}, Unique: []string{"a"}}.In(schema)
	parts := [][]int{{1, 0}, {0}}
	rapid.Check(t, func(rt *rapid.T) {
		staged, stagedSQL := keyed(rt, "staged")
		table, tableSQL := keyed(rt, "table")
		rows, base := constraint.Relation{From: stagedSQL, Row: "n"}, constraint.Relation{From: tableSQL}
		for i, key := range keys {
			var repeated, taken []constraint.KeyBreach
			for at, row := range staged {
				for earlier, other := range staged[:at] {
					if same(key, parts[i], row, other) {
						repeated = append(repeated, constraint.KeyBreach{Row: int64(at), First: int64(earlier)})
						break
					}
				}
				for _, other := range table {
					if same(key, parts[i], row, other) {
						taken = append(taken, constraint.KeyBreach{Row: int64(at), First: -1})
						break
					}
				}
			}
			report, err := s.Repeated(t.Context(), key, rows)
			require.NoError(rt, err)
			require.Equal(rt, constraint.KeyReport{Breaches: repeated, Total: int64(len(repeated))}, report)
			report, err = s.Taken(t.Context(), key, rows, base)
			require.NoError(rt, err)
			require.Equal(rt, constraint.KeyReport{Breaches: taken, Total: int64(len(taken))}, report)
			n, err := s.CountRepeated(t.Context(), key, constraint.Relation{From: stagedSQL})
			require.NoError(rt, err)
			require.Equal(rt, len(repeated) > 0, n > 0)

			condition, err := s.KeyCondition(t.Context(), key, rows)
			require.NoError(rt, err)
			span, err := s.KeySpan(t.Context(), key, rows)
			require.NoError(rt, err)
			require.Equal(rt, n, span.Repeated)
			report, err = s.Taken(t.Context(), key, rows, constraint.Relation{From: "(SELECT * FROM " + tableSQL + " AS " + constraint.Alias +
				" WHERE " + span.Within + ")"})
			require.NoError(rt, err)
			require.Equal(rt, constraint.KeyReport{Breaches: taken, Total: int64(len(taken))}, report)
			for _, row := range table {
				for _, other := range staged {
					if same(key, parts[i], row, other) {
						require.True(rt, satisfies(condition, row), "%v %v", condition, row)
						require.True(rt, satisfies(span.Condition, row), "%v %v", span.Condition, row)
					}
				}
			}
		}
	})
}

// satisfies evaluates a condition over the columns a and b.
func satisfies(c engine.Condition, row [2]*int) bool {
	switch c.Op {
	case engine.ConditionUnknown:
		return true
	case engine.ConditionAnd, engine.ConditionOr:
		for _, child := range c.Children {
			if satisfies(child, row) != (c.Op == engine.ConditionAnd) {
				return c.Op == engine.ConditionOr
			}
		}
		return c.Op == engine.ConditionAnd
	case engine.ConditionNever:
		return false
	}
	v := row[strings.Index("ab", c.Column)]
	switch {
	case c.Op == engine.ConditionIsNull:
		return v == nil
	case v == nil:
		return false
	}
	for _, value := range c.Values {
		bound, err := strconv.Atoi(string(value))
		switch {
		case c.Op == engine.ConditionGreaterOrEqual:
			return err == nil && *v >= bound
		case c.Op == engine.ConditionLessOrEqual:
			return err == nil && *v <= bound
		case string(value) == fmt.Sprint(*v):
			return true
		}
	}
	return false
}

// TestInfiniteInstantsAreKeys: they come in Parquet and Arrow bodies, and have no
// number of microseconds.
func TestInfiniteInstantsAreKeys(t *testing.T) {
	s := scope(t)
	key := constraint.Keys{Unique: []string{"at"}}.In(columns(t, "at", "timestamp"))[0]
	for values, texts := range map[string][]engine.ConditionValue{
		"('-infinity')": {"-infinity"},
		"('-infinity'), ('2026-01-01 00:00:00+00')":        {"-infinity", "2026-01-01 00:00:00"},
		"('infinity'), (NULL), ('2026-01-01 00:00:00+00')": {"2026-01-01 00:00:00", "infinity"},
	} {
		rows := constraint.Relation{From: `(SELECT "at"::TIMESTAMPTZ AS "at" FROM (VALUES ` + values + `) v("at"))`}
		condition, err := s.KeyCondition(t.Context(), key, rows)
		require.NoError(t, err)
		require.Equal(t, engine.ConditionIn, condition.Op, values)
		require.ElementsMatch(t, texts, condition.Values)
		span, err := s.KeySpan(t.Context(), key, rows)
		require.NoError(t, err)
		if len(texts) == 1 {
			require.Equal(t, condition, span.Condition)
			continue
		}
		require.Equal(t, engine.AllOf(
			engine.Condition{Op: engine.ConditionGreaterOrEqual, Column: "at", Values: texts[:1]},
			engine.Condition{Op: engine.ConditionLessOrEqual, Column: "at", Values: texts[1:]}), span.Condition, values)
	}
}

func TestAKeySpanGoesFromTheLeastToTheGreatest(t *testing.T) {
	s := scope(t)
	schema := columns(t, "id", "long", "at", "timestamp", "raw", "binary", "day", "date", "name", "string")
	rows := constraint.Relation{From: `(SELECT 10 * (x // 2) AS id, make_timestamptz(1700000000000000 + x) AS "at", 'r'::BLOB AS raw FROM ` +
		`range(9000) g(x))`}
	span := func(column, from string) constraint.KeySpan {
		out, err := s.KeySpan(t.Context(), constraint.Keys{Unique: []string{column}}.In(schema)[0], constraint.Relation{From: from})
		require.NoError(t, err)
		return out
	}
	between := func(column string, low, high engine.ConditionValue) engine.Condition {
		return engine.AllOf(engine.Condition{Op: engine.ConditionGreaterOrEqual, Column: column, Values: []engine.ConditionValue{low}},
			engine.Condition{Op: engine.ConditionLessOrEqual, Column: column, Values: []engine.ConditionValue{high}})
	}
	require.Equal(t, constraint.KeySpan{Repeated: 4500, Condition: between("id", "0", "44990"),
		Within: `true AND "r"."id" >= 0 AND "r"."id" <= 44990`}, span("id", rows.From))
	require.Equal(t, constraint.KeySpan{Condition: between("at", "2023-11-14 22:13:20", "2023-11-14 22:13:20.008999"), Within: "true"},
		span("at", rows.From))
	require.Equal(t, constraint.KeySpan{Repeated: 1, Within: "true"}, span("raw", rows.From))
	require.Equal(t, constraint.KeySpan{Condition: engine.Condition{Op: engine.ConditionNever}, Within: "true"},
		span("id", "(SELECT NULL::BIGINT AS id)"), "no row takes part")
	require.Equal(t, `true AND "r"."day" >= DATE '2026-01-02' AND "r"."day" <= DATE '2026-01-03'`,
		span("day", "(SELECT DATE '2026-01-02' + x::INTEGER AS day FROM range(2) g(x))").Within)
	require.Equal(t, `true AND "r"."name" >= 'it''s' AND "r"."name" <= 'it''s'`, span("name", "(SELECT 'it''s' AS name)").Within)
	require.Equal(t, "true", span("name", "(SELECT 'a' || chr(0) AS name)").Within, "no statement holds it")
}

func TestAKeyConditionNamesFewValuesOneByOneAndManyAsSpans(t *testing.T) {
	s := scope(t)
	schema := columns(t, "id", "long", "at", "timestamp", "name", "string", "amount", "decimal(12,2)", "raw", "binary")
	rows := constraint.Relation{From: `(SELECT 10 * x AS id, make_timestamptz(1700000000000000 + x) AS "at", 'n' || x AS name, ` +
		`x::DECIMAL(12,2) AS amount, 'r'::BLOB AS raw FROM range(3) g(x))`}
	condition := func(column string) engine.Condition {
		c, err := s.KeyCondition(t.Context(), constraint.Keys{Unique: []string{column}}.In(schema)[0], rows)
		require.NoError(t, err)
		return c
	}
	require.ElementsMatch(t, []engine.ConditionValue{"0", "10", "20"}, condition("id").Values)
	require.ElementsMatch(t, []engine.ConditionValue{"2023-11-14 22:13:20", "2023-11-14 22:13:20.000001", "2023-11-14 22:13:20.000002"},
		condition("at").Values)
	require.ElementsMatch(t, []engine.ConditionValue{"n0", "n1", "n2"}, condition("name").Values)
	require.ElementsMatch(t, []engine.ConditionValue{"0.00", "1.00", "2.00"}, condition("amount").Values)
	require.Zero(t, condition("raw"))

	rows = constraint.Relation{From: "(SELECT x AS id FROM range(100000) g(x))"}
	spans := condition("id")
	require.Equal(t, engine.ConditionOr, spans.Op)
	require.LessOrEqual(t, len(spans.Children), 64)
	rows = constraint.Relation{From: "(SELECT 1 AS id WHERE false)"}
	require.Equal(t, engine.ConditionNever, condition("id").Op)
}
