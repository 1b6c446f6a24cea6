package query

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// explain answers EXPLAIN with its own plan text, one operator a row. The engine's plans
// would reveal files, estimates and row filters.
func (o *Service) explain(ctx context.Context, statement *sqlguard.Query, relations []sqlguard.Relation, run *Rows) error {
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

// checkAnalyzed refuses EXPLAIN ANALYZE if anything is hidden from the caller, because
// times and row counts depend on hidden rows.
func (r *Rows) checkAnalyzed() error {
	if r.basis.Lists() || slices.ContainsFunc(r.basis.Tables(), func(t access.Table) bool { return !t.Whole() }) {
		return &refusal.Error{
			Code: refusal.CodeStatement, Name: "EXPLAIN ANALYZE",
			Message: "EXPLAIN ANALYZE needs tables of which the caller sees every row and every column unmasked",
		}
	}
	return nil
}

// measured replaces the engine's measurements by its own plan text, with one line
// per operator: its kind, the number of rows that it returned, and its time.
// Everything else is dropped, because the engine's texts name files and print SQL that
// the caller did not write.
type measured struct {
	engine.Result // the engine's result, until it was read
	plan          *textTable
	done          bool
}

func newMeasured(result engine.Result) *measured {
	return &measured{Result: result, plan: newTextTable("plan")}
}

// Schema implements engine.Result.
func (m *measured) Schema() *arrow.Schema { return m.plan.schema }

// Columns implements engine.Result.
func (m *measured) Columns() []engine.Column { return m.plan.columns }

// Next implements engine.Result. The first call runs the statement.
func (m *measured) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if m.done {
		return m.Result.Next(ctx)
	}
	text, err := m.text(ctx)
	if err != nil {
		return nil, err
	}
	var root measuredOperator
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, fmt.Errorf("reading the engine's measurements: %w", err)
	}
	m.plan.add("TOTAL (" + milliseconds(root.Latency) + ")")
	for _, child := range root.Children {
		child.lines(0, m.plan)
	}
	m.Result, m.done = m.plan.result(), true
	return m.Result.Next(ctx)
}

// text returns the last column of a result of one row.
func (m *measured) text(ctx context.Context) (string, error) {
	texts, err := engine.Collect(ctx, m.Result, func(r engine.Row) (string, error) { return r.Text(int(r.Batch.NumCols()) - 1), nil })
	return strings.Join(texts, ""), err
}

// measuredOperator holds the engine's measurements that are shown.
type measuredOperator struct {
	Type     string             `json:"operator_type"`
	Rows     int64              `json:"operator_cardinality"`
	Seconds  float64            `json:"operator_timing"`
	Latency  float64            `json:"latency"`
	Children []measuredOperator `json:"children"`
}

// operatorKind matches the engine's names of operator kinds.
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
