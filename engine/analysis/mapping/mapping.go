package mapping

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/semantic"
)

// Mapping is the result of suggest_mapping.
type Mapping struct {
	Mappings []MappedColumn   `json:"mappings" nullable:"false" doc:"One for each source column, in their order"`
	Unmapped []UnmappedColumn `json:"unmapped" nullable:"false" doc:"Columns of the table without a source column"`
}

// MappedColumn is a source column with the column of the table that takes its values.
type MappedColumn struct {
	Source       string        `json:"source"`
	Target       *string       `json:"target" doc:"Column of the table; null if none fits"`
	Confidence   float64       `json:"confidence" minimum:"0" maximum:"1"`
	Reason       string        `json:"reason"`
	Alternatives []Alternative `json:"alternatives" nullable:"false" doc:"Other columns that may be meant, best first"`
}

// Alternative is another column that may be meant.
type Alternative struct {
	Target     string  `json:"target"`
	Confidence float64 `json:"confidence" minimum:"0" maximum:"1"`
}

// UnmappedColumn is a column of the table that gets no values.
type UnmappedColumn struct {
	Column   string `json:"column"`
	Required bool   `json:"required" doc:"The column is NOT NULL, so an insert without it fails"`
}

// The scores from which a column is mapped, and from which it is an alternative.
const (
	leastScore       = 0.42
	leastAlternative = 0.3
	mostAlternatives = 3
)

// Suggest maps the source columns of the input.
func Suggest(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	evidence, err := semantic.Columns(ctx, in, in.Columns)
	if err != nil {
		return analysis.Answer{}, err
	}
	columns := targets(in.Columns, evidence)
	scores := make([][]float64, len(in.SourceColumns))
	for i, s := range in.SourceColumns {
		scores[i] = scoresOf(s, columns)
	}
	chosen := assign(scores)
	result := Mapping{Mappings: []MappedColumn{}, Unmapped: []UnmappedColumn{}}
	answer := analysis.Answer{Confidence: 1}
	names := make([]string, len(in.SourceColumns))
	taken := map[string]bool{}
	for i, s := range in.SourceColumns {
		m := MappedColumn{Source: s.Name, Alternatives: alternatives(scores[i], columns, chosen[i]), Reason: "no column of the table fits"}
		if at := chosen[i]; at >= 0 {
			name := columns[at].column.Name
			m.Target, m.Confidence, m.Reason = &name, analysis.RoundConfidence(scores[i][at]), reason(s, columns[at])
			names[i], taken[name] = name, true
			answer.Confidence = min(answer.Confidence, m.Confidence)
		}
		result.Mappings = append(result.Mappings, m)
	}
	var required []string
	for _, c := range in.Columns {
		if taken[c.Name] {
			continue
		}
		result.Unmapped = append(result.Unmapped, UnmappedColumn{Column: c.Name, Required: !c.Nullable})
		if !c.Nullable {
			required = append(required, c.Name)
		}
	}
	if len(required) > 0 {
		answer.Warnings = append(answer.Warnings, "NOT NULL columns without a source column: "+strings.Join(required, ", ")+".")
	}
	answer.Result = result
	answer.Text = fmt.Sprintf("%d of the %d columns of the file map to columns of %s. %d fit no column.",
		len(taken), len(names), in.Table.Name, len(names)-len(taken))
	if len(taken) == 0 {
		answer.Confidence = 0
		return answer, nil
	}
	answer.Proposals = []analysis.Proposal{{
		Title: "Insert the file with these columns.", Columns: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" }),
		Confidence: answer.Confidence, Change: analysis.MapColumns{Targets: names},
	}}
	return answer, nil
}

// scoresOf returns how well each column of the table fits a source column.
func scoresOf(s analysis.SourceColumn, columns []target) []float64 {
	evidence := semantic.EvidenceOf("", s.Values)
	meaning := semantic.Decide(evidence)
	out := make([]float64, len(columns))
	for i, t := range columns {
		name := max(alikeNames(s.Name, t.column.Name), 0.85*alikeNames(s.Name, t.column.Comment))
		switch values := alikeValues(evidence, meaning, t); {
		case values < 0:
			out[i] = name + 0.5*values
		case strings.EqualFold(s.Name, t.column.Name):
			out[i] = 1
		default:
			// Either is enough when it is strong, and both add up.
			out[i] = max(name, 0.75*values, 0.75*name+0.35*values)
		}
	}
	return out
}

// assign gives each source column at most one column of the table, and the reverse. The
// best pairs come first.
func assign(scores [][]float64) []int {
	type pair struct {
		source, target int
		score          float64
	}
	var pairs []pair
	out := make([]int, len(scores))
	for i, row := range scores {
		out[i] = -1
		for j, score := range row {
			if score >= leastScore {
				pairs = append(pairs, pair{i, j, score})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.score, a.score) })
	taken := map[int]bool{}
	for _, p := range pairs {
		if out[p.source] < 0 && !taken[p.target] {
			out[p.source], taken[p.target] = p.target, true
		}
	}
	return out
}

func alternatives(scores []float64, columns []target, chosen int) []Alternative {
	out := []Alternative{}
	for i, score := range scores {
		if i != chosen && score >= leastAlternative {
			out = append(out, Alternative{columns[i].column.Name, analysis.RoundConfidence(score)})
		}
	}
	slices.SortStableFunc(out, func(a, b Alternative) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out[:min(mostAlternatives, len(out))]
}

func reason(s analysis.SourceColumn, t target) string {
	switch {
	case strings.EqualFold(s.Name, t.column.Name):
		return "the names are equal"
	case alikeNames(s.Name, t.column.Name) >= leastScore:
		return "the names mean the same"
	case alikeNames(s.Name, t.column.Comment) >= leastScore:
		return "the name means the same as the comment of the column"
	}
	return "the values are alike"
}
