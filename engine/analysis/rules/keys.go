package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

const (
	// minKeyed is the number of rows that a composite key needs.
	minKeyed = 100
	// maxParts is the number of columns that are tried for composite keys.
	maxParts = 12
	maxKeys  = 5
	// collisions is the number of pairs of rows that must be expected to have an equal
	// combination by chance. Below it, a unique combination is no evidence of a key.
	collisions = 10
)

// keys finds unique columns, and the smallest combinations of columns that are unique.
func (s *suggester) keys(ctx context.Context) error {
	single := false
	for _, p := range s.profiles {
		c := p.Column
		if !p.Exact || p.Distinct != p.Present() || p.Present() < minRows || p.Long > 0 {
			continue
		}
		identifier, err := s.identifier(ctx, p)
		if err != nil {
			return err
		}
		if !identifier {
			continue
		}
		single = single || p.Nulls == 0
		if c.Unique || c.Key && len(s.in.Table.PrimaryKey) == 1 {
			continue
		}
		s.result.Keys = append(s.result.Keys, Key{Columns: []string{c.Name}, Rows: p.Present(), Nulls: p.Nulls, Confidence: 0.9,
			Reason: fmt.Sprintf("all %s differ", analysis.Count(p.Present(), "value"))})
	}
	if !single && !s.keyed() && s.total >= minKeyed {
		if err := s.composite(ctx); err != nil {
			return err
		}
	}
	if !s.keyed() {
		for i, k := range s.result.Keys {
			if k.Nulls == 0 {
				s.result.Keys[i].Primary = true
				break
			}
		}
	}
	s.result.Keys = s.result.Keys[:min(len(s.result.Keys), s.in.Limit)]
	return nil
}

// keyed reports whether the table has a primary key.
func (s *suggester) keyed() bool {
	return len(s.in.Table.PrimaryKey) > 0 || slices.ContainsFunc(s.in.Table.Columns, func(c analysis.Column) bool { return c.Key })
}

// identifier reports whether a column whose values differ looks like one that names rows,
// not like a measure or a description that happens to differ.
func (s *suggester) identifier(ctx context.Context, p profile.Profile) (bool, error) {
	switch p.Column.Kind() {
	case analysis.KindInteger:
		// Numbers that are given out are dense; large random ones are long.
		width := p.Quantile(0.999) - p.Quantile(0.001)
		return width <= 20*float64(p.Present()) || width > 1e12, nil
	case analysis.KindText:
		if p.Longest > 64 {
			return false, nil
		}
		q := p.Column.Quoted()
		n, err := s.in.Rows(ctx, "contains("+q+", ' ') OR NOT regexp_matches("+q+", '[0-9@]')", p.Column)
		return n*20 <= p.Present(), err
	}
	return false, nil
}

// composite finds the smallest combinations of two or three columns that are unique.
func (s *suggester) composite(ctx context.Context) error {
	type part struct {
		index int
		// repeat is the chance that two rows have the same value.
		repeat float64
	}
	var parts []part
	for i, p := range s.profiles {
		kind := p.Column.Kind()
		if p.Nulls == 0 && p.Long == 0 && p.Distinct >= 2 && kind != analysis.KindFloat && kind != analysis.KindDecimal &&
			kind != analysis.KindBoolean {
			parts = append(parts, part{i, s.repeat(i)})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.repeat, b.repeat) })
	parts = parts[:min(len(parts), maxParts)]
	pairs := float64(s.total) * float64(s.total-1) / 2
	type combination struct {
		columns []int
		repeat  float64
	}
	var found []combination
	try := func(chosen ...part) {
		c := combination{repeat: 1}
		for _, p := range chosen {
			c.columns, c.repeat = append(c.columns, p.index), c.repeat*p.repeat
		}
		for _, f := range found {
			if within(f.columns, c.columns) {
				return
			}
		}
		if c.repeat*pairs >= collisions && s.differ(c.columns) {
			found = append(found, c)
		}
	}
	for i, a := range parts {
		for _, b := range parts[i+1:] {
			try(a, b)
		}
	}
	for i, a := range parts {
		for j, b := range parts[i+1:] {
			for _, c := range parts[i+j+2:] {
				try(a, b, c)
			}
		}
	}
	// The combination that is least likely to be unique by chance comes first.
	slices.SortStableFunc(found, func(a, b combination) int {
		return cmp.Or(cmp.Compare(len(a.columns), len(b.columns)), cmp.Compare(b.repeat, a.repeat))
	})
	for _, f := range found {
		if len(s.result.Keys) == maxKeys {
			break
		}
		slices.Sort(f.columns)
		columns := make([]analysis.Column, len(f.columns))
		key := Key{Rows: s.total, Confidence: 0.75}
		for i, c := range f.columns {
			columns[i] = s.sample.Columns[c]
			key.Columns = append(key.Columns, columns[i].Name)
		}
		n, err := s.in.Count(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+s.in.Table.From(columns...)+" GROUP BY "+analysis.Names(columns)+
			" HAVING count(*) > 1 LIMIT 1)")
		if err != nil {
			return err
		}
		if n == 0 {
			key.Reason = fmt.Sprintf("no two rows have the same %s, though about %.0f pairs would by chance", strings.Join(key.Columns, ", "),
				f.repeat*pairs)
			s.result.Keys = append(s.result.Keys, key)
		}
	}
	return nil
}

// repeat returns the chance that two rows of the sample have the same value.
func (s *suggester) repeat(i int) float64 {
	counts := make([]float64, s.sample.Distinct[i]+1)
	for _, code := range s.sample.Codes[i] {
		counts[code]++
	}
	sum, n := 0.0, float64(s.sample.Rows)
	for _, c := range counts {
		sum += c * (c - 1)
	}
	// A value that the sample has once may repeat in the table.
	return max(sum/(n*max(n-1, 1)), 1/max(1, float64(s.profiles[i].Distinct)))
}

// differ reports whether all rows of the sample differ in some columns.
func (s *suggester) differ(columns []int) bool {
	seen := make(map[[3]int32]bool, 1024)
	for row := range s.sample.Rows {
		var key [3]int32
		for at, c := range columns {
			key[at] = s.sample.Codes[c][row]
		}
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func within(small, large []int) bool {
	for _, c := range small {
		if !slices.Contains(large, c) {
			return false
		}
	}
	return true
}
