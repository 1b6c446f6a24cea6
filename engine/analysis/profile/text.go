package profile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// summaryText tells in a few sentences what the table is about.
func summaryText(t analysis.Table, s SummaryResult, profiles []Profile) string {
	sentences := []string{fmt.Sprintf("The table %s has %s and %s.", t.Name, analysis.Count(s.Rows, "row"),
		analysis.Count(int64(len(s.Columns)), "column"))}
	if t.Where != "" {
		sentences[0] = fmt.Sprintf("The condition selects %s of the table %s, with %s.", analysis.Count(s.Rows, "row"), t.Name,
			analysis.Count(int64(len(s.Columns)), "column"))
	}
	if s.Rows == 0 {
		return sentences[0]
	}
	sentences = append(sentences, spanAndKey(t, s), completeness(s), categories(s.Rows, profiles), skew(profiles))
	var kept []string
	for _, one := range sentences {
		if one != "" {
			kept = append(kept, one)
		}
	}
	return strings.Join(kept, " ")
}

func spanAndKey(t analysis.Table, s SummaryResult) string {
	var parts []string
	if s.DateRange != nil {
		parts = append(parts, fmt.Sprintf("the values of %s run from %s to %s", s.DateRange.Column, s.DateRange.From, s.DateRange.To))
	}
	switch {
	case len(t.PrimaryKey) > 0:
		parts = append(parts, "the primary key is "+analysis.List(t.PrimaryKey, 4))
	case len(s.Identifiers) > 0:
		parts = append(parts, "each row has its own value of "+analysis.List(s.Identifiers, 3))
	case s.DuplicateRows != nil && *s.DuplicateRows > 0:
		parts = append(parts, analysis.Count(*s.DuplicateRows, "row")+" repeat another row")
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", and ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

func completeness(s SummaryResult) string {
	var full int
	var worst ColumnSummary
	for _, c := range s.Columns {
		if c.Nulls == 0 {
			full++
		}
		if c.Nulls > worst.Nulls {
			worst = c
		}
	}
	if full == len(s.Columns) {
		return "No value is missing."
	}
	return fmt.Sprintf("%s of all values are present; %s without NULL, and %s is missing most often, in %s of the rows.",
		analysis.Percent(s.Complete), analysis.Plural(int64(full), "column is", "columns are"), worst.Column, analysis.Percent(worst.NullRate))
}

// categories names the columns with few values, and their most frequent value.
func categories(rows int64, profiles []Profile) string {
	var parts []string
	for _, p := range profiles {
		kind := p.Column.Kind()
		if kind != analysis.KindText && kind != analysis.KindBoolean || p.Distinct < 2 || p.Distinct > 200 || len(p.Top) == 0 ||
			p.Distinct*5 > p.Present() || len(parts) == 3 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (%s, most often %s with %s of the rows)", p.Column.Name, analysis.Count(p.Distinct, "value"),
			analysis.InQuotes(p.Top[0].Value), analysis.Percent(float64(p.Top[0].Rows)/float64(rows))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "The main categories are " + analysis.List(parts, 3) + "."
}

// skew names what is lopsided: one value nearly everywhere, or a mean far from the median.
func skew(profiles []Profile) string {
	var constant, skewed []string
	for _, p := range profiles {
		switch {
		case p.Present() > 1 && p.Distinct == 1:
			constant = append(constant, p.Column.Name)
		case p.Column.Numeric() && p.Present() >= 30 && !math.IsNaN(p.Deviation) && p.Deviation > 0:
			median, spread := p.Quantile(0.5), p.Quantile(0.75)-p.Quantile(0.25)
			if d := p.Mean - median; spread > 0 && math.Abs(d) > spread/2 {
				skewed = append(skewed, fmt.Sprintf("%s (mean %s, median %s)", p.Column.Name, short(p.Mean), short(median)))
			}
		}
	}
	var out []string
	if len(constant) > 0 {
		out = append(out, "All values are equal in "+analysis.List(constant, 4)+".")
	}
	if len(skewed) > 0 {
		out = append(out, "A few large or small values shift the mean of "+analysis.List(skewed, 3)+".")
	}
	return strings.Join(out, " ")
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
