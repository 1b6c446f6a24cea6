package records

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// splitKey returns the parts of a key that [keyText] has put together.
func splitKey(text []byte) []string {
	var out []string
	rest := string(text)
	for rest != "" {
		length, after, found := strings.Cut(rest, ":")
		if !found {
			return append(out, rest)
		}
		characters, err := strconv.Atoi(length)
		if err != nil {
			return append(out, rest)
		}
		end := 0
		for range characters {
			_, size := utf8.DecodeRuneInString(after[end:])
			end += size
		}
		out = append(out, after[:end])
		rest = strings.TrimPrefix(after[end:], "\x1f")
	}
	return out
}

// shown returns the columns of which rows are shown: the compared ones.
func (f *found) shown() []analysis.Column {
	out := make([]analysis.Column, len(f.plan.chosen))
	for i, p := range f.plan.chosen {
		out[i] = p.column
	}
	return out
}

// show reads the rows of the first clusters, as far as they fit.
func (f *found) show(ctx context.Context, in analysis.Input, listed []cluster) ([][]analysis.CitedRow, error) {
	var hashes []string
	place := map[int64]int{}
	rows := 0
	groups := 0
	for i, c := range listed[:min(len(listed), maxShownClusters)] {
		if rows += c.rows; rows > maxShownRows && i > 0 {
			break
		}
		groups++
		for _, record := range c.records {
			hash := f.table.hashes[record]
			place[hash] = i
			hashes = append(hashes, strconv.FormatInt(hash, 10))
		}
	}
	if groups == 0 {
		return nil, nil
	}
	columns := f.shown()
	items := []string{f.plan.hash() + " AS h", "CAST(NULL AS VARCHAR) AS k"}
	if len(f.plan.key) > 0 {
		items[1] = keyText(f.plan.key) + " AS k"
	}
	for _, c := range columns {
		items = append(items, analysis.Shown(c))
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + in.Table.From(f.plan.columns()...) + " WHERE " + f.plan.hash() + " IN (" +
		strings.Join(hashes, ", ") + ") ORDER BY h, k LIMIT " + strconv.Itoa(10*maxShownRows)
	found := make([][]analysis.CitedRow, groups)
	err := in.Each(ctx, sql, func(r engine.Row) error {
		i := place[r.Int64(0)]
		row := analysis.CitedRow{Values: map[string]*string{}}
		if len(f.plan.key) > 0 {
			row.Key = map[string]*string{}
			for k, part := range splitKey(r.Bytes(1)) {
				part = analysis.Cut(part, analysis.MaxText)
				row.Key[f.plan.key[k].Name] = &part
			}
		}
		for j, c := range columns {
			row.Values[c.Name] = analysis.Text(r, 2+j)
		}
		found[i] = append(found[i], row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.fit(found, columns), nil
}

// fit orders the rows of each group and drops what is too much for an answer.
func (f *found) fit(groups [][]analysis.CitedRow, columns []analysis.Column) [][]analysis.CitedRow {
	bytes := 0
	for i, rows := range groups {
		slices.SortFunc(rows, func(a, b analysis.CitedRow) int {
			return compareKeys(f.sortKey(a, columns), f.sortKey(b, columns))
		})
		groups[i] = rows[:min(len(rows), maxShownRows/4)]
		for _, row := range groups[i] {
			for name, value := range row.Values {
				bytes += 8 + len(name)
				if value != nil {
					bytes += len(*value)
				}
			}
		}
		if bytes > maxShownBytes && i > 0 {
			return groups[:i]
		}
	}
	return groups
}

// sortKey returns the texts by which a row is ordered: its key, then its values.
func (f *found) sortKey(row analysis.CitedRow, columns []analysis.Column) []string {
	var out []string
	add := func(value *string) {
		if value == nil {
			out = append(out, "")
		} else {
			out = append(out, *value)
		}
	}
	for _, c := range f.plan.key {
		add(row.Key[c.Name])
	}
	for _, c := range columns {
		add(row.Values[c.Name])
	}
	return out
}
