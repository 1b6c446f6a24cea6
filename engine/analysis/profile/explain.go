package profile

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// MaxExplained is the number of rows that [ExplainRows] explains at most.
const MaxExplained = 50

// The observations about a cell.
const (
	typical     = "typical"
	rare        = "rare"
	extremeHigh = "extreme_high"
	extremeLow  = "extreme_low"
	missing     = "missing"
	only        = "only_value"
	unique      = "unique"
	longest     = "longest"
	shortest    = "shortest"
	notCompared = "not_compared"
)

// RowsResult is the result of [ExplainRows].
type RowsResult struct {
	Rows  []analysis.CitedRow `json:"rows"`
	Cells []CellNote          `json:"cells"`
	// Compared is the number of rows of the table, with which the rows were compared.
	Compared int64 `json:"comparedRows"`
}

// CellNote says how usual a cell is.
type CellNote struct {
	Row         int      `json:"row"`
	Column      string   `json:"column"`
	Observation string   `json:"observation" enum:"typical,rare,extreme_high,extreme_low,missing,only_value,unique,longest,shortest,not_compared"`
	Percentile  *float64 `json:"percentile" doc:"Share of the column's values that are less, plus half of those that are equal; null if values have no order"`
	Share       *float64 `json:"share" doc:"Share of the rows that have the same value; null if values are not compared"`
	Same        *int64   `json:"same" doc:"Number of rows with the same value, this one included"`
	Group       *string  `json:"group" doc:"The group that the value was also compared with; null without one"`
	InGroup     *float64 `json:"groupPercentile" doc:"Percentile within the group"`
}

// ExplainRows says what is usual and unusual about the rows that the request names, compared
// with the whole table.
func ExplainRows(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	e := &explainer{in: in, whole: in.Table}
	e.whole.Where = ""
	if err := e.choose(ctx); err != nil {
		return analysis.Answer{}, err
	}
	answer := analysis.Answer{Confidence: 1, References: []analysis.Reference{}}
	result := RowsResult{Rows: e.rows, Cells: []CellNote{}}
	all := in
	all.Table = e.whole
	var err error
	if result.Compared, err = all.Rows(ctx, "TRUE"); err != nil {
		return analysis.Answer{}, err
	}
	if len(e.rows) > 0 {
		if e.profiles, err = Columns(ctx, all, e.columns); err != nil {
			return analysis.Answer{}, err
		}
		if err := e.compare(ctx, all); err != nil {
			return analysis.Answer{}, err
		}
		result.Cells = e.notes()
	}
	answer.Result, answer.Warnings = result, e.warnings
	answer.Text, answer.References = e.text(result)
	return answer, nil
}

// explainer holds the state of one explanation.
type explainer struct {
	in analysis.Input
	// whole is the table without the condition of the request.
	whole   analysis.Table
	columns []analysis.Column
	// chosen is the condition of the rows.
	chosen   string
	rows     []analysis.CitedRow
	profiles []Profile
	// places holds, by column and row, where the value is among all values.
	places   [][]place
	group    int
	warnings []string
}

// place says how many values are less than and equal to a value, of how many.
type place struct {
	less, equal, all          int64
	groupLess, groupEqual, of int64
	long                      bool
}

// choose reads the rows that the request names. Columns beyond [analysis.MaxCited] are left
// out.
func (e *explainer) choose(ctx context.Context) error {
	e.columns = analysis.Union(e.in.Columns, e.in.Table.KeyColumns()...)
	if len(e.columns) > analysis.MaxCited {
		e.warnings = append(e.warnings, fmt.Sprintf("Only the first %d columns are explained.", analysis.MaxCited))
		e.columns = e.columns[:analysis.MaxCited]
	}
	e.rows = []analysis.CitedRow{}
	e.chosen = e.in.Table.Where
	if len(e.in.Keys) > 0 {
		return e.byKeys(ctx)
	}
	from := e.in.Table.From(e.in.Table.Columns...)
	rows, err := e.in.Cited(ctx, e.columns, 1, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %d", analysis.ShownAll(e.columns), from,
		analysis.ShownAll(e.columns), MaxExplained+1))
	if err != nil {
		return err
	}
	if len(rows) > MaxExplained {
		rows = rows[:MaxExplained]
		e.warnings = append(e.warnings, fmt.Sprintf("Only the first %d rows are explained.", MaxExplained))
	}
	e.rows = rows
	return nil
}

// byKeys reads the rows of the keys of the request, in their order.
func (e *explainer) byKeys(ctx context.Context) error {
	keys := e.in.Keys
	if len(keys) > MaxExplained {
		keys = keys[:MaxExplained]
		e.warnings = append(e.warnings, fmt.Sprintf("Only the first %d keys are explained.", MaxExplained))
	}
	all := e.in
	all.Table = e.whole
	for i, key := range keys {
		condition, columns, ok := keyCondition(e.whole, key)
		var rows []analysis.CitedRow
		if ok {
			read := analysis.Union(e.columns, columns...)
			var err error
			rows, err = all.Cited(ctx, e.columns, len(e.rows)+1, fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d",
				analysis.ShownAll(e.columns), e.whole.From(read...), condition, analysis.ShownAll(e.columns), MaxExplained-len(e.rows)))
			if err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			e.warnings = append(e.warnings, fmt.Sprintf("No row matches keys[%d].", i))
		}
		if e.rows = append(e.rows, rows...); len(e.rows) >= MaxExplained {
			break
		}
	}
	return nil
}

