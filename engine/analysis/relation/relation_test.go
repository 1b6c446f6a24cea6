package relation_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

func load(t *testing.T, sql string) (*relation.Sample, *analysistest.Lake) {
	t.Helper()
	lake := analysistest.New(t, sql)
	in := lake.Input(nil)
	total, err := in.Rows(t.Context(), "TRUE")
	require.NoError(t, err)
	s, err := relation.Load(t.Context(), in, in.Columns, total)
	require.NoError(t, err)
	return s, lake
}

func h(salt, n int) string {
	return fmt.Sprintf("CAST(hash(range * 100 + %d) %% %d AS BIGINT)", salt, n)
}

func TestASampleOfALargeTableIsBounded(t *testing.T) {
	s, _ := load(t, "SELECT range AS id, 'v' || range % 7 AS v, [range] AS l FROM range(200000)")
	require.Len(t, s.Columns, 2)
	require.InDelta(t, 50_000, s.Rows, 2000)
	require.False(t, s.Whole())
	require.Equal(t, 7, s.Distinct[1])
	again, _ := load(t, "SELECT range AS id, 'v' || range % 7 AS v, [range] AS l FROM (SELECT range FROM range(200000) ORDER BY hash(range))")
	require.Equal(t, s.Numbers, again.Numbers)
	require.Equal(t, s.Codes, again.Codes)
	all, _ := load(t, "SELECT 1 AS a FROM range(200000)")
	require.LessOrEqual(t, all.Rows, relation.MaxRows)
}

func TestEquations(t *testing.T) {
	s, lake := load(t, `SELECT a, b, a + b AS total, price, qty, price * qty AS amount, 100 * hh + mm AS clock, hh, mm, a + b + qty AS more,
other FROM (SELECT `+
		h(1, 1000)+" AS a, "+h(2, 1000)+" AS b, "+h(3, 500)+"/ 4.0::DOUBLE AS price, 2 + "+h(4, 20)+" AS qty, "+h(5, 24)+" AS hh, "+h(6,
		60)+" AS mm, "+
		h(7, 1000)+" AS other FROM range(3000))")
	formulas := map[string]bool{}
	for _, l := range s.Equations(s.Clocks(), 0.99) {
		formulas[s.Formula(l)] = true
		require.Equal(t, l.Rows, l.Held)
		require.Equal(t, int64(0), lake.Count("SELECT count(*) FROM lake.sales.t WHERE "+s.Violated(l)))
	}
	require.Contains(t, formulas, `"total" = "a" + "b"`)
	require.Contains(t, formulas, `"amount" = "price" * "qty"`)
	require.Contains(t, formulas, `"clock" = 100 * "hh" + "mm"`)
	require.Contains(t, formulas, `"more" = "total" + "qty"`)
	require.LessOrEqual(t, len(formulas), 5)
}

func TestClockEquationsAreRepaired(t *testing.T) {
	minutes := "(" + h(1, 1440) + ")"
	s, lake := load(t, "SELECT "+minutes+" // 60 * 100 + "+minutes+" % 60 AS a, ("+minutes+" + late + 1440) % 1440 // 60 * 100 + ("+minutes+
		" + late + 1440) % 60 AS b, CASE WHEN range = 5 THEN late + 100 ELSE late END AS late FROM (SELECT range, "+h(2,
		200)+" - 50 AS late FROM range(2000))")
	require.Equal(t, []int{0, 1}, s.Clocks())
	list := s.Equations(s.Clocks(), 0.99)
	require.Len(t, list, 1)
	require.Equal(t, int64(1), lake.Count("SELECT count(*) FROM lake.sales.t WHERE "+s.Violated(list[0])))
	row := func(c int) float64 { return []float64{2350, 20, 31}[c] }
	require.InDelta(t, 1, list[0].Residual(row), 0)
	for column, want := range []float64{2349, 21, 30} {
		got, ok := list[0].Repaired(column, row)
		require.True(t, ok)
		require.InDelta(t, want, got, 0)
	}
}

func TestDependenciesAndOrders(t *testing.T) {
	s, _ := load(t, "SELECT code, code * 7 % 41 AS region, code // 3 AS zone, left_, left_ + "+h(3,
		50)+" AS right_, free FROM (SELECT range, "+h(1, 60)+
		" AS code, "+h(2, 1000)+" AS left_, "+h(4, 25)+" AS free FROM range(4000))")
	pairs := map[string]bool{}
	for _, d := range s.Dependencies(0.99) {
		for _, c := range append(d.From, d.To) {
			require.NotEqual(t, "free", s.Columns[c].Name)
		}
		pairs[s.Columns[d.From[0]].Name+" "+s.Columns[d.To].Name] = true
	}
	require.Contains(t, pairs, "code region")
	require.Contains(t, pairs, "code zone")
	orders := s.Orders(0.99)
	require.Len(t, orders, 2)
	require.Equal(t, "zone", s.Columns[orders[0].Low].Name)
	require.Equal(t, "left_", s.Columns[orders[1].Low].Name)
	require.Equal(t, "right_", s.Columns[orders[1].High].Name)
}

func TestPartsOfDates(t *testing.T) {
	for _, zone := range []string{"", " + INTERVAL 5 HOUR"} {
		s, lake := load(t, "SELECT x"+zone+" AS stamp, year(x) AS y, month(x) AS m, day(x) AS d, hour(x) AS h FROM "+
			"(SELECT TIMESTAMP '1999-12-01 00:00:00' + to_hours("+h(1, 30000)+") AS x FROM range(3000))")
		list := s.DateParts()
		require.Len(t, list, 1)
		p := list[0]
		require.Equal(t, []int{0, 1, 2, 3, 4}, p.Columns())
		require.Equal(t, int64(0), lake.Count("SELECT count(*) FROM lake.sales.t WHERE "+s.Disagrees(p)))
		for at := range 100 {
			row := func(c int) float64 { return s.Numbers[c][at] }
			difference := s.Difference(p, row)
			require.True(t, math.IsNaN(difference) || slices.Contains(p.Offsets, math.Floor(difference)))
			require.Equal(t, [4]float64{row(1), row(2), row(3), row(4)}, s.PartsOf(p, row(0), p.Offsets[0]))
		}
		in := lake.Input(nil)
		require.NoError(t, in.Each(t.Context(), "SELECT "+s.DifferenceSQL(p)+" FROM "+in.Table.From(in.Columns...), func(r engine.Row) error {
			require.InDelta(t, p.Offsets[0], r.Float64(0), 1e-6)
			return nil
		}))
	}
	s, _ := load(t, "SELECT x AS day_, year(x) AS y, month(x) AS m, day(x) AS d FROM "+
		"(SELECT DATE '2000-01-01' + CAST(range AS INTEGER) AS x FROM range(3000))")
	require.Len(t, s.DateParts(), 1)
	require.Equal(t, -1, s.DateParts()[0].Hour)
	require.True(t, math.IsNaN(s.TopShare(0)) || s.TopShare(0) < 0.01)
}

func TestColumnsThatAreNullTogether(t *testing.T) {
	s, _ := load(t, "SELECT CASE WHEN range % 5 > 0 THEN range END AS a, "+
		"CASE WHEN range % 5 > 0 THEN 'x' END AS b, CASE WHEN range % 4 > 0 THEN 1 END AS c FROM range(1000)")
	require.Equal(t, [][2]int{{0, 1}}, s.Together(0.99))
}
