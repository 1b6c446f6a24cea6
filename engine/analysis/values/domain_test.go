package values_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

var sharedParser = sync.OnceValue(duckdb.NewParser)

// domains runs SuggestDomain, checks that every proposal is one that the server takes and
// whose violations are right, and returns the suggestions by column.
func domains(t *testing.T, in analysis.Input) (map[string]values.DomainColumn, analysis.Answer) {
	t.Helper()
	a, err := values.SuggestDomain(t.Context(), in)
	require.NoError(t, err)
	verify(t, in, a)
	found := map[string]values.DomainColumn{}
	for _, c := range a.Result.(values.DomainResult).Columns {
		found[c.Column] = c
	}
	for _, p := range a.Proposals {
		switch change := p.Change.(type) {
		case analysis.AddCheck:
			var schema delta.Struct
			for _, c := range in.Table.Columns {
				typ, err := deltasql.ParseType(c.Type.String())
				require.NoError(t, err)
				schema.Fields = append(schema.Fields, delta.Field{Name: c.Name, Type: typ, Nullable: true})
			}
			check, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, change.Expr)
			require.NoError(t, err, change.Expr)
			require.Equal(t, []string{p.Columns[0]}, check.Columns())
			require.Regexp(t, "^[a-z][a-z0-9_]*$", change.Name)
		case analysis.ListDomain:
			typ := typeOf(t, in, change.Column)
			require.True(t, domain.Listable(typ))
			for _, v := range change.Values {
				canonical, err := domain.Canonical(typ, v)
				require.NoError(t, err)
				require.Equal(t, v, canonical)
			}
			c, _ := in.Table.Column(change.Column)
			require.Equal(t, rowsOutside(t, in, c, change.Values), *p.Effect.Violations, p.Title)
		case analysis.RangeDomain:
			typ := typeOf(t, in, change.Column)
			require.True(t, domain.Bounded(typ))
			bounds, err := domain.CanonicalBounds(typ, domain.Bounds{Min: change.Min, Max: change.Max, Inclusive: true})
			require.NoError(t, err, p.Title)
			c, _ := in.Table.Column(change.Column)
			condition := "FALSE"
			if bounds.Min != "" {
				condition += " OR " + c.Quoted() + " < '" + bounds.Min + "'"
			}
			if bounds.Max != "" {
				condition += " OR " + c.Quoted() + " > '" + bounds.Max + "'"
			}
			n, err := in.Rows(t.Context(), condition, c)
			require.NoError(t, err)
			require.Equal(t, n, *p.Effect.Violations, p.Title)
		default:
			t.Fatalf("unexpected change %T", change)
		}
	}
	return found, a
}

func typeOf(t *testing.T, in analysis.Input, column string) delta.DataType {
	t.Helper()
	c, ok := in.Table.Column(column)
	require.True(t, ok)
	typ, err := deltasql.ParseType(c.Type.String())
	require.NoError(t, err)
	return typ
}

func rowsOutside(t *testing.T, in analysis.Input, c analysis.Column, allowed []string) int64 {
	t.Helper()
	literals := make([]string, len(allowed))
	for i, v := range allowed {
		literals[i] = analysis.Literal(c, v)
	}
	n, err := in.Rows(t.Context(), c.Quoted()+" NOT IN ("+strings.Join(literals, ", ")+")", c)
	require.NoError(t, err)
	return n
}

func TestClosedSetsAreSuggested(t *testing.T) {
	r := source(7)
	states := pick(r, 2000, []string{"open", "closed", "waiting", "it's late", "cancelled"})
	states[17], states[900], states[1200] = "Open", "clsed", "\x00"
	codes := repeated(2000, func(int) string { return []string{"10", "20", "30", "99"}[r.IntN(4)] })
	flags := repeated(2000, func(int) string { return strconv.Itoa(r.IntN(2)) })
	lake := analysistest.New(t, "SELECT "+list("state", "VARCHAR", states)+", "+list("code", "SMALLINT", codes)+
		", "+list("is open", "INTEGER", flags))
	found, a := domains(t, lake.Input(nil))
	require.Equal(t, []string{"cancelled", "closed", "it's late", "open", "waiting"}, found["state"].Values)
	require.Equal(t, int64(2), found["state"].Violations)
	require.Equal(t, []string{"10", "20", "30", "99"}, found["code"].Values)
	require.Equal(t, []string{"0", "1"}, found["is open"].Values)
	require.Len(t, a.Proposals, 3)
	require.Len(t, a.Result.(values.DomainResult).Rows, 1)
}

