package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// extreme is the share of the values beyond which a value is extreme.
	extreme = 0.005
	// uncommon is the share of the rows below which a category is rare.
	uncommon  = 0.01
	minGroup  = 30
	maxTold   = 3
	minValues = 20
)

// notes describes every cell of the rows.
func (e *explainer) notes() []CellNote {
	out := []CellNote{}
	for row := range e.rows {
		for i := range e.columns {
			out = append(out, e.note(row, i))
		}
	}
	return out
}

// note describes a cell.
func (e *explainer) note(row, i int) CellNote {
	p, at := e.profiles[i], e.places[i][row]
	n := CellNote{Row: row + 1, Column: p.Column.Name, Observation: typical}
	value := e.rows[row].Values[p.Column.Name]
	share := func(part, all int64) *float64 {
		if all == 0 {
			return nil
		}
		v := rounded(float64(part)/float64(all), 6)
		return &v
	}
	switch {
	case value == nil:
		n.Observation, n.Share, n.Same = missing, share(p.Nulls, p.Rows), &p.Nulls
		return n
	case p.Column.Kind() == analysis.KindOther || at.long:
		n.Observation = notCompared
		return n
	}
	n.Share, n.Same = share(at.equal, p.Rows), &at.equal
	if p.Column.Measurable() {
		n.Percentile = share(2*at.less+at.equal, 2*at.all)
		if e.group >= 0 && at.of >= minGroup && i != e.group {
			n.Group, n.InGroup = e.groupName(row), share(2*at.groupLess+at.groupEqual, 2*at.of)
		}
	}
	switch identifying := p.Exact && p.Distinct == p.Present() && p.Present() > 1; {
	case p.Present() == 1:
		n.Observation = only
	case p.Distinct == 1:
	case p.Column.Measurable() && !identifying && at.all >= minValues:
		n.Observation = e.extremity(p, at)
	case identifying:
		n.Observation = unique
	case p.Column.Kind() == analysis.KindText && p.Distinct*2 > p.Present():
		n.Observation = e.length(p, *value)
	case float64(at.equal) < uncommon*float64(p.Present()) && at.equal*10*p.Distinct < p.Present():
		n.Observation = rare
	}
	return n
}

func (e *explainer) groupName(row int) *string {
	name := e.columns[e.group].Name + " " + strings.TrimSpace(*e.rows[row].Values[e.columns[e.group].Name])
	name = analysis.Cut(name, analysis.MaxText)
	return &name
}

// extremity returns whether a number is extreme among all or in its group, or rare.
func (e *explainer) extremity(p Profile, at place) string {
	high := func(less, equal, all int64) bool {
		return float64(all-less-equal) < extreme*float64(all) && equal*50 < all
	}
	low := func(less, equal, all int64) bool { return float64(less) < extreme*float64(all) && equal*50 < all }
	switch {
	case p.Distinct < 10:
	case high(at.less, at.equal, at.all) || at.of >= 200 && high(at.groupLess, at.groupEqual, at.of):
		return extremeHigh
	case low(at.less, at.equal, at.all) || at.of >= 200 && low(at.groupLess, at.groupEqual, at.of):
		return extremeLow
	}
	if p.Distinct <= 100 && float64(at.equal) < uncommon*float64(at.all) && at.equal*10*p.Distinct < at.all {
		return rare
	}
	return typical
}

// length returns whether a text is among the longest or shortest.
func (e *explainer) length(p Profile, value string) string {
	switch n := int64(len([]rune(value))); {
	case p.Shortest == p.Longest || p.Present() < minValues:
	case n == p.Longest:
		return longest
	case n == p.Shortest:
		return shortest
	}
	return typical
}

// text tells what is unusual about the rows.
func (e *explainer) text(r RowsResult) (string, []analysis.Reference) {
	references := []analysis.Reference{}
	if len(r.Rows) == 0 {
		return fmt.Sprintf("No row of the table %s was chosen.", e.in.Table.Name), references
	}
	out := []string{fmt.Sprintf("%s compared with all %s of the table %s.",
		analysis.Plural(int64(len(r.Rows)), "row was", "rows were"), analysis.Thousands(r.Compared), e.in.Table.Name)}
	plain := 0
	for row := range r.Rows {
		notes := r.Cells[row*len(e.columns) : (row+1)*len(e.columns)]
		notes = slices.DeleteFunc(slices.Clone(notes), func(n CellNote) bool {
			return n.Observation == typical || n.Observation == unique || n.Observation == notCompared
		})
		slices.SortStableFunc(notes, func(a, b CellNote) int { return rank(a) - rank(b) })
		if len(notes) == 0 {
			plain++
			continue
		}
		if len(out) > 4 {
			continue
		}
		var parts []string
		for _, n := range notes[:min(maxTold, len(notes))] {
			ref := analysis.Reference{Row: n.Row, Column: n.Column, Value: r.Rows[row].Values[n.Column]}
			references = append(references, ref)
			parts = append(parts, fmt.Sprintf("%s %s %s", n.Column, ref.Tag(), inWords(n)))
		}
		out = append(out, fmt.Sprintf("In row %d, %s.", row+1, analysis.List(parts, maxTold)))
	}
	switch {
	case plain == len(r.Rows):
		out = append(out, "No value is unusual.")
	case plain > 0:
		out = append(out, analysis.Plural(int64(plain), "row has", "rows have")+" only usual values.")
	}
	return strings.Join(out, " "), references
}

// rank orders observations, from the most to the least informative.
func rank(n CellNote) int {
	return slices.Index([]string{extremeHigh, extremeLow, rare, only, missing, longest, shortest}, n.Observation)
}

// inWords returns an observation in words.
func inWords(n CellNote) string {
	switch n.Observation {
	case missing:
		return "is missing, as in " + analysis.Percent(*n.Share) + " of the rows"
	case rare:
		return "is rare: " + analysis.Plural(*n.Same, "row has", "rows have") + " it"
	case only:
		return "is the only value of its column"
	case longest, shortest:
		return "is among the " + n.Observation + " texts"
	}
	word, share := "above", *n.Percentile
	if n.Observation == extremeLow {
		word, share = "below", 1-share
	}
	text := fmt.Sprintf("is %s %s of all values", word, analysis.Percent(share))
	if n.InGroup != nil {
		inside := *n.InGroup
		if word == "below" {
			inside = 1 - inside
		}
		text += fmt.Sprintf(" and %s %s of those with %s", word, analysis.Percent(inside), analysis.InQuotes(*n.Group))
	}
	return text
}
