package values

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// maxTests bounds the pairs of columns that are tested for a dependency.
	maxTests = 200
	// consistent is the part of rows that agree with a dependency.
	consistent = 0.98
	// manyRows is the number of rows from which a part of the values is tested first.
	manyRows = 20_000
	// leastSupport is the number of rows that a dependency is read from.
	leastSupport = 20
	// maxFilled bounds the values of the determining column in one proposal, maxFilledText
	// their length in bytes together.
	maxFilled     = 500
	maxFilledText = 24 << 10
)

// dependency says how well one column determines another, among values of the determining
// column that have several rows.
type dependency struct {
	by analysis.Column
	// groups is the number of such values, rows that of the rows with one of them. agreeing is
	// the number of those rows that have the most frequent other value of their group.
	rows, agreeing, groups int64
	// common is the part of the rows with a value that have the most frequent one.
	common float64
	// fillable is the number of rows with NULL whose value is determined.
	fillable int64
}

func (d dependency) consistency() float64 { return ratio(d.agreeing, d.rows) }

// holds reports whether the dependency is strong, and not only because the other column has
// nearly always the same value.
func (d dependency) holds() bool {
	wrong, usual := 1-d.consistency(), 1-d.common
	return d.rows >= leastSupport && d.groups >= 3 && d.consistency() >= consistent && usual >= 1-consistent &&
		wrong <= 0.2*usual && d.fillable > 0
}

// replacement looks for a column that determines the missing values of another.
func (w *nullsWork) replacement(ctx context.Context, out *NullsColumn) error {
	c, _ := w.in.Table.Column(out.Column)
	if out.Nulls == 0 || out.Nulls == out.Rows || !changeable(c) || c.Kind() == analysis.KindOther || c.Kind() == analysis.KindFloat {
		return nil
	}
	if err := w.determining(ctx); err != nil {
		return err
	}
	target := w.profiles[c.Name]
	var best dependency
	for _, p := range w.candidates {
		// A column that determines another has not fewer values, apart from wrong ones.
		if p.column.Name == c.Name || target.distinct > 2*p.distinct {
			continue
		}
		if w.tests == maxTests {
			w.warnings = append(w.warnings, "Not all pairs of columns were tested for dependencies.")
		}
		if w.tests++; w.tests > maxTests {
			break
		}
		d, err := w.test(ctx, p, c)
		if err != nil {
			return fmt.Errorf("dependency of %s on %s: %w", c.Name, p.column.Name, err)
		}
		if d.holds() && (d.fillable > best.fillable || d.fillable == best.fillable && d.consistency() > best.consistency()) {
			best = d
		}
	}
	if best.fillable == 0 {
		return nil
	}
	out.Replacement = &Replacement{DeterminedBy: best.by.Name, Rows: best.fillable, Consistency: math.Round(1e4*best.consistency()) / 1e4}
	return w.fill(ctx, c, best)
}

// determining finds the columns that may determine others: they have at least three values,
// which occur twice or more on average.
func (w *nullsWork) determining(ctx context.Context) error {
	if w.candidates != nil {
		return nil
	}
	w.candidates = []profile{}
	var columns []analysis.Column
	for _, c := range w.in.Table.Columns {
		if c.Kind() != analysis.KindOther && c.Kind() != analysis.KindFloat && !c.Masked && !c.Unique {
			columns = append(columns, c)
		}
	}
	unknown := slices.DeleteFunc(slices.Clone(columns), func(c analysis.Column) bool { return w.profiles[c.Name].column.Name == c.Name })
	more, err := profiles(ctx, w.in, unknown)
	if err != nil {
		return err
	}
	for _, p := range more {
		w.profiles[p.column.Name] = p
	}
	for _, c := range columns {
		p := w.profiles[c.Name]
		if p.distinct >= 3 && p.short >= 2*p.distinct {
			w.candidates = append(w.candidates, p)
		}
	}
	return nil
}

// present returns the condition of rows with a short value that is not a placeholder.
func (w *nullsWork) present(c analysis.Column) string {
	condition := c.Quoted() + " IS NOT NULL"
	if c.Kind() == analysis.KindText {
		condition = "length(" + c.Quoted() + ") <= " + strconv.Itoa(analysis.MaxText)
	}
	if texts := w.placeholders[c.Name]; len(texts) > 0 {
		condition += " AND NOT " + among(c, texts)
	}
	return condition
}

