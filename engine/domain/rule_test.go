package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scope is one over a session of the server's engine.
func scope(tb testing.TB) constraint.Scope {
	tb.Helper()
	e, err := duckdb.New(tb.Context(), duckdb.Options{Verified: []extension.Verified{}, TempDir: tb.TempDir()})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	s, err := e.Open(tb.Context(), engine.SessionOptions{Owner: "o", Roots: []string{tb.TempDir()}})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return constraint.Scope{Session: s}
}

// relation has the columns c and p with the rows of VALUES, and their numbers.
func relation(child, parent delta.DataType, rows ...string) constraint.Relation {
	for i, r := range rows {
		rows[i] = fmt.Sprintf("(%s, %d)", r, i)
	}
	return constraint.Relation{Row: "n", From: "(SELECT c::" + deltasql.Type(child).String() + " AS c, p::" + deltasql.Type(parent).String() +
		" AS p, n FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(c, p, n))"}
}

// TestRules checks each rule over rows, of which those with the listed numbers lie outside.
func TestRules(t *testing.T) {
	s := scope(t)
	text, long, money := domain.Column{Name: "c", Type: delta.String}, domain.Column{Name: "c", Type: delta.Long},
		domain.Column{Name: "c", Type: delta.Decimal{Precision: 4, Scale: 1}}
	double, day := domain.Column{Name: "c", Type: delta.Double}, domain.Column{Name: "c", Type: delta.Date}
	instant := domain.Column{Name: "c", Type: delta.Timestamp}
	parent := domain.Column{Name: "p", Type: delta.String}
	source := func(values string, typ delta.DataType) domain.Source {
		return domain.Source{From: "(SELECT * FROM (VALUES " + values + ") AS v(a, b))", Column: domain.Column{Name: "a", Type: typ},
			ParentKey: domain.Column{Name: "b", Type: delta.String}}
	}
	controls := []string{"a\x1f", "b\x1e", "c\x1d", "d\x1c", "e\n", "f\x01", "it's"}
	for name, c := range map[string]struct {
		rule    constraint.Rule
		typ     delta.DataType
		rows    []string
		outside []int64
	}{
		"texts are compared exactly": {domain.Listed(text, []string{"a", " b", "it's"}), delta.String,
			[]string{"'a', ''", "'A', ''", "' b', ''", "'b', ''", "'it''s', ''", "NULL, ''", "'', ''"}, []int64{1, 3, 6}},
		"texts with every separator": {domain.Listed(text, controls), delta.String,
			[]string{"'a' || chr(31), ''", "'a', ''", "'e' || chr(10), ''", "'it''s', ''", "'', ''"}, []int64{1, 4}},
		"integers":  {domain.Listed(long, []string{"1", "-2"}), delta.Long, []string{"1, ''", "-2, ''", "2, ''", "NULL, ''"}, []int64{2}},
		"no values": {domain.Listed(long, nil), delta.Long, []string{"1, ''", "NULL, ''"}, []int64{0}},
		"a narrowed type": {domain.Listed(domain.Column{Name: "c", Type: delta.Byte}, []string{"1", "300"}), delta.Byte,
			[]string{"1, ''", "2, ''", "NULL, ''"}, []int64{1}},
		"booleans": {domain.Listed(domain.Column{Name: "c", Type: delta.Boolean}, []string{"true"}), delta.Boolean,
			[]string{"true, ''", "false, ''", "NULL, ''"}, []int64{1}},
		"instants": {domain.Listed(instant, []string{"2024-01-01T00:00:00Z"}), delta.Timestamp,
			[]string{"'2024-01-01 01:00:00+01', ''", "'2024-01-01 00:00:00.000001+00', ''"}, []int64{1}},
		"pairs": {domain.Paired(text, parent, []domain.Pair{{"x", "1"}, {"x", "2"}, {"y", "1"}}), delta.String,
			[]string{"'1', 'x'", "'2', 'x'", "'1', 'y'", "'2', 'y'", "'2', NULL", "NULL, 'z'", "NULL, NULL", "'3', 'x'"}, []int64{3, 4, 7}},
		"no pairs": {domain.Paired(text, parent, nil), delta.String, []string{"'1', 'x'", "NULL, 'x'"}, []int64{0}},
		"inclusive": {domain.Within(long, domain.Bounds{Min: "1", Max: "3", Inclusive: true}), delta.Long,
			[]string{"1, ''", "3, ''", "0, ''", "4, ''", "NULL, ''"}, []int64{2, 3}},
		"exclusive": {domain.Within(money, domain.Bounds{Min: "1.0", Max: "3.0"}), money.Type,
			[]string{"1.0, ''", "3.0, ''", "1.1, ''", "2.9, ''"}, []int64{0, 1}},
		"half open": {domain.Within(day, domain.Bounds{Min: "2024-01-01", Inclusive: true}), delta.Date,
			[]string{"'2023-12-31', ''", "'2024-01-01', ''", "'9999-01-01', ''"}, []int64{0}},
		"floats": {domain.Within(double, domain.Bounds{Min: "0", Inclusive: true}), delta.Double,
			[]string{"'0', ''", "'-0.0', ''", "'NaN', ''", "'inf', ''", "'-1e-300', ''"}, []int64{2, 4}},
		"reference": {domain.Referenced(text, source("('a', 'x'), (NULL, 'x'), ('a', 'y')", delta.String)), delta.String,
			[]string{"'a', ''", "'b', ''", "NULL, ''"}, []int64{1}},
		"reference of another type": {domain.Referenced(money, source("(1.25, ''), (2.50, ''), (99999.90, '')",
			delta.Decimal{Precision: 10, Scale: 2})), money.Type, []string{"1.2, ''", "1.3, ''", "2.5, ''"}, []int64{0, 1}},
		"lookup": {domain.LookedUp(text, parent, source("('1', 'x'), ('2', 'x'), ('3', NULL)", delta.String)), delta.String,
			[]string{"'1', 'x'", "'1', 'y'", "'3', 'x'", "'3', NULL", "NULL, 'y'"}, []int64{1, 2, 3}},
		"nothing": {domain.Nothing(text, parent), delta.String, []string{"'1', 'x'", "NULL, 'x'"}, []int64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := relation(c.typ, delta.String, c.rows...)
			report, err := s.Broken(t.Context(), []constraint.Rule{c.rule}, rows)
			require.NoError(t, err)
			var outside []int64
			for _, b := range report.Breaches {
				outside = append(outside, b.Row)
			}
			require.Equal(t, c.outside, outside)
			n, err := s.CountBroken(t.Context(), c.rule, rows)
			require.NoError(t, err)
			require.EqualValues(t, len(c.outside), n)
		})
	}
}

