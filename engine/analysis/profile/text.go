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
	sentences := []string{fmt.Sprintf("The table %s has %s and %s.", t.Name, Count(s.Rows, "row"), Count(int64(len(s.Columns)), "column"))}
	if t.Where != "" {
		sentences[0] = fmt.Sprintf("The chosen rows of the table %s are %s with %s.", t.Name, grouped(s.Rows), Count(int64(len(s.Columns)),
			"column"))
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
		parts = append(parts, "the primary key is "+List(t.PrimaryKey, 4))
	case len(s.Identifiers) > 0:
		parts = append(parts, "each row has its own value of "+List(s.Identifiers, 3))
	case s.DuplicateRows != nil && *s.DuplicateRows > 0:
		parts = append(parts, Count(*s.DuplicateRows, "row")+" repeat another row")
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
		Percent(s.Complete), plural(int64(full), "column is", "columns are"), worst.Column, Percent(worst.NullRate))
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
		parts = append(parts, fmt.Sprintf("%s (%s, most often %s with %s of the rows)", p.Column.Name, Count(p.Distinct, "value"),
			quoted(p.Top[0].Value), Percent(float64(p.Top[0].Rows)/float64(rows))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "The main categories are " + List(parts, 3) + "."
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
		out = append(out, "All values are equal in "+List(constant, 4)+".")
	}
	if len(skewed) > 0 {
		out = append(out, "Few large or small values shift the mean of "+List(skewed, 3)+".")
	}
	return strings.Join(out, " ")
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func quoted(s string) string { return strconv.Quote(cut(s, 40)) }

// List joins names as in "a, b and c". Names beyond most are counted.
func List(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Count returns a number with a noun, as in "1,200 rows".
func Count(n int64, noun string) string { return plural(n, noun, noun+"s") }

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped returns a number with commas between thousands.
func grouped(n int64) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent returns a share as in "12.5 %".
func Percent(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 0.1:
		return "less than 0.1 %"
	case p < 100 && p > 99.9:
		return "more than 99.9 %"
	}
	return strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64) + " %"
}
