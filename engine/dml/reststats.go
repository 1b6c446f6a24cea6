package dml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

// measureRests finds the statistics of what was made. Bounds of texts and decimals are
// those of the files that were cut; those of numbers and days were found on the way, or
// else the engine reads the new files.
func (w *write) measureRests(ctx context.Context, h hit, rests []*rest) error {
	asked := make([]bool, len(w.Snapshot.Schema().Fields))
	for _, r := range rests {
		if r != nil {
			if err := w.keepStats(r, asked); err != nil {
				return err
			}
		}
	}
	if !slices.Contains(asked, true) {
		// The engine is to read something of what was made, not only how much there is.
		asked[slices.IndexFunc(w.Snapshot.Schema().Fields, func(f delta.Field) bool { return !w.partitions(f.Name) })] = true
	}
	return w.askStats(ctx, h, rests, asked)
}

// describeRests gives the files that were uploaded their statistics, whose bounds are
// said to be loose.
func (w *write) describeRests(rests []*rest, adds []delta.AddFile) error {
	if w.DryRun {
		return nil
	}
	for _, r := range rests {
		if r == nil {
			continue
		}
		measured := r.file
		measured.Columns = r.columns
		described, err := datafile.Describe(w.Snapshot, measured)
		if err != nil {
			return err
		}
		if adds[0].Stats, err = delta.LooseStats(described.Stats); err != nil {
			return err
		}
		adds = adds[1:]
	}
	return nil
}

// keepStats takes over what is known of a rest, and notes of which fields of the schema
// the engine has to be asked.
func (w *write) keepStats(r *rest, asked []bool) error {
	before, err := r.of.Stats()
	if err != nil {
		return err
	}
	bounds := make(map[string]parquetcut.Bounds, len(r.bounds))
	for _, b := range r.bounds {
		bounds[b.Column] = b
	}
	stored := w.Snapshot.StoredFields()
	r.columns = make([]engine.ColumnStats, len(stored))
	for i, f := range w.Snapshot.Schema().Fields {
		c, known := keptStats(before, stored[i].Name, f.Type)
		if b, ok := bounds[stored[i].Name]; ok && !known {
			c, known = boundStats(b, f.Type)
		}
		r.columns[i] = c
		asked[i] = asked[i] || !known && !w.partitions(f.Name)
	}
	return nil
}

// askStats reads some fields of the rests for their statistics, and holds the number of
// rows that the engine finds in them against what was to be made.
func (w *write) askStats(ctx context.Context, h hit, rests []*rest, asked []bool) error {
	source := w.standIns(h, rests, func(r *rest) string { return r.dir + "/" + r.file.Name })
	items := []string{"count(*)::VARCHAR"}
	for i, f := range w.Snapshot.Schema().Fields {
		if asked[i] {
			items = append(items, statItems(f.Type, column("r", f.Name))...)
		}
	}
	for i := range items {
		items[i] += " AS c" + strconv.Itoa(i)
	}
	file := column("r", w.names.file)
	facts, err := texts(ctx, w.Session, w.statement("SELECT "+strings.Join(items, ", ")+" FROM "+source.Relation()+" AS r GROUP BY "+file+" ORDER BY "+file, source))
	if err != nil {
		return err
	}
	for _, r := range rests {
		if r == nil {
			continue
		}
		if len(facts) == 0 || facts[0][0] == nil || *facts[0][0] != strconv.FormatInt(r.file.Rows, 10) {
			return fmt.Errorf("a data file of %d rows was cut to other rows: %w", r.file.Rows, parquetcut.ErrNotCut)
		}
		r.addStats(facts[0][1:], asked)
		facts = facts[1:]
	}
	return nil
}

// addStats takes what was read of the fields that were asked for.
func (r *rest) addStats(facts []*string, asked []bool) {
	for i := range r.columns {
		if !asked[i] {
			continue
		}
		c := &r.columns[i]
		if facts[0] != nil {
			if nulls, err := strconv.ParseInt(*facts[0], 10, 64); err == nil {
				c.NullCount = &nulls
			}
		}
		c.Min, c.Max, c.HasNaN = facts[1], facts[2], facts[3] != nil && *facts[3] == "true"
		facts = facts[statFacts:]
	}
}

