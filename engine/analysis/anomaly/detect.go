package anomaly

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

// The kinds of findings.
const (
	kindRange      = "out_of_range"
	kindGroup      = "unusual_in_group"
	kindFormat     = "format"
	kindCategory   = "rare_category"
	kindDependency = "broken_dependency"
	kindEquation   = "broken_equation"
	kindOrder      = "wrong_order"
	kindSign       = "wrong_sign"
	kindUnit       = "wrong_unit"
	kindTime       = "impossible_time"
	kindDate       = "inconsistent_date"
	kindSwap       = "swapped"
	kindMissing    = "missing"
)

const (
	// minRows is the number of rows below which nothing is unusual.
	minRows = 50
	// maxFlagged is the number of rows that are examined one by one.
	maxFlagged = 60_000
	// maxShare is the share of the rows beyond which the reports of a check are discarded.
	maxShare = 0.02
)

// Result is the result of [DetectAnomalies].
type Result struct {
	Findings []Finding `json:"findings"`
	// Rows are the rows of the findings.
	Rows        []analysis.CitedRow `json:"rows"`
	Counts      []Count             `json:"counts" doc:"Numbers of all cells found, including those beyond the limit"`
	CheckedRows int64               `json:"checkedRows"`
	Relations   []string            `json:"relations" doc:"Relations between columns that nearly all rows satisfy"`
}

// Finding is a cell that is probably wrong.
type Finding struct {
	Row      int     `json:"row" doc:"Number of the row in rows, from 1"`
	Column   string  `json:"column"`
	Kind     string  `json:"kind" enum:"out_of_range,unusual_in_group,format,rare_category,broken_dependency,broken_equation,wrong_order,wrong_sign,wrong_unit,impossible_time,inconsistent_date,swapped,missing"`
	Expected *string `json:"expected" doc:"The value or range that fits; null if unknown"`
	Score    float64 `json:"score" doc:"Between 0 and 1: how strong the evidence is"`
	Reason   string  `json:"reason"`
}

// Count is a number of cells.
type Count struct {
	Column string `json:"column"`
	Kind   string `json:"kind"`
	Cells  int64  `json:"cells"`
}

// detector holds the state of one analysis.
type detector struct {
	in       analysis.Input
	sample   *relation.Sample
	profiles []profile.Profile
	total    int64
	// counts holds the numbers of rows by value of columns with few values.
	counts [][]profile.Value
	checks []*check
	models []model
	rows   map[int64]*row
	// order holds the rows in the order of their identities.
	order    []*row
	warnings []string
	cut      bool
}

// check is one rule of detection, whose violations are counted over all rows.
type check struct {
	kind, reason, expected string
	score                  float64
	// column is the index of the column that is blamed. It is negative for a relation, which
	// lets the row decide.
	column int
	// where is the condition over one row; it is "" for a dependency and a group.
	where string
	// weights has the evidence of a violation against each column of a relation.
	weights map[int]float64
	equal   *relation.Linear
	parts   *relation.Parts
	depends *dependency
	group   *groupCheck
	// strict reports that a row which satisfies the relation clears its columns.
	strict bool
	// ignored reports that a dependency has exceptions, so that its violations are weak evidence.
	ignored bool
	// reported reports that the check found rows.
	reported bool
	// distant reports that what the check finds may be usual within its group.
	distant bool
}

// DetectAnomalies finds the cells of a table that are probably wrong.
func DetectAnomalies(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	d := &detector{in: in, rows: map[int64]*row{}}
	var err error
	if d.total, err = in.Rows(ctx, "TRUE"); err != nil {
		return analysis.Answer{}, err
	}
	result := Result{Findings: []Finding{}, Rows: []analysis.CitedRow{}, Counts: []Count{}, Relations: []string{}, CheckedRows: d.total}
	answer := analysis.Answer{Result: result, Confidence: 1, References: []analysis.Reference{}}
	if d.total < minRows {
		answer.Text = fmt.Sprintf("The table %s has %s, too few to tell what is unusual.", in.Table.Name, analysis.Count(d.total, "row"))
		return answer, nil
	}
	steps := []func(context.Context) error{d.load, d.marginal, d.relations, d.grouped, d.collect}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return analysis.Answer{}, err
		}
		in.Progress(i+1, len(steps)+2)
	}
	cells := d.blame()
	in.Progress(len(steps)+1, len(steps)+2)
	return d.answer(ctx, result, cells)
}

// load reads the profiles and the sample.
func (d *detector) load(ctx context.Context) error {
	var columns []analysis.Column
	for _, c := range d.in.Columns {
		if c.Kind() != analysis.KindOther {
			columns = append(columns, c)
		}
	}
	if len(columns) > relation.MaxColumns {
		d.warnings = append(d.warnings, fmt.Sprintf("Only the first %d columns were examined.", relation.MaxColumns))
		columns = columns[:relation.MaxColumns]
	}
	in := d.in
	in.Progress = func(int, int) {}
	var err error
	if d.profiles, err = profile.Columns(ctx, in, columns); err != nil {
		return err
	}
	if d.sample, err = relation.Load(ctx, d.in, columns, d.total); err != nil {
		return err
	}
	if !d.sample.Whole() {
		d.warnings = append(d.warnings, fmt.Sprintf("Relations between columns were looked for in %d of %d rows, and then checked in all rows.",
			d.sample.Rows, d.total))
	}
	return d.countValues(ctx)
}

func (d *detector) column(i int) analysis.Column { return d.sample.Columns[i] }

// add adds a check.
func (d *detector) add(c check) { d.checks = append(d.checks, &c) }

// answer makes the answer from the cells that are blamed.
func (d *detector) answer(ctx context.Context, result Result, cells []cell) (analysis.Answer, error) {
	slices.SortStableFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.column, b.column), cmp.Compare(a.row.identity, b.row.identity))
	})
	result.Counts = countCells(d, cells)
	for _, c := range d.checks {
		if c.strict && !c.ignored && (c.equal != nil || c.depends != nil || c.parts != nil) && len(result.Relations) < 50 {
			result.Relations = append(result.Relations, c.reason)
		}
	}
	rows, err := d.cite(ctx, &result, cells)
	if err != nil {
		return analysis.Answer{}, err
	}
	proposals, err := d.proposals(ctx, cells)
	if err != nil {
		return analysis.Answer{}, err
	}
	text, references := d.text(result, rows)
	confidence := 1.0
	if len(result.Findings) > 0 {
		confidence = 0
		for _, f := range result.Findings {
			confidence += f.Score / float64(len(result.Findings))
		}
	}
	return analysis.Answer{Result: result, Text: text, Confidence: min(confidence, 1), Proposals: proposals, References: references,
		Sampled: !d.sample.Whole() || d.cut, Warnings: d.warnings}, nil
}

func countCells(d *detector, cells []cell) []Count {
	type key struct {
		column int
		kind   string
	}
	counts := map[key]int64{}
	for _, c := range cells {
		counts[key{c.column, c.kind}] += c.row.copies
	}
	keys := make([]key, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(a.kind, b.kind)) })
	out := make([]Count, len(keys))
	for i, k := range keys {
		out[i] = Count{Column: d.column(k.column).Name, Kind: k.kind, Cells: counts[k]}
	}
	return out
}
