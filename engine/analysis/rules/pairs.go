package rules

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

const (
	maxOrders  = 15
	maxImplied = 15
	// exactUpTo bounds the numbers of equations, so that no expression overflows.
	exactUpTo = 1e8
)

// pairs adds the rules between columns: equations, orders, and columns that are NULL
// together.
func (s *suggester) pairs(context.Context) error {
	linked := map[[2]int]bool{}
	for _, l := range s.sample.Equations(nil, 1-tolerated) {
		columns := l.Columns()
		for _, a := range columns {
			for _, b := range columns {
				linked[[2]int{a, b}] = true
			}
		}
		s.equation(l)
	}
	count := 0
	for _, o := range s.sample.Orders(1 - tolerated) {
		if linked[[2]int{o.Low, o.High}] || count == maxOrders || !s.related(o) {
			continue
		}
		count++
		a, b, op := s.sample.Columns[o.Low], s.sample.Columns[o.High], "<="
		if o.Equal == 0 && o.Rows >= 1000 {
			op = "<"
		}
		s.add("order", s.orNull(a.Quoted()+" "+op+" "+b.Quoted(), a, b), fmt.Sprintf("%s is at most %s", a.Name, b.Name), 0.85, a, b)
	}
	together := map[[2]int]bool{}
	for _, pair := range s.sample.Together(1 - tolerated) {
		together[pair], together[[2]int{pair[1], pair[0]}] = true, true
		a, b := s.sample.Columns[pair[0]], s.sample.Columns[pair[1]]
		s.add("together", fmt.Sprintf("(%s IS NULL) = (%s IS NULL)", a.Quoted(), b.Quoted()),
			fmt.Sprintf("%s and %s are NULL in the same rows", a.Name, b.Name), 0.85, a, b)
	}
	s.implied(together)
	return nil
}

// equation adds an equation, if its values are exact.
func (s *suggester) equation(l relation.Linear) {
	var columns []analysis.Column
	exact := true
	for _, i := range l.Columns() {
		c := s.sample.Columns[i]
		columns = append(columns, c)
		exact = exact && c.Kind() == analysis.KindInteger
		if p := s.profiles[i]; !bounded(p) {
			return
		}
	}
	left, right, _ := strings.Cut(s.sample.Formula(l), " = ")
	condition := left + " = " + right
	if !exact {
		condition = fmt.Sprintf("abs(%s - (%s)) <= 0.01", left, right)
	}
	s.add("equation", s.orNull(condition, columns...), strings.ReplaceAll(s.sample.Formula(l), `"`, ""), 0.95,
		columns...)
}

// bounded reports whether all values of a column are small enough to add and multiply.
func bounded(p profile.Profile) bool {
	low, err := strconv.ParseFloat(p.Min, 64)
	high, err2 := strconv.ParseFloat(p.Max, 64)
	return err == nil && err2 == nil && math.Abs(low) < exactUpTo && math.Abs(high) < exactUpTo
}

// related reports whether two columns of numbers vary together, so that their order means
// something.
func (s *suggester) related(o relation.Order) bool {
	a, b := s.sample.Columns[o.Low], s.sample.Columns[o.High]
	if !a.Numeric() || !b.Numeric() {
		return true
	}
	x, y := s.sample.Numbers[o.Low], s.sample.Numbers[o.High]
	var low, high, apart []float64
	for i := range x {
		if !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
			low, high, apart = append(low, x[i]), append(high, y[i]), append(apart, y[i]-x[i])
		}
	}
	return width(apart) <= 0.9*width(high) && width(low) >= 0.1*width(high)
}

// width returns the distance between the quartiles.
func width(values []float64) float64 {
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)*3/4] - values[len(values)/4]
}