func TestGrowingSetsAreNotSuggested(t *testing.T) {
	r := source(8)
	for name, texts := range map[string][]string{
		"names":        pick(r, 1500, lastNames),
		"a long tail":  append(times(400, "a", "b", "c"), repeated(40, func(i int) string { return fmt.Sprintf("new %d", i) })...),
		"few rows":     pick(r, 60, cities[:8]),
		"one value":    times(300, "same"),
		"prose":        times(100, "one sentence with more than six words in it", "another sentence of many words that is not a value"),
		"unique names": repeated(400, func(i int) string { return cities[i%30] + " " + lastNames[i%100] + strconv.Itoa(i) }),
	} {
		found, a := domains(t, analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts)).Input(nil))
		require.Empty(t, found, name)
		require.Empty(t, a.Proposals, name)
	}
}

func TestPatternsAreLearned(t *testing.T) {
	r := source(9)
	digits := func(n int) string { return fmt.Sprintf("%0*d", n, r.IntN(pow10(n))) }
	upper := func(n int) string {
		return strings.Join(repeated(n, func(int) string { return string(rune('A' + r.IntN(26))) }), "")
	}
	hex := func(n int) string {
		return strings.Join(repeated(n, func(int) string { return string("0123456789abcdef"[r.IntN(16)]) }), "")
	}
	for pattern, text := range map[string]func(int) string{
		`^[A-Z]{2}[0-9]{4}$`:           func(int) string { return upper(2) + digits(4) },
		`^SKU-[0-9]{5}$`:               func(int) string { return "SKU-" + digits(5) },
		`^ORD-[A-Z]{2}-[0-9]{1,3}$`:    func(i int) string { return "ORD-" + upper(2) + "-" + digits(1+i%3) },
		`^[0-9]{5}$`:                   func(int) string { return digits(5) },
		`^[0-9]+$`:                     func(i int) string { return digits(1 + i%7) },
		`^[A-Z]{3}$`:                   func(int) string { return upper(3) },
		`^N[A-Z0-9]{5}$`:               func(i int) string { return "N" + []string{digits(5), digits(3) + upper(2), digits(4) + upper(1)}[i%3] },
		`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`: func(int) string { return fmt.Sprintf("%d-%02d-%02d", 1990+r.IntN(30), 1+r.IntN(12), 1+r.IntN(28)) },
		`^\([0-9]{3}\) [0-9]{3}-[0-9]{4}$`: func(int) string {
			return "(" + digits(3) + ") " + digits(3) + "-" + digits(4)
		},
		`^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$`: func(int) string {
			return fmt.Sprintf("%d.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
		},
		`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`: func(int) string {
			return hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12)
		},
		`^[^@ ]+@[^@ ]+[.][^@ .]+$`: func(i int) string { return strings.ToLower(lastNames[i%90]) + strconv.Itoa(i) + "@mail.example.org" },
	} {
		texts := repeated(1000, text)
		texts[3] = "\x00"
		lake := analysistest.New(t, "SELECT "+list(`Code "x"`, "VARCHAR", texts))
		found, a := domains(t, lake.Input(nil))
		c := found[`Code "x"`]
		require.Equal(t, "pattern", c.Kind, pattern)
		require.Equal(t, pattern, c.Pattern)
		require.Equal(t, 1.0, c.Coverage)
		require.Equal(t, int64(0), c.Violations)
		require.Equal(t, "code__x_pattern", a.Proposals[0].Change.(analysis.AddCheck).Name)

		texts[5], texts[500] = "wrong one", "it's wrong"
		lake = analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
		found, a = domains(t, lake.Input(nil))
		require.Equal(t, pattern, found["c"].Pattern)
		require.Equal(t, int64(2), found["c"].Violations)
		require.Contains(t, a.Text, "[[1:c]]")
	}
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

func TestTextsWithoutAPatternGetNone(t *testing.T) {
	r := source(10)
	for name, text := range map[string]func(int) string{
		"names":     func(int) string { return firstNames[r.IntN(100)] + " " + lastNames[r.IntN(100)] },
		"words":     func(int) string { return lastNames[r.IntN(len(lastNames))] },
		"addresses": func(int) string { return strconv.Itoa(r.IntN(200)) + " " + lastNames[r.IntN(80)] + " Street" },
		"mixed":     func(i int) string { return strings.Repeat("ab", i%9) + strconv.Itoa(i) + strings.Repeat("X-", i%5) },
	} {
		_, a := domains(t, analysistest.New(t, "SELECT "+list("c", "VARCHAR", repeated(1500, text))).Input(nil))
		require.Empty(t, a.Proposals, name)
	}
}

func TestRangesAreSuggested(t *testing.T) {
	r := source(11)
	n := 2000
	percent := repeated(n, func(int) string { return strconv.Itoa(r.IntN(101)) })
	lat := repeated(n, func(int) string { return strconv.FormatFloat(45+r.Float64()*10, 'f', 5, 64) })
	stock := repeated(n, func(int) string { return strconv.Itoa(max(0, r.IntN(300)-60)) })
	ages := repeated(n, func(int) string { return strconv.Itoa(r.IntN(96)) })
	ages[4], ages[77] = "999", "-1"
	hours := repeated(n, func(int) string { return strconv.Itoa(r.IntN(24)) })
	seen := repeated(n, func(int) string {
		return fmt.Sprintf("20%02d-%02d-%02d 10:00:00", 12+r.IntN(10), 1+r.IntN(12), 1+r.IntN(28))
	})
	seen[9], seen[10] = "0212-03-01 00:00:00", "9999-12-31 00:00:00"
	lake := analysistest.New(t, "SELECT "+strings.Join([]string{list("score", "DECIMAL(5,1)", percent), list("latitude", "DOUBLE", lat),
		list("stock", "INTEGER", stock), list("customerAge", "TINYINT", every(3000, "0", capped(ages))), list("age", "INTEGER", ages),
		list("start_hour", "BIGINT", hours), list("seen", "TIMESTAMP", seen), list("seen tz", "TIMESTAMPTZ", seen)}, ", "))
	found, a := domains(t, lake.Input(nil))
	for column, want := range map[string][2]string{
		"score": {"0", "100"}, "latitude": {"-90", "90"}, "stock": {"0", ""}, "age": {"0", "120"}, "customerAge": {"0", "120"},
		"start_hour": {"0", "23"}, "seen": {"2010-01-01 00:00:00", "2099-12-31 00:00:00"},
		"seen tz": {"2010-01-01 00:00:00+00", "2099-12-31 00:00:00+00"},
	} {
		c := found[column]
		require.Equal(t, "range", c.Kind, column)
		require.Equal(t, want[0], *c.Min, column)
		if want[1] != "" {
			require.Equal(t, want[1], *c.Max, column)
		} else {
			require.Nil(t, c.Max, column)
		}
	}
	require.Len(t, a.Proposals, 8)
	require.Equal(t, int64(2), found["age"].Violations)
	require.Equal(t, int64(2), found["seen"].Violations)
}

// capped replaces numbers outside of a TINYINT.
func capped(texts []string) []string {
	return repeated(len(texts), func(i int) string {
		if len(texts[i]) > 2 {
			return "50"
		}
		return texts[i]
	})
}

func TestAmountsAndTimesWithoutBoundsGetNone(t *testing.T) {
	r := source(12)
	number := func(f func() float64) []string {
		return repeated(1500, func(int) string { return strconv.FormatFloat(f(), 'f', 2, 64) })
	}
	lake := analysistest.New(t, "SELECT "+strings.Join([]string{
		list("temperature", "DOUBLE", number(func() float64 { return r.NormFloat64() * 15 })),
		list("price", "DECIMAL(10,2)", number(func() float64 { return 5 + 100*r.ExpFloat64() })),
		list("year", "INTEGER", repeated(1500, func(i int) string { return strconv.Itoa(2010 + i%12) })),
		list("ordered", "DATE", repeated(1500, func(i int) string { return fmt.Sprintf("20%02d-%02d-%02d", 10+i%12, 1+i%12, 1+i%28) })),
		list("born", "DATE", repeated(1500, func(i int) string { return fmt.Sprintf("19%02d-%02d-%02d", i%100, 1+i%12, 1+i%28) })),
		list("id", "INTEGER", repeated(1500, strconv.Itoa)),
	}, ", "))
	in := lake.Input(func(in *analysis.Input) { in.Columns[5].Key = true })
	_, a := domains(t, in)
	require.Empty(t, a.Proposals)
}

func TestColumnsWithADomainOrAMaskGetNone(t *testing.T) {
	lake := analysistest.New(t, `SELECT ['a', 'b', 'c'][1 + range % 3] AS c,
		'K-' || lpad((range % 900)::VARCHAR, 4, '0') AS k FROM range(2000)`)
	for name, change := range map[string]func(*analysis.Input){
		"domain": func(in *analysis.Input) { in.Columns[0].Domain, in.Columns[1].Domain = "fixed", "fixed" },
		"mask":   func(in *analysis.Input) { in.Columns[0].Masked, in.Columns[1].Masked = true, true },
		"check": func(in *analysis.Input) {
			in.Columns = in.Columns[1:]
			in.Table.Checks = []analysis.Check{{Name: "k_pattern", Expr: "k LIKE 'K-%'"}}
		},
	} {
		found, a := domains(t, lake.Input(change))
		require.Empty(t, found, name)
		require.Empty(t, a.Proposals, name)
	}
}
