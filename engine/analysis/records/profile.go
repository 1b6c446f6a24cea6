package records

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Bounds of what is compared.
const (
	// maxFields is the number of columns that are compared.
	maxFields = 16
	// longText is the average length of texts from which a column is prose.
	longText = 100
	// budget is the memory in bytes that the rows of a table may take.
	budget = 640 << 20
)

// kind is how the values of a column are compared.
type kind int

const (
	// words are names, addresses and other texts.
	words kind = iota
	// digits are codes, numbers and dates, in which typing errors happen.
	digits
	// measure is a value that is equal or not.
	measure
	// moment is the time of an event, which tells events apart.
	moment
)

// profile describes a visible column.
type profile struct {
	column analysis.Column
	// filled is the number of values, distinct an estimate of their number.
	filled, distinct int64
	// length is the average length of the texts, each counted with at most 201
	// characters; it is 12 for other types.
	length float64
	// numbers is the number of texts of digits and punctuation, codes that of texts with
	// digits and without spaces and @.
	numbers, codes int64
	// identifier reports that each row has its own value.
	identifier bool
}

// audit matches the names of columns that say when a row was written.
var audit = regexp.MustCompile(`(?i)(creat|updat|modif|insert|load|ingest|import|chang|sync|` +
	`regist|seen|sign|log.?(in|on)|etl|since|join|activ|visit|verif|expir)`)

// isAuditTime reports whether a column seems to say when its row was written.
func isAuditTime(c analysis.Column) bool {
	return c.Temporal() && audit.MatchString(c.Name)
}

// profiles describes the columns under analysis.
func profiles(ctx context.Context, in analysis.Input) ([]profile, error) {
	var out []profile
	var plain []analysis.Column
	for _, c := range in.Columns {
		if c.Kind() != analysis.KindOther {
			plain = append(plain, c)
		}
	}
	for _, chunk := range analysis.Chunks(plain, 16) {
		some, err := profileChunk(ctx, in, chunk)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// profileChunk describes a few columns with one statement.
func profileChunk(ctx context.Context, in analysis.Input, columns []analysis.Column) ([]profile, error) {
	var items []string
	for _, c := range columns {
		name := c.Quoted()
		short := "left(" + name + ", 60)"
		items = append(items, "count("+name+")")
		if c.Kind() != analysis.KindText {
			items = append(items, "approx_count_distinct("+name+")", "12::DOUBLE", "0::BIGINT", "0::BIGINT")
			continue
		}
		items = append(items, "approx_count_distinct("+analysis.Shortened(c)+")", "coalesce(avg(least(length("+name+"), 201)), 0)::DOUBLE",
			"count_if(regexp_full_match("+short+", '[0-9 ()+./:-]*[0-9][0-9 ()+./:-]*'))::BIGINT",
			"count_if(regexp_full_match("+short+", '[^ @]*[0-9][^ @]*'))::BIGINT")
	}
	out := make([]profile, len(columns))
	err := in.Each(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+in.Table.From(columns...), func(r engine.Row) error {
		for i, c := range columns {
			out[i] = profile{column: c, filled: r.Int64(5 * i), distinct: r.Int64(5*i + 1), length: r.Float64(5*i + 2),
				numbers: r.Int64(5*i + 3), codes: r.Int64(5*i + 4)}
		}
		return nil
	})
	return out, err
}

// markIdentifiers finds the columns whose only meaning is to identify rows: those of the key,
// and numbers, times and codes of which no two are equal.
func markIdentifiers(ctx context.Context, in analysis.Input, profiles []profile) error {
	var items []string
	var unsure []int
	for i := range profiles {
		p := &profiles[i]
		code := p.column.Kind() == analysis.KindInteger || p.column.Kind() == analysis.KindTimestamp ||
			p.column.Kind() == analysis.KindText && p.codes*20 >= p.filled*19
		switch {
		case p.column.Key || slices.Contains(in.Table.PrimaryKey, p.column.Name) || p.column.Unique && code:
			p.identifier = true
		case code && p.filled > 1 && float64(p.distinct) > 0.9*float64(p.filled):
			unsure = append(unsure, i)
			items = append(items, "count(DISTINCT "+analysis.Shortened(p.column)+")")
		}
	}
	for len(unsure) > 0 {
		size := min(8, len(unsure))
		columns := make([]analysis.Column, size)
		for i := range size {
			columns[i] = profiles[unsure[i]].column
		}
		err := in.Each(ctx, "SELECT "+strings.Join(items[:size], ", ")+" FROM "+in.Table.From(columns...), func(r engine.Row) error {
			for i := range size {
				p := &profiles[unsure[i]]
				p.identifier = r.Int64(i) == p.filled
			}
			return nil
		})
		if err != nil {
			return err
		}
		unsure, items = unsure[size:], items[size:]
	}
	return nil
}

// kind returns how the column is compared. It reports false for a column that is not.
func (p profile) kind() (kind, bool) {
	if p.identifier || p.filled < 2 || p.distinct < 2 || isAuditTime(p.column) {
		return 0, false
	}
	switch p.column.Kind() {
	case analysis.KindText:
		if p.length > longText {
			return 0, false
		}
		if p.numbers*5 >= p.filled*4 {
			return digits, true
		}
		return words, true
	case analysis.KindInteger, analysis.KindDate:
		return digits, true
	case analysis.KindTimestamp:
		return moment, true
	}
	return measure, true
}

// choose returns the columns to compare, in the order of the table: those that tell most.
func choose(profiles []profile, rows int64) []profile {
	var chosen []profile
	for _, p := range profiles {
		if _, ok := p.kind(); ok {
			chosen = append(chosen, p)
		}
	}
	value := func(p profile) float64 {
		return math.Log2(float64(p.distinct)) * float64(p.filled) / float64(max(rows, 1))
	}
	if len(chosen) > maxFields {
		slices.SortStableFunc(chosen, func(a, b profile) int {
			switch x, y := value(a), value(b); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		best := map[string]bool{}
		for _, p := range chosen[:maxFields] {
			best[p.column.Name] = true
		}
		chosen = slices.DeleteFunc(slices.Clone(profiles), func(p profile) bool { return !best[p.column.Name] })
	}
	return chosen
}

// memory estimates the bytes that the rows take.
func memory(chosen []profile, rows int64, key float64) float64 {
	bytes := float64(rows) * (key + 4*float64(len(chosen)) + 8 + 8 + 4*maxRules + 24)
	for _, p := range chosen {
		bytes += float64(min(p.distinct, rows)) * (p.length + 40)
	}
	return bytes
}

// part returns a condition that holds for one row in parts, such that rows that begin alike in
// the column that tells most stay together.
func part(chosen []profile, parts int64) string {
	best := chosen[0]
	for _, p := range chosen {
		if k, _ := p.kind(); k == words && p.distinct > best.distinct {
			best = p
		}
	}
	return fmt.Sprintf("hash(lower(left(CAST(%s AS VARCHAR), 4))) %% %d = 0", best.column.Quoted(), parts)
}