// keptStats are those of a column in a part of a file; known says that nothing else has to
// tell them. Those of other types are to be exact: Spark takes the bounds of numbers and dates for values
// that are there, loose or not (MIN and MAX of a table without deletion vectors).
func keptStats(before delta.Stats, name string, t delta.DataType) (c engine.ColumnStats, known bool) {
	c.Path = []string{name}
	var nulls *int64
	if json.Unmarshal(orNull(before.NullCount[name]), &nulls) != nil || nulls == nil || *nulls != 0 {
		return c, false
	}
	switch t {
	case delta.String:
		var low, high *string
		if json.Unmarshal(orNull(before.MinValues[name]), &low) != nil || json.Unmarshal(orNull(before.MaxValues[name]), &high) != nil || low == nil || high == nil {
			return c, false
		}
		c.Min, c.Max = low, high
	case delta.Binary, delta.Boolean:
	default:
		low, high := string(orNull(before.MinValues[name])), string(orNull(before.MaxValues[name]))
		if _, decimal := t.(delta.Decimal); !decimal || low == "null" || high == "null" {
			return c, false
		}
		c.Min, c.Max = &low, &high
	}
	c.NullCount = nulls
	return c, true
}

// boundStats are those of a column whose bounds were found, as the engine prints them.
// known is false where its values are none of the table's type.
func boundStats(b parquetcut.Bounds, t delta.DataType) (c engine.ColumnStats, known bool) {
	c.Path = []string{b.Column}
	low, high, text := printed(t)
	if text == nil || b.Days != (t == delta.Date) || b.Min != nil && (*b.Min < low || *b.Max > high) {
		return c, false
	}
	if b.Min != nil {
		first, last := text(*b.Min), text(*b.Max)
		c.Min, c.Max = &first, &last
	}
	c.NullCount = &b.Nulls
	return c, true
}

// printed says how the engine prints values of a type, and between which bounds; text is
// nil for types whose bounds are not found.
func printed(t delta.DataType) (low, high int64, text func(int64) string) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch t {
	case delta.Byte:
		return math.MinInt8, math.MaxInt8, number
	case delta.Short:
		return math.MinInt16, math.MaxInt16, number
	case delta.Integer:
		return math.MinInt32, math.MaxInt32, number
	case delta.Long:
		return math.MinInt64, math.MaxInt64, number
	case delta.Date:
		const firstDay, lastDay = -719162, 2932896 // of the years that have four digits
		return firstDay, lastDay, func(n int64) string { return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly) }
	}
	return 0, 0, nil
}

// orNull is JSON that is there: what is missing is as unknown as a null.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// statFacts is how many items statItems gives.
const statFacts = 4

// statItems select the number of NULL values of a column, its bounds, and whether it
// holds something that is no number.
func statItems(t delta.DataType, name string) []string {
	nan := "NULL::VARCHAR"
	if t == delta.Float || t == delta.Double {
		nan = "bool_or(isnan(" + name + "))::VARCHAR"
	}
	return []string{"(count(*) - count(" + name + "))::VARCHAR", "min(" + name + ")::VARCHAR", "max(" + name + ")::VARCHAR", nan}
}

// texts reads the rows of a statement whose columns are VARCHAR.
func texts(ctx context.Context, session engine.Session, st engine.Statement) (rows [][]*string, err error) {
	result, err := session.Query(ctx, st)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		more, err := textsOf(batch)
		batch.Release()
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
}

func textsOf(batch arrow.RecordBatch) ([][]*string, error) {
	rows := make([][]*string, batch.NumRows())
	for _, c := range batch.Columns() {
		values, ok := c.(*array.String)
		if !ok {
			return nil, fmt.Errorf("a text of ours has type %s", c.DataType())
		}
		for i := range rows {
			var cell *string
			if values.IsValid(i) {
				text := strings.Clone(values.Value(i))
				cell = &text
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return rows, nil
}
