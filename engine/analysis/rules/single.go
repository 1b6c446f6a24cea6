package rules

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

// cycles are ranges of whole numbers with a meaning: months, days of a month, hours, minutes,
// days of a week, quarters.
var cycles = [][2]int64{{1, 12}, {1, 31}, {0, 23}, {0, 59}, {1, 7}, {0, 6}, {1, 53}, {1, 366}}

// single adds the rules of single columns.
func (s *suggester) single(ctx context.Context) error {
	clocks := s.sample.Clocks()
	for i, p := range s.profiles {
		if p.Present() < minRows || p.Column.Domain != "" || p.Distinct < 2 {
			continue
		}
		switch {
		case slices.Contains(clocks, i):
			q := p.Column.Quoted()
			s.add("clock", s.orNull(fmt.Sprintf("(%s BETWEEN 0 AND 2400 AND %s %% 100 < 60)", q, q), p.Column),
				p.Column.Name+" holds times of day such as 2359", 0.9, p.Column)
		case p.Column.Numeric():
			if err := s.numbers(ctx, p); err != nil {
				return err
			}
		case p.Column.Kind() == analysis.KindText && p.Long == 0:
			if err := s.texts(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers adds the range of a column of numbers, if it has a meaning.
func (s *suggester) numbers(ctx context.Context, p profile.Profile) error {
	c := p.Column
	if c.Key || c.Unique || p.Distinct == p.Present() && p.Exact {
		return nil // numbers of rows have no range
	}
	low, high, q := p.Quantile(0.001), p.Quantile(0.999), c.Quoted()
	if c.Kind() == analysis.KindInteger {
		for _, r := range cycles {
			if low != float64(r[0]) || high != float64(r[1]) {
				continue
			}
			// All values of the range occur, and each often enough.
			inside := int64(0)
			err := s.in.Each(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT %s FROM %s WHERE %s BETWEEN %d AND %d GROUP BY 1 HAVING count(*) >= 3)",
				q, s.in.Table.From(c), q, r[0], r[1]), func(row engine.Row) error {
				inside = row.Int64(0)
				return nil
			})
			if err != nil {
				return err
			}
			if inside == r[1]-r[0]+1 {
				s.add("range", s.orNull(fmt.Sprintf("%s BETWEEN %d AND %d", q, r[0], r[1]), c),
					fmt.Sprintf("%s takes every value from %d to %d", c.Name, r[0], r[1]), 0.9, c)
				return nil
			}
		}
	}
	if c.Kind() != analysis.KindInteger && low >= 0 && low < 0.05 && high <= 1 && high > 0.95 && p.Distinct >= 20 {
		s.add("share", s.orNull(fmt.Sprintf("%s BETWEEN 0 AND 1", q), c), c.Name+" holds shares from 0 to 1", 0.85, c)
		return nil
	}
	if low < 0 || p.Distinct < 5 {
		return nil
	}
	// A column far above zero has no bound at zero, but a small one has.
	if spread := p.Quantile(0.99) - p.Quantile(0.01); low > 3*spread {
		return nil
	}
	least, op, reason := "0", ">=", "never negative"
	if v, err := strconv.ParseFloat(p.Min, 64); err == nil && v > 0 && low > 0 &&
		(c.Kind() != analysis.KindInteger || p.Distinct > 100) {
		// Small whole numbers often have a zero that has not occurred yet.
		op, reason = ">", "always positive"
	}
	s.add("minimum", s.orNull(fmt.Sprintf("%s %s %s", q, op, least), c), c.Name+" is "+reason, 0.8, c)
	return nil
}

// texts adds the rule that texts are not empty.
func (s *suggester) texts(ctx context.Context, p profile.Profile) error {
	c := p.Column
	if p.Distinct < 3 {
		return nil
	}
	blank, err := s.in.Rows(ctx, "trim("+c.Quoted()+") = ''", c)
	if err != nil || float64(blank) > 0.001*float64(p.Present()) {
		return err
	}
	s.add("text", s.orNull(c.Quoted()+" <> ''", c), c.Name+" is never empty", 0.7, c)
	return nil
}
