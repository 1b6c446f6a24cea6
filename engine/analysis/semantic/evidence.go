package semantic

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// sampled is the number of distinct values of a column that are read.
const sampled = 400

// Evidence is what is known of a column.
type Evidence struct {
	Name string
	Kind analysis.Kind
	// Rows is the number of rows, NotNull that of rows with a value, Distinct that of
	// different values.
	Rows, NotNull, Distinct int64
	// Values are distinct values as text, at most sampled of them, chosen by their digests.
	Values []Value
	// Complete reports that Values are all of them.
	Complete bool
}

// Value is a distinct value.
type Value struct {
	Text string
	Rows int64
}

// EvidenceOf returns the evidence that a header and some values give, for a file.
func EvidenceOf(header string, values []string) Evidence {
	e := Evidence{Name: header, Kind: analysis.KindText, Complete: true}
	at := map[string]int{}
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		e.NotNull++
		i, known := at[v]
		if !known {
			i = len(e.Values)
			at[v] = i
			e.Values = append(e.Values, Value{Text: v})
		}
		e.Values[i].Rows++
	}
	e.Rows, e.Distinct = int64(len(values)), int64(len(e.Values))
	return e
}

// counted is the number of columns that one statement counts.
const counted = 25

// Columns reads the evidence of columns.
func Columns(ctx context.Context, in analysis.Input, columns []analysis.Column) ([]Evidence, error) {
	var out []Evidence
	for _, chunk := range analysis.Chunks(columns, counted) {
		some, err := count(ctx, in, chunk)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	for at := 0; at < len(out); at += readAtOnce {
		end := min(at+readAtOnce, len(out))
		if err := readValues(ctx, in, columns[at:end], out[at:end]); err != nil {
			return nil, err
		}
		in.Progress(end, len(out))
	}
	return out, nil
}

func count(ctx context.Context, in analysis.Input, columns []analysis.Column) ([]Evidence, error) {
	sql := "SELECT count(*)"
	for _, c := range columns {
		sql += ", count(" + c.Quoted() + "), count(DISTINCT " + analysis.Shown(c) + ")"
	}
	out := make([]Evidence, len(columns))
	return out, in.Each(ctx, sql+" FROM "+in.Table.From(columns...), func(r engine.Row) error {
		for i, c := range columns {
			out[i] = Evidence{Name: c.Name, Kind: c.Kind(), Rows: r.Int64(0), NotNull: r.Int64(1 + 2*i), Distinct: r.Int64(2 + 2*i)}
		}
		return nil
	})
}

// readAtOnce is the number of columns whose values one statement reads.
const readAtOnce = 10

// readValues reads distinct values of columns. Which ones are chosen follows from the values
// alone.
func readValues(ctx context.Context, in analysis.Input, columns []analysis.Column, into []Evidence) error {
	var parts []string
	for i, c := range columns {
		if c.Kind() == analysis.KindOther && c.Type.String() != string(sqltype.UUID) {
			continue
		}
		parts = append(parts, "(SELECT "+strconv.Itoa(i)+" AS i, v, md5(v) AS k, count(*) AS n FROM (SELECT "+analysis.Shown(c)+" AS v FROM "+
			in.Table.From(c)+") AS shown WHERE v IS NOT NULL GROUP BY v ORDER BY k, v LIMIT "+strconv.Itoa(sampled)+")")
	}
	if len(parts) == 0 {
		return nil
	}
	sql := "SELECT CAST(i AS BIGINT), v, n FROM (" + strings.Join(parts, " UNION ALL ") + ") AS chosen ORDER BY i, k, v"
	err := in.Each(ctx, sql, func(r engine.Row) error {
		e := &into[r.Int64(0)]
		e.Values = append(e.Values, Value{Text: r.Text(1), Rows: r.Int64(2)})
		return nil
	})
	for i := range into {
		into[i].Complete = int64(len(into[i].Values)) == into[i].Distinct
	}
	return err
}

// share returns the share of the values that satisfy a test.
func (e Evidence) share(test func(string) bool) float64 {
	n, all := 0, 0
	for _, v := range e.Values {
		text := strings.TrimSpace(v.Text)
		if missing(text) {
			continue
		}
		all++
		if test(text) {
			n++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// missing reports whether a text most likely stands for a missing value.
func missing(text string) bool {
	switch strings.ToLower(text) {
	case "", "-", "--", "?", "n/a", "null", "none", "unknown", "nan":
		return true
	}
	return false
}

// unique reports whether nearly every row has a value of its own.
func (e Evidence) unique() bool {
	return e.NotNull > 0 && float64(e.Distinct) >= 0.98*float64(e.NotNull)
}

// Share returns the share of the values that a column of a kind can take.
func (e Evidence) Share(kind analysis.Kind) float64 {
	switch kind {
	case analysis.KindInteger:
		return e.share(isInteger)
	case analysis.KindDecimal, analysis.KindFloat:
		return e.share(isNumber)
	case analysis.KindBoolean:
		return e.share(known().booleans.has)
	case analysis.KindDate, analysis.KindTimestamp:
		return e.share(func(s string) bool { return isDate(s) || isTime(s) })
	}
	return 1
}
