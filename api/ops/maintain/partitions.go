package maintain

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// maxPartitions is how many partitions a condition can choose from.
const maxPartitions = 100_000

// partitions evaluates a condition over the values of a table's partitions, which is all
// that it can read.
func (o Service) partitions(ctx context.Context, m maintained, where string) (func(map[string]*string) bool, error) {
	if len(m.snap.PartitionColumns()) == 0 {
		return nil, fault.Invalid("where", "needs a table with partition columns")
	}
	list, rows, err := partitionRows(m.snap)
	if err != nil {
		return nil, err
	}
	if len(rows) > maxPartitions {
		return nil, fault.Invalid("where", "the table has more than %d partitions", maxPartitions)
	}
	names, columns := m.snap.PartitionColumns(), []engine.Column{}
	for _, name := range names {
		f, _ := m.snap.Schema().Field(name)
		columns = append(columns, engine.Column{Name: name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	chosen := map[string]bool{}
	err = o.Plans.Choose(ctx, o.Pool, m.ServiceKey(), query.Choice{Field: "where", Where: where, From: "partitions", Columns: columns,
		Rows: rows}, func(row int) {
		chosen[list[row]] = true
	})
	if err != nil {
		return nil, err
	}
	return func(values map[string]*string) bool { return chosen[partitionID(names, values)] }, nil
}

// partitionRows returns the id of each partition, and its values.
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
		row := []any{}
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
