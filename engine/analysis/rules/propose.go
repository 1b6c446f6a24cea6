package rules

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// proposals returns the requests that make the rules: keys, then checks, then NOT NULL.
func (s *suggester) proposals() []analysis.Proposal {
	out := []analysis.Proposal{}
	for _, k := range s.result.Keys {
		p := analysis.Proposal{Columns: k.Columns, Confidence: k.Confidence, Effect: analysis.Effect{Violations: analysis.Number(0)}}
		switch {
		case k.Primary:
			p.Title = fmt.Sprintf("Make %s the primary key: %s.", strings.Join(k.Columns, ", "), k.Reason)
			p.Change = analysis.SetPrimaryKey{Columns: k.Columns}
		case len(k.Columns) == 1:
			p.Title = fmt.Sprintf("Declare %s unique: %s.", k.Columns[0], k.Reason)
			p.Change = analysis.MakeUnique{Column: k.Columns[0]}
		default:
			continue
		}
		out = append(out, p)
	}
	for _, c := range s.result.Checks {
		title := fmt.Sprintf("Add the constraint %s: %s.", c.Name, c.Reason)
		if c.Violations > 0 {
			title = fmt.Sprintf("Add the constraint %s: %s, except in %s.", c.Name, c.Reason, analysis.Count(c.Violations, "row"))
		}
		out = append(out, analysis.Proposal{Title: title, Columns: c.Columns, Confidence: c.Confidence,
			Change: analysis.AddCheck{Name: c.Name, Expr: c.Expr}, Effect: analysis.Effect{Violations: analysis.Number(c.Violations)}})
	}
	for _, n := range s.result.NotNull {
		out = append(out, analysis.Proposal{Title: fmt.Sprintf("Set %s to NOT NULL: it has a value in all %s.", n.Column, analysis.Count(n.Rows,
			"row")),
			Columns: []string{n.Column}, Confidence: n.Confidence, Change: analysis.ForbidNull{Column: n.Column},
			Effect: analysis.Effect{Violations: analysis.Number(0)}})
	}
	return out[:min(len(out), s.in.Limit)]
}

// text tells which rules fit.
func (s *suggester) text() string {
	r := s.result
	if len(r.Checks)+len(r.NotNull)+len(r.Keys) == 0 {
		return fmt.Sprintf("The %s of the table %s suggest no further rules.", analysis.Count(s.total, "row"), s.in.Table.Name)
	}
	out := []string{fmt.Sprintf("The %s of the table %s suggest %s, %s and NOT NULL for %s.", analysis.Count(s.total, "row"),
		s.in.Table.Name, analysis.Count(int64(len(r.Checks)), "check"), analysis.Count(int64(len(r.Keys)), "key"),
		analysis.Count(int64(len(r.NotNull)), "column"))}
	for _, k := range r.Keys {
		if k.Primary {
			out = append(out, fmt.Sprintf("The best primary key is %s: %s.", analysis.List(k.Columns, 3), k.Reason))
		}
	}
	var kept, broken []string
	for _, c := range r.Checks {
		if c.Violations == 0 {
			kept = append(kept, c.Reason)
		} else {
			broken = append(broken, fmt.Sprintf("%s (except in %s)", c.Reason, analysis.Count(c.Violations, "row")))
		}
	}
	if len(kept) > 0 {
		out = append(out, "All rows satisfy these rules: "+analysis.List(kept, 4)+".")
	}
	if len(broken) > 0 {
		out = append(out, "Nearly all rows satisfy these: "+analysis.List(broken, 3)+".")
	}
	return strings.Join(out, " ")
}
