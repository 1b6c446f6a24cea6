package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// explain answers EXPLAIN with a plan text of our own, one operator a row. The
// engine is not asked: its plans tell of files, estimates and row filters.
func (o *Queries) explain(ctx context.Context, statement *sqlguard.Query, relations []sqlguard.Relation, run *Rows) error {
	lines, err := statement.Explain(ctx, o.Plans.parser, relations)
	if err != nil {
		return err
	}
	plan := newTextTable("plan")
	for _, line := range lines {
		plan.add(line)
	}
	run.Result, run.ctx = plan.result(), ctx
	return nil
}

// checkAnalyzed refuses EXPLAIN ANALYZE where anything is hidden from the caller:
// times and numbers of rows would tell of it.
func (r *Rows) checkAnalyzed() error {
	if r.partial || r.ofCatalog {
		return &sqlguard.Error{
			Code: sqlguard.CodeStatement, Name: "EXPLAIN ANALYZE",
			Message: "EXPLAIN ANALYZE is served over tables of which the caller sees every row and column as they are",
		}
	}
	return nil
}

// measured replaces the engine's measurements by lines of our own, one operator a
// row: its kind, how many rows it passed on, and its time. The engine's texts name
// files and print SQL that the caller did not write, so nothing else is taken.
func (r *Rows) measured() error {
	text, err := r.readText()
	err = errors.Join(err, r.Result.Close())
	if err != nil {
		return err
	}
	var root measuredOperator
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return fmt.Errorf("reading the engine's measurements: %w", err)
	}
	plan := newTextTable("plan")
	plan.add("TOTAL (" + milliseconds(root.Latency) + ")")
	for _, child := range root.Children {
		child.lines(0, plan)
	}
	r.Result = plan.result()
	return nil
}

// readText returns the second column of a result of one row.
func (r *Rows) readText() (string, error) {
	var out string
	for {
		batch, err := r.Result.Next(r.ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return "", r.explain(err)
		}
		if values, ok := batch.Column(int(batch.NumCols()) - 1).(*array.String); ok && values.Len() > 0 {
			out = strings.Clone(values.Value(0))
		}
		batch.Release()
	}
}

// measuredOperator is what is taken of the engine's measurements.
type measuredOperator struct {
	Type     string             `json:"operator_type"`
	Rows     int64              `json:"operator_cardinality"`
	Seconds  float64            `json:"operator_timing"`
	Latency  float64            `json:"latency"`
	Children []measuredOperator `json:"children"`
}

// operatorKind is the form of the engine's names of kinds of operators.
var operatorKind = regexp.MustCompile(`^[A-Z][A-Z_]{0,63}$`)

func (o measuredOperator) lines(depth int, out *textTable) {
	kind := o.Type
	if !operatorKind.MatchString(kind) {
		kind = "OPERATOR"
	}
	if kind != "EXPLAIN_ANALYZE" {
		out.add(strings.Repeat("  ", depth) + kind + " (" + strconv.FormatInt(o.Rows, 10) + " rows, " + milliseconds(o.Seconds) + ")")
		depth++
	}
	for _, child := range o.Children {
		child.lines(depth, out)
	}
}

func milliseconds(seconds float64) string {
	return strconv.FormatFloat(seconds*1000, 'f', 3, 64) + " ms"
}
