package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

const (
	// minRows is the number of rows below which rules hold by chance.
	minRows = 30
	// tolerated is the share of the rows that may violate a suggested rule.
	tolerated = 0.01
	perCount  = 50
)

// Result is the result of [SuggestConstraints].
type Result struct {
	Checks  []Check   `json:"checks"`
	NotNull []NotNull `json:"notNull"`
	Keys    []Key     `json:"keys"`
}

// Check is a CHECK constraint that fits.
type Check struct {
	Name       string   `json:"name"`
	Expr       string   `json:"expr"`
	Columns    []string `json:"columns"`
	Violations int64    `json:"violations" doc:"Rows for which the expression is not TRUE"`
	Rows       int64    `json:"rows" doc:"Rows that were checked"`
	Confidence float64  `json:"confidence"`
	Reason     string   `json:"reason"`
}

// NotNull is a column that is never NULL.
type NotNull struct {
	Column     string  `json:"column"`
	Rows       int64   `json:"rows"`
	Confidence float64 `json:"confidence"`
}

// Key is a list of columns whose values together are different in all rows.
type Key struct {
	Columns    []string `json:"columns"`
	Rows       int64    `json:"rows"`
	Nulls      int64    `json:"nulls" doc:"Rows in which the column is NULL, which do not count"`
	Primary    bool     `json:"primary" doc:"Whether the key is the best candidate for a primary key"`
	Confidence float64  `json:"confidence"`
	Reason     string   `json:"reason"`
}

// candidate is a CHECK that has not been counted.
type candidate struct {
	name, expr, reason string
	columns            []analysis.Column
	confidence         float64
}

// suggester holds the state of one analysis.
type suggester struct {
	in       analysis.Input
	total    int64
	profiles []profile.Profile
	sample   *relation.Sample
	found    []candidate
	names    map[string]bool
	result   Result
}

// SuggestConstraints suggests rules that the rows keep.
func SuggestConstraints(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	s := &suggester{in: in, names: map[string]bool{}, result: Result{Checks: []Check{}, NotNull: []NotNull{}, Keys: []Key{}}}
	answer := analysis.Answer{Confidence: 1, References: []analysis.Reference{}, Proposals: []analysis.Proposal{}}
	var err error
	if s.total, err = in.Rows(ctx, "TRUE"); err != nil {
		return analysis.Answer{}, err
	}
	if s.total < minRows {
		answer.Result = s.result
		answer.Text = fmt.Sprintf("The table %s has %s, too few to tell rules from chance.", in.Table.Name, analysis.Count(s.total, "row"))
		return answer, nil
	}
	for _, c := range in.Table.Checks {
		s.names[strings.ToLower(c.Name)] = true
	}
	steps := []func(context.Context) error{s.load, s.single, s.pairs, s.conditional, s.count, s.keys}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return analysis.Answer{}, err
		}
		in.Progress(i+1, len(steps))
	}
	s.notNull()
	answer.Proposals = s.proposals()
	answer.Result, answer.Text = s.result, s.text()
	if answer.Sampled = !s.sample.Whole(); answer.Sampled {
		answer.Warnings = append(answer.Warnings,
			fmt.Sprintf("Rules between columns were looked for in %d of %d rows, and then checked in all rows.",
				s.sample.Rows, s.total))
	}
	for _, p := range answer.Proposals {
		answer.Confidence = min(answer.Confidence, p.Confidence)
	}
	return answer, nil
}

func (s *suggester) load(ctx context.Context) error {
	var columns []analysis.Column
	for _, c := range s.in.Columns {
		if c.Kind() != analysis.KindOther && !c.Masked && len(columns) < relation.MaxColumns {
			columns = append(columns, c)
		}
	}
	in := s.in
	in.Progress = func(int, int) {}
	var err error
	if s.profiles, err = profile.Columns(ctx, in, columns); err != nil {
		return err
	}
	s.sample, err = relation.Load(ctx, s.in, columns, s.total)
	return err
}

