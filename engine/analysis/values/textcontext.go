package values

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// The shapes of texts that a context counts.
const (
	shapeNumber = iota
	shapeDate
	shapeMail
	shapeDigit   // has a digit
	shapeCapital // an upper-case letter first, and others
	shapeUpper   // letters in upper case only
	shapeLower   // letters in lower case only
	shapeUpper2
	shapeUpper3
	shapeLower2
	shapeLower3
	shapes
)

// shapeConditions are the conditions of the shapes on v, in their order.
var shapeConditions = [shapes]string{
	isNumber, isDate, "contains(v, '@')", "regexp_matches(v, '[0-9]')", "left(v, 1) <> lower(left(v, 1)) AND v <> upper(v)",
	"v = upper(v) AND v <> lower(v)", "v = lower(v) AND v <> upper(v)",
	"regexp_full_match(v, '[A-Z]{2}')", "regexp_full_match(v, '[A-Z]{3}')",
	"regexp_full_match(v, '[a-z]{2}')", "regexp_full_match(v, '[a-z]{3}')",
}

const (
	isNumber = "coalesce(isfinite(TRY_CAST(v AS DOUBLE)), FALSE)"
	isDate   = `regexp_matches(v, '^\d{4}-\d{2}-\d{2}([ T]|$)|^\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})$')`
	isMarks  = `regexp_full_match(v, '[\s\p{Z}\p{P}\p{S}\p{Cf}]*')`
)

// bareSQL is the SQL of bareWord over v.
var bareSQL = `regexp_replace(trim(lower(v), ` + engine.QuoteString(wordEdges) + `), '\s+', ' ', 'g')`

// wordListSQL is the list of the words of wordMeanings without dots at the end.
var wordListSQL = func() string {
	list := make([]string, 0, len(wordMeanings))
	for _, word := range sortedKeys(wordMeanings) {
		list = append(list, engine.QuoteString(strings.TrimRight(word, ".!")))
	}
	return strings.Join(slices.Compact(list), ", ")
}()

// flagged returns the FROM item f of the distinct short texts v of a column with their number
// of rows n: marks are texts of punctuation only, words have a meaning as missing value,
// candidates may be placeholders, whatever the other values are.
func flagged(in analysis.Input, c analysis.Column) string {
	// A dummy is one sign, repeated among punctuation.
	const signs = "regexp_replace(lower(v), '[^0-9a-z]', '', 'g')"
	return "(SELECT v, n, marks, word, marks OR word OR length(signs) >= 3 AND trim(signs, left(signs, 1)) = '' OR contains(v, '@') AND " +
		"regexp_matches(lower(v), '" + dummyMail + "') AS candidate FROM (SELECT v, n, " + isMarks + " AS marks, rtrim(" + bareSQL +
		", '.!') IN (" + wordListSQL + ") AS word, " + signs + " AS signs FROM " + grouped(in, c) + ") AS s) AS f"
}

// textContext describes the texts of a column that are neither words for missing values nor
// only punctuation.
type textContext struct {
	// values is the number of rows, distinct that of values, and most that of the rows of the
	// most frequent value.
	values, distinct, most int64
	// by counts the rows with a shape.
	by [shapes]int64
	// marks counts the rows with punctuation only, which the other numbers leave out, and
	// markForms the values.
	marks, markForms int64
	// candidates counts the values that may be placeholders, whatever the others are.
	candidates int64
}

// share returns the part of the rows with a shape.
func (t textContext) share(shape int) float64 { return ratio(t.by[shape], t.values) }

// category reports whether the values are few that repeat.
func (t textContext) category() bool { return t.distinct <= 50 && t.values >= 5*t.distinct }

func contextOf(ctx context.Context, in analysis.Input, c analysis.Column) (textContext, error) {
	items := []string{
		"coalesce(sum(n) FILTER (WHERE ordinary), 0)", "count(*) FILTER (WHERE ordinary)", "coalesce(max(n) FILTER (WHERE ordinary), 0)",
		"coalesce(sum(n) FILTER (WHERE marks), 0)", "count(*) FILTER (WHERE marks)",
		"count(*) FILTER (WHERE candidate)",
	}
	for _, condition := range shapeConditions {
		items = append(items, "coalesce(sum(n) FILTER (WHERE ordinary AND "+condition+"), 0)")
	}
	for i, item := range items {
		items[i] = "CAST(" + item + " AS BIGINT)"
	}
	var t textContext
	err := in.Each(ctx, "SELECT "+strings.Join(items, ", ")+" FROM (SELECT *, NOT marks AND NOT word AS ordinary FROM "+flagged(in, c)+
		") AS o",
		func(r engine.Row) error {
			t = textContext{values: r.Int64(0), distinct: r.Int64(1), most: r.Int64(2), marks: r.Int64(3), markForms: r.Int64(4),
				candidates: r.Int64(5)}
			for i := range t.by {
				t.by[i] = r.Int64(6 + i)
			}
			return nil
		})
	return t, err
}