// keyCondition returns the condition that columns have the given values, and the columns. It
// reports false if a column does not exist or a value does not fit.
func keyCondition(t analysis.Table, key map[string]any) (string, []analysis.Column, bool) {
	var parts []string
	var columns []analysis.Column
	for _, c := range t.Columns {
		value, ok := key[c.Name]
		if !ok {
			continue
		}
		columns = append(columns, c)
		if value == nil {
			parts = append(parts, c.Quoted()+" IS NULL")
			continue
		}
		text := fmt.Sprint(value)
		if number, ok := value.(float64); ok {
			text = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if _, whole := new(big.Int).SetString(text, 10); c.Kind() == analysis.KindInteger && !whole {
			return "", nil, false // a cast would round it
		}
		literal := analysis.Literal(c, text)
		if c.Kind() != analysis.KindText {
			literal = "TRY_" + literal
		}
		parts = append(parts, c.Quoted()+" = "+literal)
	}
	return strings.Join(parts, " AND "), columns, len(parts) > 0 && len(parts) == len(key)
}

// compare counts, for each column, how many values are less than and equal to those of the
// rows: one statement for each column, which joins its few values.
func (e *explainer) compare(ctx context.Context, all analysis.Input) error {
	e.group = e.grouping()
	e.places = make([][]place, len(e.columns))
	for i, c := range e.columns {
		e.places[i] = make([]place, len(e.rows))
		if c.Kind() == analysis.KindOther {
			continue
		}
		if err := e.place(ctx, all, i); err != nil {
			return err
		}
		e.in.Progress(i+1, len(e.columns))
	}
	return nil
}

// grouping returns the index of the text column whose values are the groups that numbers are
// also compared with: among those with at most 200 distinct values and 20 rows a value on
// average, the one with the most values. It is negative if there is none.
func (e *explainer) grouping() int {
	best := -1
	for i, p := range e.profiles {
		if p.Column.Kind() == analysis.KindText && p.Distinct >= 2 && p.Distinct <= 200 && p.Distinct*20 <= p.Present() && p.Long == 0 &&
			(best < 0 || p.Distinct > e.profiles[best].Distinct) {
			best = i
		}
	}
	return best
}

// place counts the values of a column around those of the rows.
func (e *explainer) place(ctx context.Context, all analysis.Input, i int) error {
	c := e.columns[i]
	var values []string
	for row, r := range e.rows {
		value := r.Values[c.Name]
		if value == nil {
			continue
		}
		if c.Kind() == analysis.KindText && len([]rune(*value)) >= analysis.MaxText {
			e.places[i][row].long = true
			continue
		}
		group := "NULL::VARCHAR"
		if e.group >= 0 && c.Measurable() {
			if g := r.Values[e.columns[e.group].Name]; g != nil {
				group = analysis.QuoteSQL(*g)
			}
		}
		values = append(values, fmt.Sprintf("(%d, %s, %s)", row, analysis.Literal(c, *value), group))
	}
	if len(values) == 0 {
		return nil
	}
	read, x := []analysis.Column{c}, analysis.Shortened(c)
	items := []string{x + " AS x", "count(*) AS n"}
	if e.group >= 0 && c.Measurable() {
		read = append(read, e.columns[e.group])
		items = append(items, e.columns[e.group].Quoted()+" AS g")
	} else {
		items = append(items, "NULL::VARCHAR AS g")
	}
	less := "t.x < v.x"
	join := "TRUE"
	if !c.Measurable() {
		less, join = "FALSE", "t.x = v.x"
	}
	sum := func(condition string) string {
		return "CAST(coalesce(sum(n) FILTER (WHERE " + condition + "), 0) AS BIGINT)"
	}
	sql := fmt.Sprintf("SELECT CAST(v.i AS BIGINT), %s, %s, %s, %s, %s, %s FROM (SELECT %s FROM %s WHERE %s IS NOT NULL GROUP BY ALL) AS t "+
		"JOIN (VALUES %s) AS v(i, x, g) ON %s GROUP BY v.i", sum(less), sum("t.x = v.x"), sum("TRUE"),
		sum(less+" AND t.g = v.g"), sum("t.x = v.x AND t.g = v.g"), sum("t.g = v.g"), strings.Join(items, ", "), e.whole.From(read...),
		c.Quoted(),
		strings.Join(values, ", "), join)
	return all.Each(ctx, sql, func(r engine.Row) error {
		p := &e.places[i][r.Int64(0)]
		p.less, p.equal, p.all = r.Int64(1), r.Int64(2), r.Int64(3)
		p.groupLess, p.groupEqual, p.of = r.Int64(4), r.Int64(5), r.Int64(6)
		return nil
	})
}
