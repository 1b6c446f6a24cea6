package write

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// deletedKeys are the staged keys of rows that a merge deletes.
type deletedKeys struct {
	dml.Rows
	// on are the columns of the keys.
	on []string
}

// maxDeletedKeys bounds the keys of rows that one merge deletes.
const maxDeletedKeys = 10_000

// errChangedKey: the primary key changed while the merge ran, so the staged keys have other
// columns than the merge is on.
var errChangedKey = fault.Invalid("delete", "must have the columns of the key, which was changed meanwhile")

// deletes reports whether the merge names rows to delete.
func (in MergeInput) deletes() bool {
	text := bytes.TrimSpace(in.keys)
	if list, ok := bytes.CutPrefix(text, []byte("[")); ok {
		return !bytes.Equal(bytes.TrimSpace(list), []byte("]"))
	}
	return len(text) > 0 && !bytes.Equal(text, []byte("null"))
}

// stageDeletedKeys reads the keys of the rows to delete. Problems of a key are fields such as
// delete[2].id.
func (w *writing) stageDeletedKeys(ctx context.Context, in MergeInput) (deletedKeys, error) {
	if !in.deletes() {
		return deletedKeys{}, nil
	}
	var keys []map[string]json.RawMessage
	isNull := func(key map[string]json.RawMessage) bool { return key == nil }
	if err := json.Unmarshal(in.keys, &keys); err != nil || slices.ContainsFunc(keys, isNull) {
		return deletedKeys{}, fault.Invalid("delete", "must be a list of objects with the columns that the merge is on")
	}
	if len(keys) > maxDeletedKeys {
		return deletedKeys{}, fault.Invalid("delete", "must have at most %d keys", maxDeletedKeys)
	}
	on, err := w.mergeOn(in)
	if err != nil {
		return deletedKeys{}, err
	}
	var columns []engine.Column
	for _, c := range w.table.UnhiddenColumns() {
		if slices.Contains(on, c.Name) {
			columns = append(columns, c)
		}
	}
	if err := nullKeys(keys); err != nil {
		return deletedKeys{}, err
	}
	shape := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_shape"
	body := io.MultiReader(bytes.NewReader([]byte(`{"rows":`)), bytes.NewReader(in.keys), bytes.NewReader([]byte("}")))
	taken, err := ingest.Stage(ctx, body, ingest.Request{
		Format: staging.JSON, Columns: columns, Dir: w.scratch, ShapeColumn: shape, Limits: staging.Limits{StagedBytes: w.StagedBytes},
	})
	if err != nil {
		return deletedKeys{}, ofDelete(err)
	}
	out := deletedKeys{on: on, Rows: dml.Rows{File: taken.File, Columns: columns, Count: taken.Rows, ShapeColumn: shape, Shapes: taken.Shapes}}
	return out, completeKeys(on, taken)
}

// nullKeys refuses keys with a NULL.
func nullKeys(keys []map[string]json.RawMessage) error {
	var problems catalog.FieldErrors
	for i, key := range keys {
		for _, name := range slices.Sorted(maps.Keys(key)) {
			if bytes.Equal(bytes.TrimSpace(key[name]), []byte("null")) && len(problems) < staging.MaxProblems {
				problems = append(problems, catalog.FieldError{Field: deleteField(i, name), Message: staging.NullKey})
			}
		}
	}
	return orNil(problems)
}

// completeKeys refuses keys that lack a column. The error has the first key of each set of
// columns.
func completeKeys(on []string, taken *staging.Staged) error {
	var problems catalog.FieldErrors
	for i, shape := range taken.Shapes {
		for _, name := range on {
			if !slices.Contains(shape, name) && len(problems) < staging.MaxProblems {
				problems = append(problems, catalog.FieldError{Field: deleteField(int(taken.FirstRows[i]), name),
					Message: "is required: the merge is on it"})
			}
		}
	}
	return orNil(problems)
}

func orNil(problems catalog.FieldErrors) error {
	if len(problems) == 0 {
		return nil
	}
	return problems
}

func deleteField(key int, column string) string {
	field := fmt.Sprintf("delete[%d]", key)
	if column != "" {
		field += "." + staging.ShownName([]byte(column))
	}
	return field
}

// ofDelete names the keys in an error that is about rows.
func ofDelete(err error) error {
	var rows *staging.RowsError
	if !errors.As(err, &rows) {
		return err
	}
	var problems catalog.FieldErrors
	for _, p := range rows.Problems {
		field := fmt.Sprintf("delete[%d]", p.Row)
		if p.Column != "" {
			field += "." + p.Column
		}
		problems = append(problems, catalog.FieldError{Field: field, Message: p.Message})
	}
	return problems
}
