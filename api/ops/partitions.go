package ops

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// seesAll refuses a field to other callers.
const seesAll = "is for callers who see all rows and columns of the table"

// maxPartitions is how many partitions a condition can choose from.
const maxPartitions = 100_000

// partitions evaluates a condition over the values of a table's partitions, which
// is all that it can read. It is for callers who see the whole table: whether a
// condition fails tells of values.
func (o Maintenance) partitions(ctx context.Context, m maintained, where string) (func(map[string]*string) bool, error) {
	switch {
	case !m.Whole():
		return nil, invalid("where", seesAll)
	case len(m.snap.PartitionColumns()) == 0:
		return nil, invalid("where", "needs a table with partition columns")
	}
	list, rows, err := partitionRows(m.snap)
	if err != nil {
		return nil, err
	}
	if len(rows) > maxPartitions {
		return nil, invalid("where", "the table has more than %d partitions", maxPartitions)
	}
	chosen, err := o.choose(ctx, m, list, rows, where)
	if err != nil {
		return nil, err
	}
	columns := m.snap.PartitionColumns()
	return func(values map[string]*string) bool { return chosen[partitionID(columns, values)] }, nil
}

// partitionRows are the partitions: the id of each, and its values.
func partitionRows(snap *delta.Snapshot) (ids []string, rows [][]any, err error) {
	seen, reader := map[string]bool{}, snap.PartitionReader()
	for f := range snap.Files() {
		values := snap.PartitionValues(f)
		id := partitionID(snap.PartitionColumns(), values)
		if seen[id] {
			continue
		}
		seen[id] = true
		texts, _, err := reader.Read(f, nil)
		if err != nil {
			return nil, nil, err
		}
		row := []any{int64(len(ids))}
		for _, text := range texts {
			if text != nil {
				row = append(row, *text)
			} else {
				row = append(row, nil)
			}
		}
		ids, rows = append(ids, id), append(rows, row)
	}
	return ids, rows, nil
}

func partitionID(columns []string, values map[string]*string) string {
	k := make([]byte, 0, 64)
	for _, name := range columns {
		if v := values[name]; v != nil && *v != "" {
			k = append(append(k, *v...), 1)
		}
		k = append(k, 0)
	}
	return string(k)
}

// choose runs the condition as a statement over the partitions alone.
func (o Maintenance) choose(ctx context.Context, m maintained, ids []string, rows [][]any, where string) (map[string]bool, error) {
	number := engine.Column{Name: "partition " + uuid.NewString(), Type: "BIGINT"}
	columns := []engine.Column{number}
	for _, name := range m.snap.PartitionColumns() {
		f, _ := m.snap.Schema().Field(name)
		columns = append(columns, engine.Column{Name: name, Type: delta.DuckDBType(f.Type), Nullable: true})
	}
	read, err := o.Plans.expression(ctx, sqlguard.Limits{}, "where", where)
	if err != nil {
		return nil, err
	}
	if !read.IsCondition() {
		if err := o.mustChoose(ctx, m, columns[1:], where); err != nil {
			return nil, err
		}
	}
	var c composer
	c.ours("SELECT " + engine.QuoteIdent(number.Name) + " FROM partitions\n")
	c.theirs("where", "WHERE (", where, ")")
	chosen := map[string]bool{}
	err = o.eachBatch(ctx, m, c, columns, sqlguard.NewInlineRows(columns, rows), func(batch arrow.RecordBatch) {
		numbers, ok := batch.Column(0).(*array.Int64)
		for i := range int(batch.NumRows()) {
			if ok && numbers.IsValid(i) && numbers.Value(i) >= 0 && numbers.Value(i) < int64(len(ids)) {
				chosen[ids[numbers.Value(i)]] = true
			}
		}
	})
	return chosen, err
}

// mustChoose refuses a condition that is not BOOLEAN.
func (o Maintenance) mustChoose(ctx context.Context, m maintained, columns []engine.Column, where string) error {
	var kind string
	err := o.eachBatch(ctx, m, typeQuestion(where, "FROM partitions"), columns, sqlguard.NoValues(columns), func(batch arrow.RecordBatch) {
		if texts, ok := batch.Column(0).(*array.String); ok && texts.Len() == 1 {
			kind = strings.Clone(texts.Value(0))
		}
	})
	if err != nil {
		return err
	}
	return mustBeBoolean(kind)
}

// eachBatch runs a statement over the partitions.
func (o Maintenance) eachBatch(ctx context.Context, m maintained, c composer, columns []engine.Column, rows *sqlguard.InlineRows, take func(arrow.RecordBatch)) error {
	query, err := sqlguard.Parse(ctx, o.Plans.parser, c.sql.String(), sqlguard.Options{})
	switch {
	case err != nil:
		return c.pieces.blame(err)
	case len(query.Tables()) != 1 || query.Nondeterministic():
		return invalid("where", "must be a condition over partition columns")
	}
	plan, err := query.Bind(ctx, o.Plans.parser, []sqlguard.Relation{{Columns: columns, Inline: rows}})
	if err != nil {
		return c.pieces.blame(err)
	}
	held, err := o.Pool.Acquire(ctx, m.ServiceKey())
	if err != nil {
		return err
	}
	defer held.Release()
	result, err := held.Query(ctx, engine.Statement{SQL: plan.SQL, Sources: plan.Sources, Barriers: plan.Barriers, Lease: held.Lease})
	if err != nil {
		return unusable(err)
	}
	defer func() { _ = result.Close() }() // before the session is free
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unusable(err)
		}
		take(batch)
		batch.Release()
	}
}

// unusable says of an engine's error that the condition is at fault, if it is.
func unusable(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && (e.Kind == engine.KindBind || e.Kind == engine.KindRuntime) {
		return invalid("where", "is no condition over the partition columns, or fails on one of their values")
	}
	return err
}
