package anomaly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

const (
	// held is the share of the rows of the sample in which a relation must hold.
	held = 0.985
	// strictly is the share from which on a dependency is taken for a rule.
	strictly                   = 0.996
	perTarget, maxDependencies = 5, 40
	// determinant is the weight of a violated dependency against a column that determines.
	determinant = 0.6
)

// dependency is a dependency with what the sample knows about its groups.
type dependency struct {
	relation.Dependency
	// modes holds the most frequent code of each group that is large enough.
	modes map[[2]int32]mode
}

type mode struct {
	code        int32
	rows, total int32
}

// relations adds the checks of relations between columns.
func (d *detector) relations(context.Context) error {
	s := d.sample
	clocks := s.Clocks()
	for _, l := range s.Equations(clocks, held) {
		weights := map[int]float64{}
		for at, c := range l.Columns() {
			weights[c] = 0.8
			if at == 0 {
				weights[c] = 1
			}
		}
		d.add(check{kind: kindEquation, column: -1, score: 0.95, where: s.Violated(l), weights: weights, equal: &l, strict: true,
			reason: describe(s, l)})
	}
	for _, p := range s.DateParts() {
		weights := map[int]float64{}
		for at, c := range p.Columns() {
			weights[c] = determinant
			if at == 0 {
				weights[c] = 1
			}
		}
		d.add(check{kind: kindDate, column: -1, score: 0.92, where: s.Disagrees(p), weights: weights, parts: &p, strict: true,
			reason: fmt.Sprintf("%s is composed of %s", s.Columns[p.Stamp].Name, names(s, p.Columns()[1:]))})
	}
	for _, o := range s.Orders(0.995) {
		low, high := s.Columns[o.Low], s.Columns[o.High]
		d.add(check{kind: kindOrder, column: -1, score: 0.8, where: above(low, high),
			weights: map[int]float64{o.Low: 0.9, o.High: 1}, reason: fmt.Sprintf("%s is otherwise at most %s", low.Name, high.Name)})
	}
	d.together()
	d.dependencies()
	return nil
}

// above returns the condition that a value is greater than another. NaN is greater than all
// numbers, and not compared.
func above(low, high analysis.Column) string {
	out := low.Quoted() + " > " + high.Quoted()
	if low.Kind() == analysis.KindFloat {
		out = "(" + out + " AND NOT isnan(" + low.Quoted() + "))"
	}
	return out
}

// describe returns an equation for people.
func describe(s *relation.Sample, l relation.Linear) string {
	text := strings.ReplaceAll(s.Formula(l), `"`, "")
	if l.Modulus > 0 {
		text += " in minutes of times of day"
	}
	return text
}

func names(s *relation.Sample, columns []int) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = s.Columns[c].Name
	}
	return strings.Join(out, ", ")
}

// together adds the checks of columns that are NULL in the same rows.
func (d *detector) together() {
	for _, pair := range d.sample.Together(0.97) {
		for _, one := range [][2]int{pair, {pair[1], pair[0]}} {
			a, b := d.column(one[0]), d.column(one[1])
			d.add(check{kind: kindMissing, column: one[0], score: 0.75, expected: "a value",
				where:  a.Quoted() + " IS NULL AND " + b.Quoted() + " IS NOT NULL",
				reason: fmt.Sprintf("%s is otherwise NULL only where %s is NULL", a.Name, b.Name)})
		}
	}
}

// dependencies adds the checks of dependencies, the strongest of each column.
func (d *detector) dependencies() {
	found := d.sample.Dependencies(held)
	slices.SortStableFunc(found, func(a, b relation.Dependency) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(b.Holds*b.Covered, a.Holds*a.Covered))
	})
	count, all := map[int]int{}, 0
	for _, f := range found {
		if d.long(f.From) || d.long([]int{f.To}) || count[f.To] == perTarget || all == maxDependencies ||
			d.column(f.To).Kind() == analysis.KindFloat {
			continue
		}
		count[f.To]++
		all++
		weights := map[int]float64{f.To: 1}
		for _, c := range f.From {
			weights[c] = determinant
		}
		d.add(check{kind: kindDependency, column: -1, score: 0.9, weights: weights, strict: f.Holds >= strictly,
			depends: &dependency{f, d.modes(f)}, reason: fmt.Sprintf("%s determines %s", names(d.sample, f.From), d.column(f.To).Name)})
	}
}

// long reports whether some column has long texts, which are not grouped.
func (d *detector) long(columns []int) bool {
	return slices.ContainsFunc(columns, func(i int) bool { return d.profiles[i].Long > 0 })
}

func (d *detector) key(columns []int, code func(int) int32) [2]int32 {
	k := [2]int32{code(columns[0])}
	if len(columns) > 1 {
		k[1] = code(columns[1])
	}
	return k
}

