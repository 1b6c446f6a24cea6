package analysis_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/anomaly"
	"github.com/lakewarden/lakewarden/engine/analysis/changes"
	"github.com/lakewarden/lakewarden/engine/analysis/mapping"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/records"
	"github.com/lakewarden/lakewarden/engine/analysis/rules"
	"github.com/lakewarden/lakewarden/engine/analysis/semantic"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
)

var analyses = map[analysis.Action]func(context.Context, analysis.Input) (analysis.Answer, error){
	analysis.Summary: profile.Summary, analysis.DetectAnomalies: anomaly.DetectAnomalies, analysis.FindDuplicates: records.FindDuplicates,
	analysis.FixNulls: values.FixNulls, analysis.ExplainRows: profile.ExplainRows, analysis.StandardizeValues: values.StandardizeValues,
	analysis.SuggestDomain: values.SuggestDomain, analysis.MergeRecords: records.MergeRecords, analysis.ExplainChanges: changes.Explain,
	analysis.SuggestConstraints: rules.SuggestConstraints, analysis.ClassifyColumns: semantic.Classify,
	analysis.SuggestMapping: mapping.Suggest,
}

// alias matches the names that a statement gives to columns and tables.
var alias = regexp.MustCompile(`(?i)\bAS "?([a-z_][a-z_0-9]*)"?`)

// mixed is a SELECT of a table with something to find for every analysis, with the names of
// its eight columns.
func mixed(names []string) string {
	exprs := []string{
		"range", "'person ' || (range % 190)", "['Bonn', 'bonn', 'Ulm', 'n/a', 'Kiel'][1 + range % 5]",
		"CASE WHEN range = 17 THEN 9000.0 ELSE (range * 37 % 101) / 4.0 END",
		"CASE WHEN range % 11 = 0 THEN NULL ELSE DATE '2024-01-01' + CAST(range % 90 AS INTEGER) END", "range % 2 = 0",
		"(range * 37 % 101) * 2 + 1", "format('AB-{:04d}', range % 150)",
	}
	items := make([]string, len(exprs))
	for i, e := range exprs {
		items[i] = e + " AS " + engine.QuoteIdent(names[i])
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM range(200)"
}

func TestEveryActionHasAnAnalysis(t *testing.T) {
	require.Len(t, analyses, len(analysis.Actions()))
}

// Columns with the names that generated statements use for themselves change nothing.
func TestNamesOfColumnsDoNotMatter(t *testing.T) {
	plain := []string{"column_a", "column_b", "column_c", "column_d", "column_e", "column_f", "column_g", "column_h"}
	for action, run := range analyses {
		t.Run(string(action), func(t *testing.T) {
			answer := func(names []string) (string, []string) {
				lake := analysistest.New(t, mixed(names), mixed(names)+" WHERE range > 3")
				in := lake.Input(func(in *analysis.Input) {
					in.VersionFrom, in.VersionTo = 0, 1
					in.SourceColumns = []analysis.SourceColumn{{Name: "zzz", Values: []string{"Bonn", "Ulm"}}}
					if action == analysis.ExplainRows {
						in.Table.Where = engine.QuoteIdent(names[0]) + " < 9"
					}
					in.Table.PrimaryKey = names[:1]
				})
				out, err := run(t.Context(), in)
				require.NoError(t, err, "%v", names)
				text, err := json.Marshal(out.Result)
				require.NoError(t, err)
				var used []string
				for _, sql := range lake.Statements {
					for _, m := range alias.FindAllStringSubmatch(sql, -1) {
						if name := strings.ToLower(m[1]); !slices.Contains(plain, name) && !slices.Contains(used, name) {
							used = append(used, name)
						}
					}
				}
				return string(text), used
			}
			want, used := answer(plain)
			require.NotEmpty(t, used)
			slices.Sort(used)
			for at := 0; at < len(used); at += len(plain) {
				names := slices.Clone(plain)
				for i, name := range used[at:min(at+len(plain), len(used))] {
					// Each name is tried with columns of different kinds.
					names[(i*3+at)%len(plain)] = name
				}
				got, _ := answer(names)
				switch action {
				case analysis.ClassifyColumns, analysis.SuggestMapping, analysis.SuggestConstraints:
					continue // the names mean something, or name the rules
				}
				require.Equal(t, numbers(t, want), numbers(t, got), "%v", names)
			}
		})
	}
}

// numbers returns the numbers of a document in order of size. Names of columns do not
// change them, but the order of lists and maps.
func numbers(t *testing.T, document string) []float64 {
	t.Helper()
	var decoded any
	require.NoError(t, json.Unmarshal([]byte(document), &decoded))
	out := []float64{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			out = append(out, v)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(decoded)
	slices.Sort(out)
	return out
}
