package dml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

// describeRests gives the files that were uploaded their statistics.
func (w *write) describeRests(ctx context.Context, h hit, rests []*rest, adds []delta.AddFile) error {
	for i, r := range rests {
		if r == nil {
			continue
		}
		if err := w.describeRest(ctx, r, h.table.sources[0].Files, i); err != nil {
			return err
		}
		if w.DryRun {
			continue
		}
		described, err := datafile.Describe(w.Snapshot, r.file)
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

// describeRest finds the statistics of the file that was made. Bounds of texts and
// decimals are those of the file that was cut, and said to be loose.
func (w *write) describeRest(ctx context.Context, r *rest, list *engine.FileList, number int) error {
	before, err := r.of.Stats()
	if err != nil {
		return err
	}
	stored := w.Snapshot.StoredFields()
	items := []string{"count(*)::VARCHAR"}
	var asked []int
	r.file.Columns = nil
	for i, f := range w.Snapshot.Schema().Fields {
		if w.partitions(f.Name) {
			continue
		}
		c, known := keptStats(before, stored[i].Name, f.Type)
		r.file.Columns = append(r.file.Columns, c)
		if !known {
			asked = append(asked, len(r.file.Columns)-1)
			items = append(items, statItems(f.Type, column("r", f.Name))...)
		}
	}
	for i := range items {
		items[i] += " AS c" + strconv.Itoa(i)
	}
	source := w.standIn(list, number, r.dir+"/"+r.file.Name)
	cells, err := texts(ctx, w.Session, w.statement("SELECT "+strings.Join(items, ", ")+" FROM "+source.Relation()+" AS r", source))
	if err != nil {
		return err
	}
	if cells[0] == nil || *cells[0] != strconv.FormatInt(r.file.Rows, 10) {
		return fmt.Errorf("a data file of %d rows was cut to other rows: %w", r.file.Rows, parquetcut.ErrNotCut)
	}
	for n, at := range asked {
		facts, c := cells[1+4*n:], &r.file.Columns[at]
		if facts[0] != nil {
			if nulls, err := strconv.ParseInt(*facts[0], 10, 64); err == nil {
				c.NullCount = &nulls
			}
		}
		c.HasNaN = facts[3] != nil && *facts[3] == "true"
		if c.Min == nil {
			c.Min, c.Max = facts[1], facts[2]
		}
	}
	return nil
}

// keptStats are those of a column in a part of a file; known says that nothing has to be
// asked. Other types are asked for: Spark takes the bounds of numbers and dates for values
// that are there, loose or not (MIN and MAX of a table without deletion vectors).
func keptStats(before delta.Stats, name string, t delta.DataType) (c engine.ColumnStats, known bool) {
	c.Path = []string{name}
	var nulls int64
	if before.NullCount[name] == nil || json.Unmarshal(before.NullCount[name], &nulls) != nil || nulls != 0 {
		return c, false
	}
	switch t {
	case delta.String:
		var low, high string
		if json.Unmarshal(before.MinValues[name], &low) == nil && json.Unmarshal(before.MaxValues[name], &high) == nil {
			c.Min, c.Max, c.NullCount = &low, &high, &nulls
		}
	case delta.Binary, delta.Boolean:
		c.NullCount = &nulls
	}
	if _, decimal := t.(delta.Decimal); decimal && before.MinValues[name] != nil && before.MaxValues[name] != nil {
		low, high := string(before.MinValues[name]), string(before.MaxValues[name])
		c.Min, c.Max, c.NullCount = &low, &high, &nulls
	}
	return c, c.NullCount != nil
}

// statItems select the number of NULL values of a column, its bounds, and whether it
// holds something that is no number.
func statItems(t delta.DataType, name string) []string {
	nan := "NULL::VARCHAR"
	if t == delta.Float || t == delta.Double {
		nan = "bool_or(isnan(" + name + "))::VARCHAR"
	}
	return []string{"(count(*) - count(" + name + "))::VARCHAR", "min(" + name + ")::VARCHAR", "max(" + name + ")::VARCHAR", nan}
}

// texts reads the only row of a statement whose columns are VARCHAR.
func texts(ctx context.Context, session engine.Session, st engine.Statement) (cells []*string, err error) {
	result, err := session.Query(ctx, st)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return cells, nil
		}
		if err != nil {
			return nil, err
		}
		for _, c := range batch.Columns() {
			values, ok := c.(*array.String)
			if !ok || batch.NumRows() != 1 {
				batch.Release()
				return nil, fmt.Errorf("%d texts of ours have type %s", batch.NumRows(), c.DataType())
			}
			var cell *string
			if values.IsValid(0) {
				text := string([]byte(values.Value(0)))
				cell = &text
			}
			cells = append(cells, cell)
		}
		batch.Release()
	}
}
