package records

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// merger makes one row of the rows of a cluster.
type merger struct {
	confidence float64
	// columns are the visible ones outside the key, key those of the key.
	columns, key []analysis.Column
	// shows has the columns that are always shown.
	shows map[string]bool
	// fields has the compared columns by name.
	fields map[string]*field
	rows   []mergedRow
	// kept is the number of the row that stays, in rows.
	kept int
	// long reports that values which are not read whole differ.
	long bool
}

// mergedRow is a row of a cluster.
type mergedRow struct {
	key []string
	// values are texts of at most 200 characters. digests has a digest for each longer text
	// and each nested value, and nil for others.
	values, digests []*string
}

// readMergers reads the rows of clusters.
func (f *found) readMergers(ctx context.Context, in analysis.Input, chosen []cluster) ([]*merger, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	out := make([]*merger, len(chosen))
	place := map[int64]int{}
	var hashes []string
	base := merger{key: f.plan.key, shows: map[string]bool{}, fields: map[string]*field{}}
	for _, c := range in.Table.Columns {
		if !slices.Contains(in.Table.PrimaryKey, c.Name) {
			base.columns = append(base.columns, c)
		}
	}
	for _, field := range f.table.fields {
		base.shows[field.column.Name], base.fields[field.column.Name] = true, field
	}
	for i, c := range chosen {
		m := base
		m.confidence = c.confidence
		out[i] = &m
		for _, record := range c.records {
			place[f.table.hashes[record]] = i
			hashes = append(hashes, strconv.FormatInt(f.table.hashes[record], 10))
		}
	}
	items := []string{f.plan.hash() + " AS h", "CAST(NULL AS VARCHAR) AS k"}
	if len(f.plan.key) > 0 {
		items[1] = keyText(f.plan.key) + " AS k"
	}
	for _, c := range base.columns {
		items = append(items, analysis.Shown(c), digest(c))
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + in.Table.From(in.Table.Columns...) + " WHERE " + f.plan.hash() + " IN (" +
		strings.Join(hashes, ", ") + ") ORDER BY h, k LIMIT " + strconv.Itoa(2*maxShownRows)
	err := in.Each(ctx, sql, func(r engine.Row) error {
		m := out[place[r.Int64(0)]]
		row := mergedRow{key: splitKey(r.Bytes(1))}
		for j := range base.columns {
			row.values = append(row.values, analysis.Text(r, 2+2*j))
			row.digests = append(row.digests, analysis.Text(r, 3+2*j))
		}
		m.rows = append(m.rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(m *merger) bool { return len(m.rows) < 2 })
	for _, m := range out {
		m.prepare()
	}
	return out, nil
}

// digest returns the SQL of a text that is equal for equal values, for a value that is not
// read whole, and NULL for any other.
func digest(c analysis.Column) string {
	switch c.Kind() {
	case analysis.KindText:
		return "CASE WHEN length(" + c.Quoted() + ") > " + strconv.Itoa(analysis.MaxText) + " THEN md5(" + c.Quoted() + ") END"
	case analysis.KindOther:
		return "CAST(hash(" + c.Quoted() + ") AS VARCHAR)"
	}
	return "CAST(NULL AS VARCHAR)"
}

// prepare orders the rows and chooses the one that stays: the one with the most values.
func (g *merger) prepare() {
	slices.SortStableFunc(g.rows, func(a, b mergedRow) int {
		if c := compareKeys(a.key, b.key); c != 0 {
			return c
		}
		return compareKeys(texts(a.values), texts(b.values))
	})
	most := -1
	for i, row := range g.rows {
		filled := 0
		for _, v := range row.values {
			if v != nil && strings.TrimSpace(*v) != "" {
				filled++
			}
		}
		if filled > most {
			g.kept, most = i, filled
		}
	}
	for j := range g.columns {
		for _, row := range g.rows[1:] {
			if !same(row.digests[j], g.rows[0].digests[j]) {
				g.long = true
			}
		}
	}
}

func texts(values []*string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

func same(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// contradicts reports whether the rows differ by more than errors in a column of
// identifiers, or in one whose values are declared unique.
func (g *merger) contradicts(identifiers []analysis.Column) bool {
	for j, c := range g.columns {
		if !c.Unique && !analysis.Contains(identifiers, c.Name) {
			continue
		}
		for i, row := range g.rows {
			for _, other := range g.rows[:i] {
				if a, b := row.values[j], other.values[j]; a != nil && b != nil && similarity.Distance(*a, *b, 2) > 2 {
					return true
				}
			}
		}
	}
	return false
}

// survivors returns the values that stay, of the columns in which the rows differ. first is
// the number of rows of earlier clusters.
func (g *merger) survivors(first int) []Survivor {
	out := []Survivor{}
	newest := g.newest()
	for j, c := range g.columns {
		differ := false
		for _, row := range g.rows[1:] {
			differ = differ || !same(row.values[j], g.rows[0].values[j])
		}
		if !differ || c.Kind() == analysis.KindOther {
			continue
		}
		from, rule := g.kept, "kept_row"
		if !c.Masked {
			from, rule = g.survivor(j, newest)
		}
		s := Survivor{Column: c.Name, Value: g.rows[from].values[j], Rule: rule, FromRow: first + from + 1}
		for _, row := range g.rows {
			if !same(row.values[j], s.Value) {
				s.Disagreeing++
			}
		}
		out = append(out, s)
	}
	return out
}

// changeTime matches the names of columns that say when a row was last changed.
var changeTime = regexp.MustCompile(`(?i)(updat|modif|chang|sync|seen)`)

// newest returns the number of the row that was changed last, or -1.
func (g *merger) newest() int {
	for j, c := range g.columns {
		if !isAuditTime(c) || !changeTime.MatchString(c.Name) {
			continue
		}
		best, several := -1, false
		for i, row := range g.rows {
			switch {
			case row.values[j] == nil:
			case best < 0 || *row.values[j] > *g.rows[best].values[j]:
				best, several = i, false
			case *row.values[j] == *g.rows[best].values[j]:
				several = true
			}
		}
		if best >= 0 && !several {
			return best
		}
	}
	return -1
}

// survivor returns the number of the row whose value of column j stays, and the rule.
func (g *merger) survivor(j, newest int) (int, string) {
	counts := map[string]int{}
	var filled []int
	for i, row := range g.rows {
		if v := row.values[j]; v != nil && strings.TrimSpace(*v) != "" {
			counts[*v]++
			filled = append(filled, i)
		}
	}
	value := func(i int) string { return *g.rows[i].values[j] }
	switch {
	case len(filled) == 0:
		return g.kept, "kept_row"
	case len(counts) == 1:
		return filled[0], "only_value"
	case isAuditTime(g.columns[j]):
		rule := "oldest"
		if changeTime.MatchString(g.columns[j].Name) {
			rule = "newest"
		}
		best := filled[0]
		for _, i := range filled {
			if rule == "newest" && value(i) > value(best) || rule == "oldest" && value(i) < value(best) {
				best = i
			}
		}
		return best, rule
	}
	if best, unique := top(filled, func(i int) int { return counts[value(i)] }, value); unique {
		return best, "most_frequent"
	}
	if newest >= 0 && slices.Contains(filled, newest) {
		return newest, "newest"
	}
	if f := g.fields[g.columns[j].Name]; f != nil && f.kind == words {
		best, unique := top(filled, func(i int) int { return f.occurrences(value(i)) }, value)
		others := 0
		for _, i := range filled {
			if value(i) != value(best) {
				others = max(others, f.occurrences(value(i)))
			}
		}
		if unique && f.occurrences(value(best)) >= 3*max(others, 1) {
			return best, "most_usual"
		}
	}
	if g.columns[j].Kind() == analysis.KindText {
		if best, unique := top(filled, func(i int) int { return utf8.RuneCountInString(strings.TrimSpace(value(i))) }, value); unique {
			return best, "most_complete"
		}
	}
	if slices.Contains(filled, g.kept) {
		return g.kept, "kept_row"
	}
	return filled[0], "kept_row"
}

// top returns the first row with the highest score, and whether rows with other values have
// lower ones.
func top(rows []int, score func(int) int, value func(int) string) (int, bool) {
	best := rows[0]
	for _, i := range rows {
		if score(i) > score(best) {
			best = i
		}
	}
	for _, i := range rows {
		if value(i) != value(best) && score(i) == score(best) {
			return best, false
		}
	}
	return best, true
}

// occurrences returns in how many records a value occurs, spelled in any way.
func (f *field) occurrences(text string) int {
	normal := f.normal([]byte(text))
	if len(normal) == 0 {
		return 0
	}
	return int(f.counts[f.values.find(normal)])
}

// keyOf returns the key of a row, as texts that may be cut.
func (g *merger) keyOf(i int) map[string]*string {
	out := map[string]*string{}
	for k, part := range g.rows[i].key {
		part = analysis.Cut(part, analysis.MaxText)
		out[g.key[k].Name] = &part
	}
	return out
}

// jsonKey returns the key of a row for a request.
func (g *merger) jsonKey(i int) map[string]any {
	out := map[string]any{}
	for k, part := range g.rows[i].key {
		out[g.key[k].Name] = analysis.JSONValue(g.key[k], &part)
	}
	return out
}

// keyWords names the key of a row.
func (g *merger) keyWords(i int) string {
	parts := make([]string, 0, len(g.key))
	for k, part := range g.rows[i].key {
		parts = append(parts, g.key[k].Name+" "+analysis.Cut(part, analysis.MaxText))
	}
	return strings.Join(parts, " and ")
}
