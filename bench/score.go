package bench

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// score is how well a set of findings matches the truth.
type score struct{ precision, recall float64 }

// f1 is the harmonic mean of precision and recall.
func (s score) f1() float64 {
	if s.precision+s.recall == 0 {
		return 0
	}
	return 2 * s.precision * s.recall / (s.precision + s.recall)
}

// share returns part of whole, and 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// citedRow is a row that an answer cites. Its values are texts.
type citedRow struct {
	Row    int                `json:"row"`
	Key    map[string]*string `json:"key"`
	Values map[string]*string `json:"values"`
}

// id returns the value of the column id, which generated tables with a known row have.
func (c citedRow) id() (int, bool) {
	for _, values := range []map[string]*string{c.Key, c.Values} {
		if text := values["id"]; text != nil {
			id, err := strconv.Atoi(*text)
			return id, err == nil
		}
	}
	return 0, false
}

// rowIDs returns the ids of cited rows by their numbers in the answer.
func rowIDs(rows []citedRow) map[int]int {
	ids := map[int]int{}
	for _, row := range rows {
		if id, ok := row.id(); ok {
			ids[row.Row] = id
		}
	}
	return ids
}

// scorePairs compares clusters of ids with the entity of each id: every pair of rows in one
// cluster is found, every pair of rows of one entity is true.
func scorePairs(clusters [][]int, entities []int) score {
	type group struct{ cluster, entity int }
	right, found, known, seen := map[group]int{}, map[int]int{}, map[int]int{}, map[int]bool{}
	for cluster, ids := range clusters {
		for _, id := range ids {
			if id < 1 || id > len(entities) || seen[id] {
				continue
			}
			seen[id] = true
			found[cluster]++
			right[group{cluster, entities[id-1]}]++
		}
	}
	for _, entity := range entities {
		known[entity]++
	}
	both := pairs(right)
	return score{precision: share(both, pairs(found)), recall: share(both, pairs(known))}
}

func pairs[K comparable](sizes map[K]int) (n int) {
	for _, size := range sizes {
		n += size * (size - 1) / 2
	}
	return n
}

// missingClusters returns the known clusters that no found cluster contains, and how many found
// clusters contain no known one.
func missingClusters(known, found [][]string) (missing [][]string, extra int) {
	places := map[string][]int{} // clusters of a value
	for i, values := range found {
		for _, value := range values {
			places[value] = append(places[value], i)
		}
	}
	used := map[int]bool{}
	for _, values := range known {
		place := slices.IndexFunc(places[values[0]], func(at int) bool {
			return !slices.ContainsFunc(values, func(value string) bool { return !slices.Contains(places[value], at) })
		})
		if place < 0 {
			missing = append(missing, values)
			continue
		}
		used[places[values[0]][place]] = true
	}
	return missing, len(found) - len(used)
}

// defect is a planted wrong value. Any of its columns may be blamed for it.
type defect struct {
	Kind    string   `json:"kind"`
	Row     int      `json:"row"`
	Columns []string `json:"columns"`
}

// place is a cell that an answer blames.
type place struct {
	row    int
	column string
}

// scoreDefects compares blamed cells with defects: a blamed cell is right if it belongs to a
// defect. missed counts the defects without a blamed cell by kind, wrong the cells by column.
func scoreDefects(planted []defect, blamed []place) (s score, missed, wrong map[string]int) {
	owners := map[place]int{}
	for i, d := range planted {
		for _, column := range d.Columns {
			owners[place{d.Row, column}] = i
		}
	}
	found, cells := map[int]bool{}, map[place]bool{}
	missed, wrong = map[string]int{}, map[string]int{}
	right := 0
	for _, cell := range blamed {
		if cells[cell] && cell.row != 0 {
			continue // several reasons for one cell are one finding
		}
		cells[cell] = true
		if owner, ok := owners[cell]; ok {
			found[owner] = true
			right++
			continue
		}
		wrong[cell.column]++
	}
	all := right
	for _, n := range wrong {
		all += n
	}
	for i, d := range planted {
		if !found[i] {
			missed[d.Kind]++
		}
	}
	return score{precision: share(right, all), recall: share(len(found), len(planted))}, missed, wrong
}

// placeholder is a value that stands for a missing one.
type placeholder struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	Value  string `json:"value"`
}

// matches reports whether both are the same value of the same column: equal texts, numbers or
// times.
func (p placeholder) matches(other placeholder) bool {
	return p.Table == other.Table && p.Column == other.Column && sameValue(p.Value, other.Value)
}

func sameValue(a, b string) bool {
	if a == b || strings.TrimSpace(a)+strings.TrimSpace(b) == "" {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	s, okS := parseTime(a)
	t, okT := parseTime(b)
	return okS && okT && s.Equal(t)
}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05Z07:00", time.DateTime,
		time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// scorePlaceholders returns the planted values that were not found, and the found ones that were
// not planted.
func scorePlaceholders(planted, found []placeholder) (missed, extra []placeholder) {
	for _, p := range planted {
		if !slices.ContainsFunc(found, p.matches) {
			missed = append(missed, p)
		}
	}
	for _, p := range found {
		if !slices.ContainsFunc(planted, p.matches) {
			extra = append(extra, p)
		}
	}
	return missed, extra
}

// typedColumn is a column with its meaning.
type typedColumn struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	Type   string `json:"type"`
	PII    bool   `json:"pii"`
}

// scoreTypes compares types of columns: a column without a type lowers the recall only. wrong
// describes the differences.
func scoreTypes(known, found []typedColumn) (types, pii score, wrong []string) {
	answers := map[string]typedColumn{}
	for _, f := range found {
		answers[f.Table+"."+f.Column] = f
	}
	var right, answered, personal, rightPII, foundPII int
	for _, k := range known {
		f := answers[k.Table+"."+k.Column]
		if f.Type != "" && f.Type != "unknown" {
			answered++
		}
		if f.Type == k.Type {
			right++
		} else {
			wrong = append(wrong, k.Column+" is "+k.Type+", not "+strconv.Quote(f.Type))
		}
		personal, foundPII, rightPII = personal+count(k.PII), foundPII+count(f.PII), rightPII+count(k.PII && f.PII)
	}
	return score{share(right, answered), share(right, len(known))}, score{share(rightPII, foundPII), share(rightPII, personal)}, wrong
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// difference counts the rows that changed between two versions of a table.
type difference struct {
	Table      string `json:"table"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	Inserted   *int64 `json:"inserted"`
	Deleted    *int64 `json:"deleted"`
	Updated    *int64 `json:"updated"`
	Unchanged  *int64 `json:"unchanged"`
	RowsBefore *int64 `json:"rowsBefore"`
	RowsAfter  *int64 `json:"rowsAfter"`
}

// equal reports whether the counts of an answer are those of d. The answer has to count inserted
// and deleted rows; no updated rows is the same as zero, and the others may be absent.
func (d difference) equal(answer difference) bool {
	same := func(want, got *int64) bool { return got == nil || want != nil && *want == *got }
	updated := answer.Updated
	if updated == nil {
		updated = new(int64)
	}
	return answer.Inserted != nil && answer.Deleted != nil && same(d.Inserted, answer.Inserted) && same(d.Deleted, answer.Deleted) &&
		same(d.Updated, updated) && same(d.Unchanged, answer.Unchanged) && same(d.RowsBefore, answer.RowsBefore) &&
		same(d.RowsAfter, answer.RowsAfter)
}