// modes returns what the sample knows about the groups of a dependency.
func (d *detector) modes(f relation.Dependency) map[[2]int32]mode {
	type pair struct {
		key  [2]int32
		code int32
	}
	s, counts, out := d.sample, map[pair]int32{}, map[[2]int32]mode{}
	for at := range s.Rows {
		code := s.Codes[f.To][at]
		if code == 0 {
			continue
		}
		p := pair{d.key(f.From, func(c int) int32 { return s.Codes[c][at] }), code}
		counts[p]++
		m := out[p.key]
		m.total++
		if n := counts[p]; n > m.rows || n == m.rows && code < m.code {
			m.code, m.rows = code, n
		}
		out[p.key] = m
	}
	for k, m := range out {
		if m.total < 3 || m.rows*5 < m.total*4 {
			delete(out, k)
		}
	}
	return out
}

// common returns the statements that a dependency's violations start from: c has the numbers
// of rows by group and value, g the most frequent value of each group, b the pairs of group
// and value that break the dependency.
func (d *detector) common(c *check) string {
	f := c.depends
	to := d.column(f.To)
	columns := []analysis.Column{to}
	var from []string
	for at, i := range f.From {
		columns = append(columns, d.column(i))
		from = append(from, d.column(i).Quoted()+fmt.Sprintf(" AS k%d", at))
	}
	keys := "k0"
	if len(from) > 1 {
		keys = "k0, k1"
	}
	// A strict dependency is broken by a small part of a group; a weaker one by one row of a
	// large group that has nearly no other exceptions.
	broken := "best >= 8 AND best >= 0.8 * total AND n <= greatest(1, total // 100)"
	if !c.strict {
		broken = "best >= 25 AND best >= 0.97 * total AND n = 1"
	}
	if c.ignored {
		// A value that hardly occurs elsewhere is not one of the usual exceptions.
		broken = fmt.Sprintf("best >= 5 AND best >= 0.8 * total AND everywhere <= %d", max(2, d.total/rareValue))
	}
	return fmt.Sprintf(`WITH c AS (SELECT *, sum(n) OVER (PARTITION BY v) AS everywhere FROM
(SELECT %s, %s AS v, count(*) AS n FROM %s WHERE %s IS NOT NULL GROUP BY ALL)),
g AS (SELECT %s, CAST(sum(n) AS BIGINT) AS total, max(n) AS best, arg_max(v, n) AS likely FROM c GROUP BY %s),
b AS (SELECT c.*, total, best, likely, %s AS broken FROM c JOIN g USING (%s) WHERE c.v <> likely)
`, strings.Join(from, ", "), to.Quoted(), d.in.Table.From(columns...), to.Quoted(), keys, keys, broken, keys)
}

// balance returns the statement of two numbers: the pairs of group and value that break a
// dependency, and how many of them its exceptions explain. Two errors are seldom equal in one
// group, but exceptions are: an exception is a value with several rows of a group that is not
// large.
func (d *detector) balance(c *check) string {
	least := 8
	if !c.strict {
		least = 25
	}
	return d.common(c) + fmt.Sprintf("SELECT count(*) FILTER (WHERE broken), greatest(%d * count(*) "+
		"FILTER (WHERE n IN (2, 3) AND best >= %d AND total <= 200), "+
		"count(*) FILTER (WHERE NOT broken AND n >= 2 AND n * 20 >= total AND total >= 10)) FROM b", perException, least)
}

// violations returns the statement of the rows that break a dependency: their identity, the
// expected value and the number of rows that have it.
func (d *detector) violations(c *check) string {
	f := c.depends
	to := d.column(f.To)
	var equal []string
	for at, i := range f.From {
		equal = append(equal, fmt.Sprintf("k%d = ", at)+d.column(i).Quoted())
	}
	return d.common(c) + fmt.Sprintf("SELECT %s, left(CAST(likely AS VARCHAR), %d), best FROM %s JOIN b ON broken AND %s AND v = %s "+
		"ORDER BY 1 LIMIT %d", d.identity(), analysis.MaxText, d.in.Table.From(d.sample.Columns...), strings.Join(equal, " AND "), to.Quoted(),
		maxFlagged+1)
}

// perException is the number of broken pairs that one small exception explains.
const perException = 5

// rareValue: a value is rare if it has at most one of rareValue rows, or at most two
// rows.
const rareValue = 20_000

// identity returns the SQL of a number that tells rows apart.
func (d *detector) identity() string {
	var columns []analysis.Column
	for _, c := range d.sample.Columns {
		if c.Key && len(d.in.Table.PrimaryKey) > 0 {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 || len(columns) < len(d.in.Table.PrimaryKey) {
		columns = d.sample.Columns
	}
	return relation.Row(columns)
}