// implied adds the rules that one column is NULL where another is. Of columns that are NULL
// together only the first counts, and what follows from two other rules is left out.
func (s *suggester) implied(together map[[2]int]bool) {
	n := len(s.sample.Columns)
	follows := make([][]bool, n)
	for a := range n {
		follows[a] = make([]bool, n)
		for b := range n {
			follows[a][b] = a != b && !s.twin(a, together) && !s.twin(b, together) && s.follows(a, b)
		}
	}
	count := 0
	for a := range n {
		for b := range n {
			if !follows[a][b] || count == maxImplied {
				continue
			}
			indirect := false
			for c := range n {
				indirect = indirect || follows[a][c] && follows[c][b]
			}
			if indirect {
				continue
			}
			count++
			x, y := s.sample.Columns[a], s.sample.Columns[b]
			s.add("implied", fmt.Sprintf("%s IS NOT NULL OR %s IS NULL", x.Quoted(), y.Quoted()),
				fmt.Sprintf("%s is NULL where %s is", y.Name, x.Name), 0.8, x, y)
		}
	}
}

// twin reports whether a column is NULL together with an earlier one.
func (s *suggester) twin(a int, together map[[2]int]bool) bool {
	for b := range a {
		if together[[2]int{a, b}] {
			return true
		}
	}
	return false
}

// follows reports whether column b is NULL where column a is, and mostly not elsewhere.
func (s *suggester) follows(a, b int) bool {
	if s.profiles[a].Nulls < minRows || s.profiles[b].Nulls < s.profiles[a].Nulls {
		return false
	}
	first, both, others, nulls := 0, 0, 0, 0
	for row := range s.sample.Rows {
		x, y := s.sample.Codes[a][row] == 0, s.sample.Codes[b][row] == 0
		switch {
		case x && y:
			first, both = first+1, both+1
		case x:
			first++
		default:
			if others++; y {
				nulls++
			}
		}
	}
	return first >= minRows && float64(both) >= (1-tolerated)*float64(first) && nulls*2 <= others
}

const (
	maxCategories = 30
	maxTargets    = 60
	maxConditions = 10
)

// conditional adds the rules that a column is NULL, or is not NULL, for one value of a
// category.
func (s *suggester) conditional(ctx context.Context) error {
	var targets []analysis.Column
	for _, p := range s.profiles {
		if p.Nulls >= minRows && p.Present() >= minRows && len(targets) < maxTargets {
			targets = append(targets, p.Column)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	n := 0
	for _, p := range s.profiles {
		c := p.Column
		kind := c.Kind()
		if kind != analysis.KindText && kind != analysis.KindBoolean || p.Distinct < 2 || p.Distinct > maxCategories || p.Long > 0 ||
			n == maxConditions {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(targets), func(o analysis.Column) bool { return o.Name == c.Name })
		if len(others) == 0 {
			continue
		}
		items := make([]string, len(others))
		for i, o := range others {
			items[i] = "count(" + o.Quoted() + ")"
		}
		err := s.in.Each(ctx, fmt.Sprintf("SELECT CAST(%s AS VARCHAR), count(*), %s FROM %s WHERE %s IS NOT NULL GROUP BY %s ORDER BY 1",
			c.Quoted(), strings.Join(items, ", "), s.in.Table.From(append(slices.Clone(others), c)...), c.Quoted(), c.Quoted()),
			func(r engine.Row) error {
				value, rows := r.Text(0), r.Int64(1)
				for i, o := range others {
					if n < maxConditions && s.condition(c, o, value, rows, r.Int64(i+2)) {
						n++
					}
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// condition adds the rule about a column for one value of a category, of whose rows some have
// a value in the column. It reports whether there is such a rule.
func (s *suggester) condition(c, o analysis.Column, value string, rows, present int64) bool {
	p := s.profile(o)
	otherRows, otherPresent := p.Rows-rows, p.Present()-present
	if rows < minRows || otherRows < minRows {
		return false
	}
	unless := s.orNull(c.Quoted()+" <> "+analysis.Literal(c, value), c)
	switch {
	case float64(present) <= 0.005*float64(rows) && otherPresent*2 >= otherRows:
		s.add("empty", unless+" OR "+o.Quoted()+" IS NULL", fmt.Sprintf("%s is NULL where %s is %s", o.Name, c.Name, analysis.InQuotes(value)),
			0.85, c, o)
	case float64(rows-present) <= 0.005*float64(rows) && otherPresent*2 <= otherRows:
		s.add("required", unless+" OR "+o.Quoted()+" IS NOT NULL", fmt.Sprintf("%s is present where %s is %s", o.Name, c.Name,
			analysis.InQuotes(value)),
			0.85, c, o)
	default:
		return false
	}
	return true
}