// TestRuleIsEvaluatedAfterChecks checks the place of domains among the classes of rules.
func TestRuleIsEvaluatedAfterChecks(t *testing.T) {
	s, rows := scope(t), relation(delta.Long, delta.String, "1, 'x'", "2, NULL", "3, 'y'")
	list := []constraint.Rule{domain.Listed(domain.Column{Name: "c", Type: delta.Long}, []string{"1"}),
		constraint.RowFilter("r.p = 'x'"), constraint.RequireColumn("p")}
	report, err := s.Broken(t.Context(), list, rows)
	require.NoError(t, err)
	require.Equal(t, []constraint.Breach{{Rule: 2, Row: 1}}, report.Breaches)
	report, err = s.Broken(t.Context(), list[:2], rows)
	require.NoError(t, err)
	require.Equal(t, []constraint.Breach{{Rule: 0, Row: 1}, {Rule: 0, Row: 2}}, report.Breaches)
}

// TestTextSQL checks that the engine prints values as [domain.Canonical] does, and that
// literals read them back.
func TestTextSQL(t *testing.T) {
	s := scope(t)
	for _, c := range []struct {
		typ  delta.DataType
		text string
	}{
		{delta.String, "it's"}, {delta.Byte, "-7"}, {delta.Long, "9223372036854775807"}, {delta.Boolean, "true"}, {delta.Date, "0001-01-01"},
		{delta.Decimal{Precision: 3, Scale: 2}, "-0.50"}, {delta.Decimal{Precision: 2, Scale: 2}, "0.50"},
		{delta.Decimal{Precision: 2, Scale: 2}, "-0.05"}, {delta.Decimal{Precision: 2, Scale: 2}, "0.00"},
		{delta.Decimal{Precision: 38}, strings.Repeat("9", 38)},
		{delta.Timestamp, "2024-01-31T10:00:00.25Z"}, {delta.TimestampNTZ, "2024-01-31T10:00:00"},
		{delta.TimestampNTZ, "2024-01-31T10:00:00.000001"},
	} {
		canonical, err := domain.Canonical(c.typ, c.text)
		require.NoError(t, err)
		require.Equal(t, c.text, canonical)
		require.Equal(t, c.text, one(t, s, "SELECT "+domain.TextSQL(c.typ, domain.Literal(c.typ, c.text))), c.typ.String())
		sql, condition := domain.Equal(domain.Column{Name: "c", Type: c.typ}, c.text)
		require.Equal(t, "true", one(t, s, "SELECT ("+sql+")::VARCHAR FROM (SELECT "+domain.Literal(c.typ, c.text)+" AS c) AS r"))
		require.Equal(t, engine.ConditionEqual, condition.Op)
	}
}

func one(t *testing.T, s constraint.Scope, sql string) string {
	t.Helper()
	result, err := s.Session.Query(t.Context(), engine.Statement{SQL: sql})
	require.NoError(t, err)
	texts, err := engine.Collect(t.Context(), result, func(r engine.Row) (string, error) {
		return r.Text(0), nil
	})
	require.NoError(t, err)
	require.Len(t, texts, 1)
	return texts[0]
}

// TestBrokenValues checks the report of values that lie outside.
func TestBrokenValues(t *testing.T) {
	s, c := scope(t), domain.Column{Name: "c", Type: delta.Long}
	rows := relation(delta.Long, delta.String, "1, ''", "5, ''", "5, 'hidden'", "7, ''", "9, 'hidden'", "NULL, ''")
	total, values, err := s.BrokenValues(t.Context(), domain.Listed(c, []string{"1"}), domain.TextSQL(c.Type, "r.c"), rows, 1)
	require.NoError(t, err)
	require.EqualValues(t, 4, total)
	require.Equal(t, []string{"5"}, values)
	rule := domain.Listed(c, []string{"1"}).Unless("r.p = 'hidden'")
	total, values, err = s.BrokenValues(t.Context(), rule, domain.TextSQL(c.Type, "r.c"), rows, 10)
	require.NoError(t, err)
	require.EqualValues(t, 2, total)
	require.Equal(t, []string{"5", "7"}, values)
}

func BenchmarkListed(b *testing.B) {
	s := scope(b)
	values := make([]string, 10_000)
	for i := range values {
		values[i] = fmt.Sprintf("value %d", i)
	}
	rows := constraint.Relation{From: "(SELECT 'value ' || (x % 10000) AS c, x AS n FROM range(100000) g(x))", Row: "n"}
	rule := domain.Listed(domain.Column{Name: "c", Type: delta.String}, values)
	for b.Loop() {
		report, err := s.Broken(b.Context(), []constraint.Rule{rule}, rows)
		require.NoError(b, err)
		require.Zero(b, report.Total)
	}
}