// groupsSQL returns a statement's FROM item of the values k of a column with their number of
// rows, the rows with the most frequent value m of another column, and the rows where that is
// NULL. Its rows fulfil a condition, which begins with AND, or is "".
func (w *nullsWork) groupsSQL(by, c analysis.Column, condition string) string {
	pairs := "(SELECT " + cell(by) + " AS k, CASE WHEN " + w.present(c) + " THEN " + cell(c) + " END AS w, count(*) AS n, " +
		"count(*) FILTER (WHERE " + cell(c) + " IS NULL) AS missing FROM " + w.in.Table.From(by, c) + " WHERE " + w.present(by) +
		condition + " GROUP BY ALL) AS pairs"
	return "(SELECT k, CAST(coalesce(sum(n) FILTER (WHERE w IS NOT NULL), 0) AS BIGINT) AS total, " +
		"coalesce(max(n) FILTER (WHERE w IS NOT NULL), 0) AS agreeing, max({'n': n, 'w': w}) FILTER (WHERE w IS NOT NULL).w AS m, " +
		"CAST(sum(missing) AS BIGINT) AS missing FROM " + pairs + " GROUP BY k) AS g"
}

// determined is the condition that a group determines the value of its rows with NULL.
const determined = "total >= 2 AND agreeing >= 0.98 * total"

// test measures a dependency. Where there are many values, it first reads a part of them, which
// their hashes choose.
func (w *nullsWork) test(ctx context.Context, by profile, c analysis.Column) (dependency, error) {
	if by.rows > manyRows && by.distinct >= 64 {
		some, err := w.measure(ctx, by.column, c, " AND hash("+cell(by.column)+") % 16 = 0")
		if err != nil || some.rows >= leastSupport && some.consistency() < 0.9 {
			return some, err
		}
	}
	d, err := w.measure(ctx, by.column, c, "")
	if err != nil || d.rows < leastSupport || d.consistency() < consistent {
		return d, err
	}
	sql := "SELECT CAST(coalesce(max(n) / sum(n), 0) AS DOUBLE) FROM (SELECT count(*) AS n FROM " + w.in.Table.From(c) + " WHERE " +
		w.present(c) + " GROUP BY " + cell(c) + ") AS g"
	err = w.in.Each(ctx, sql, func(r engine.Row) error {
		d.common = r.Float64(0)
		return nil
	})
	return d, err
}

// measure measures a dependency among rows that fulfil a condition, without its common value.
func (w *nullsWork) measure(ctx context.Context, by, c analysis.Column, condition string) (dependency, error) {
	d := dependency{by: by}
	sql := "SELECT CAST(coalesce(sum(total) FILTER (WHERE total >= 2), 0) AS BIGINT), " +
		"CAST(coalesce(sum(agreeing) FILTER (WHERE total >= 2), 0) AS BIGINT), count(*) FILTER (WHERE total >= 2), " +
		"CAST(coalesce(sum(missing) FILTER (WHERE " + determined + "), 0) AS BIGINT) FROM " + w.groupsSQL(by, c, condition)
	err := w.in.Each(ctx, sql, func(r engine.Row) error {
		d.rows, d.agreeing, d.groups, d.fillable = r.Int64(0), r.Int64(1), r.Int64(2), r.Int64(3)
		return nil
	})
	return d, err
}

// fill proposes to fill NULLs with the values that another column determines.
func (w *nullsWork) fill(ctx context.Context, c analysis.Column, d dependency) error {
	if len(w.proposals) >= w.in.Limit || w.proposedText > maxShownText {
		return nil
	}
	pairs, err := w.in.Texts(ctx, "SELECT CAST(k AS VARCHAR), CAST(m AS VARCHAR) FROM "+w.groupsSQL(d.by, c, "")+" WHERE "+determined+
		" AND missing > 0 ORDER BY missing DESC, k LIMIT "+strconv.Itoa(maxFilled+1))
	if err != nil {
		return err
	}
	var keys []string
	var cases strings.Builder
	cases.WriteString("CASE " + d.by.Quoted())
	for i, pair := range pairs {
		if i == maxFilled || cases.Len() > maxFilledText {
			w.warnings = append(w.warnings, "The proposal for the NULLs of "+analysis.InQuotes(c.Name)+" covers only the values with the most rows.")
			break
		}
		keys = append(keys, *pair[0])
		cases.WriteString(" WHEN " + analysis.Literal(d.by, *pair[0]) + " THEN " + analysis.Literal(c, *pair[1]))
	}
	cases.WriteString(" END")
	if len(keys) == 0 {
		return nil
	}
	where := c.Quoted() + " IS NULL AND " + among(d.by, keys)
	w.proposedText += len(where) + cases.Len()
	rows, err := w.in.Rows(ctx, where, c, d.by)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Fill NULL in %s with the value that %s determines, in %s.", analysis.InQuotes(c.Name), analysis.InQuotes(d.by.Name),
		analysis.Plural(rows, "row", "rows"))
	w.proposals = append(w.proposals, analysis.Proposal{
		Title: title, Columns: []string{c.Name, d.by.Name}, Confidence: analysis.RoundConfidence(d.consistency() * 0.95),
		Change: analysis.UpdateRows{Where: where, Set: map[string]string{c.Name: cases.String()}}, Effect: analysis.Effect{Rows: &rows},
	})
	return nil
}