// add adds a candidate, unless the table has a check of the same columns. The suffix is the
// end of its name.
func (s *suggester) add(suffix, expr, reason string, confidence float64, columns ...analysis.Column) {
	for _, c := range s.in.Table.Checks {
		if namesExactly(c.Expr, s.in.Table.Columns, columns) {
			return
		}
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	s.found = append(s.found, candidate{name: s.name(names, suffix), expr: expr, reason: reason, columns: columns, confidence: confidence})
}

// namesExactly reports whether the given columns are those of all that an expression names.
func namesExactly(expr string, all, columns []analysis.Column) bool {
	words := strings.FieldsFunc(strings.ToLower(expr), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9' && r < 'a' || r > 'z') && r < 128
	})
	for _, c := range all {
		name := strings.ToLower(c.Name)
		named := slices.Contains(words, name) || strings.Contains(strings.ToLower(expr), strings.ToLower(c.Quoted())) ||
			strings.Contains(strings.ToLower(expr), "`"+name+"`")
		if named != analysis.Contains(columns, c.Name) {
			return false
		}
	}
	return true
}

// name returns a name for a check that no other has.
func (s *suggester) name(columns []string, suffix string) string {
	clean := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}
	base := strings.Map(clean, strings.ToLower(strings.Join(columns, "_")))
	if len(base) > 50 {
		base = base[:50]
	}
	base = "check_" + base + "_" + suffix
	name := base
	for i := 2; s.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	s.names[name] = true
	return name
}

// orNull returns a condition that is also true where one of the columns is NULL. NULL would
// violate it, because a CHECK has to be TRUE.
func (s *suggester) orNull(condition string, columns ...analysis.Column) string {
	var parts []string
	for _, c := range columns {
		p := s.profile(c)
		if c.Nullable || p.Nulls > 0 {
			parts = append(parts, c.Quoted()+" IS NULL")
		}
	}
	return strings.Join(append(parts, condition), " OR ")
}

func (s *suggester) profile(c analysis.Column) profile.Profile {
	for _, p := range s.profiles {
		if p.Column.Name == c.Name {
			return p
		}
	}
	return profile.Profile{}
}

// count counts the violations of the candidates and keeps those with few.
func (s *suggester) count(ctx context.Context) error {
	for part := range slices.Chunk(s.found, perCount) {
		var columns []analysis.Column
		items := make([]string, len(part))
		for i, c := range part {
			items[i] = "count(*) FILTER (WHERE NOT coalesce((" + c.expr + "), FALSE))"
			columns = analysis.Union(columns, c.columns...)
		}
		err := s.in.Each(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+s.in.Table.From(columns...), func(r engine.Row) error {
			for i, c := range part {
				n := r.Int64(i)
				if float64(n) > tolerated*float64(s.total) {
					continue
				}
				confidence := c.confidence * (1 - 10*float64(n)/float64(s.total))
				check := Check{Name: c.name, Expr: c.expr, Columns: []string{}, Violations: n, Rows: s.total, Confidence: confidence, Reason: c.reason}
				for _, one := range c.columns {
					check.Columns = append(check.Columns, one.Name)
				}
				s.result.Checks = append(s.result.Checks, check)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.result.Checks, func(a, b Check) int { return cmp.Compare(b.Confidence, a.Confidence) })
	s.result.Checks = s.result.Checks[:min(len(s.result.Checks), s.in.Limit)]
	return nil
}

// notNull lists the columns without NULL.
func (s *suggester) notNull() {
	for _, p := range s.profiles {
		if p.Nulls == 0 && p.Column.Nullable {
			s.result.NotNull = append(s.result.NotNull, NotNull{Column: p.Column.Name, Rows: p.Rows,
				Confidence: 1 - 4/(4+float64(p.Rows)/20)})
		}
	}
	s.result.NotNull = s.result.NotNull[:min(len(s.result.NotNull), s.in.Limit)]
}
