package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/bench"
)

// analysed runs a measure whose tables "exist" with the given truth, against the given answers
// by TABLE.ACTION.
func analysed(t *testing.T, measure, truth, output string, answers map[string]string) bench.Outcome {
	t.Helper()
	cfg := fakeConfig(t)
	folder := filepath.Join(cfg.Data, "analysis-"+measure+"-4-77")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "t", "_delta_log"), 0o755))
	require.NoError(t, os.WriteFile(folder+".json", []byte(truth), 0o600))
	replies := t.TempDir()
	for name, answer := range answers {
		require.NoError(t, os.WriteFile(filepath.Join(replies, name+".json"), []byte(answer), 0o600))
	}
	cfg.Env = append(cfg.Env, answersVariable+"="+replies, outputVariable+"="+output)
	if measure == "changes" {
		cfg.Env = append(cfg.Env, throttleVariable+"=limit") // a refused request is repeated
	}
	cfg.Seed = 77
	w := bench.Workload{
		Name: measure, Kind: bench.KindAnalysis, Runs: 1, Seed: 5, Analysis: &bench.Analysis{Measure: measure, Rows: 4},
	}
	if measure == "duplicates" {
		w.Peers = []string{"splink"}
	}
	return bench.Run(t.Context(), cfg, w)
}

func TestAnalysesAreJudged(t *testing.T) {
	const nothing = `{"result":{}}`
	cases := []struct {
		measure, truth, output string
		answers                map[string]string
		want                   map[string]float64
		note                   string
	}{
		{
			"duplicates", `{"keys":{"people":["id"]},"entities":[1,1,2,2]}`, `{"precision":1,"recall":0.25,"seconds":1,"threshold":0.5}`,
			map[string]string{"people.find_duplicates": `{"engine":"builtin","result":{"clusters":[{"rows":[1,2]},{"rows":[3,9]}],
				"rows":[{"row":1,"key":{"id":"1"}},{"row":2,"key":null,"values":{"id":"2"}},{"row":3,"values":{"name":"x"}}]}}`},
			map[string]float64{"rows": 4, "clusters": 2, "precision": 1, "recall": 0.5, "f1": 2.0 / 3, "f1.splink": 0.4, "ratio.splink": 5.0 / 3},
			"best threshold is 0.5",
		},
		{
			"standardize", `{"clusters":[["a","A"],["b","B"]]}`, "",
			map[string]string{"organisations.standardize_values": `{"sampled":true,"result":{"columns":[
				{"column":"name","clusters":[{"canonical":"a","variants":[{"value":"A","rows":1}]},{"variants":[{"value":"b"}]}]},
				{"column":"other","clusters":[{"canonical":"b","variants":[{"value":"B"}]}]}]}}`},
			map[string]float64{"clusters": 2, "recall": 0.5, "other_clusters": 1, "complete": 0}, `not found: ["b" "B"]`,
		},
		{
			"anomalies", `{"defects":[{"kind":"k","row":3,"columns":["x"]},{"kind":"m","row":5,"columns":["x","y"]}]}`, "",
			map[string]string{"flights.detect_anomalies": `{"result":{"findings":[{"row":1,"column":"x"},{"row":1,"column":"z"}],
				"rows":[{"row":1,"key":{"id":"3"}}]}}`},
			map[string]float64{"planted": 2, "findings": 2, "recall": 0.5, "precision": 0.5}, "missed 1 times: m",
		},
		{
			"placeholders", `{"placeholders":[{"table":"contracts","column":"a","value":"-"},
				{"table":"contracts","column":"b","value":"0"}]}`, "",
			map[string]string{"contracts.fix_nulls": `{"result":{"columns":[{"column":"a","placeholders":[{"value":"-"},{"value":"?"}]}]}}`},
			map[string]float64{"planted": 2, "found": 1, "not_planted": 1}, `missed: "0" in b`,
		},
		{
			"classify", `{"columns":[{"table":"wide","column":"a","type":"city"},{"table":"wide","column":"b","type":"age","pii":true}]}`, "",
			map[string]string{"wide.classify_columns": `{"result":{"columns":[{"column":"a","semanticType":"city","pii":false},
				{"column":"b","semanticType":null,"pii":true}]}}`},
			map[string]float64{"columns": 2, "precision": 1, "recall": 0.5, "f1": 2.0 / 3, "pii_f1": 1}, "b is age",
		},
		{
			"mapping", `{"requests":[{"table":"t","headers":[{"name":"A"},{"name":"B","values":["1"]},{"name":"C"}],"targets":["a","b",""]}]}`, "",
			map[string]string{"t.suggest_mapping": `{"result":{"mappings":[{"source":"A","target":"a"},{"source":"B","target":"c"},
				{"source":"C","target":null}]}}`},
			map[string]float64{"headers": 3, "top1": 2.0 / 3}, `"B" is "b", not "c"`,
		},
		{
			"checks", `{"tables":["t"]}`, `[{"violations":2},{"violations":2},{"error":"no such function"}]`,
			map[string]string{"t.suggest_constraints": `{"proposals":[
					{"title":"p","apply":{"method":"POST","path":"/t/constraints","body":{"constraints":[{"expr":"a > 0"}]}},
						"effect":{"violations":2}},
					{"title":"q","apply":null,"effect":{}}],
				"result":{"checks":[{"name":"n","expr":"a > 0","violations":1},{"name":"m","expr":"f(a)","violations":0}]}}`},
			map[string]float64{"checks": 2, "right": 1.0 / 3}, "t: a > 0: 2 violations, not 1",
		},
		{
			"changes", `{"differences":[{"table":"t","from":0,"to":1,"inserted":1,"deleted":2,"updated":3,"unchanged":4}]}`, "",
			map[string]string{"t.explain_changes": `{"result":{"inserted":1,"deleted":2,"updated":4,"unchanged":4}}`},
			map[string]float64{"differences": 1, "equal": 0}, "1/2/3/4/none/none, not 1/2/4/4",
		},
		{
			"clean", `{"tables":["t","u"]}`, `[]`,
			map[string]string{
				"t.fix_nulls": nothing, "t.standardize_values": nothing,
				"t.detect_anomalies": `{"result":{"findings":[{"row":1}]},"proposals":[{},{}]}`,
				"t.find_duplicates":  `{"result":{"clusters":[{}]}}`, "t.merge_records": `{"proposals":[{"title":"merge"}]}`,
				"t.suggest_constraints": nothing, "t.suggest_domain": `{"result":null}`,
				"u.fix_nulls": `{"result":{"columns":[{"placeholders":[{"value":"-"}]}]}}`, "u.standardize_values": nothing,
				"u.detect_anomalies": nothing, "u.find_duplicates": nothing, "u.merge_records": nothing,
				"u.suggest_constraints": nothing, "u.suggest_domain": nothing,
			},
			map[string]float64{"tables": 2, "false_per_table": 2, "false_worst": 3}, "t, 3 false: find_duplicates: 1; detect_anomalies: 2",
		},
	}
	for _, c := range cases {
		t.Run(c.measure, func(t *testing.T) {
			outcome := analysed(t, c.measure, c.truth, c.output, c.answers)
			require.Empty(t, outcome.Error)
			got := metrics(outcome)
			for name, want := range c.want {
				require.Contains(t, got, name)
				require.InDelta(t, want, got[name], 1e-9, name)
			}
			require.Contains(t, strings.Join(outcome.Notes, "\n"), c.note)
			require.Contains(t, outcome.Notes, "seed 77 instead of 5")
		})
	}
}

func TestSuggestedRulesAreJudgedByMoreRows(t *testing.T) {
	answers := map[string]string{
		"t.suggest_constraints": `{"proposals":[
			{"apply":{"path":"/t/columns/a/settings","body":{"isNullable":false}}},
			{"apply":{"path":"/t/columns/a/settings","body":{"isNullable":false}}}],"result":{"checks":[{"expr":"a > 0"}]}}`,
		"t.suggest_domain": `{"proposals":[{"apply":{"path":"/t/columns/b/domain/fixed","body":{"values":["x"]}}}]}`,
	}
	for _, action := range []string{"fix_nulls", "standardize_values", "find_duplicates", "merge_records", "detect_anomalies"} {
		answers["t."+action] = `{}`
	}
	outcome := analysed(t, "clean", `{"tables":["t"]}`, `[{"violations":0},{"violations":3},{"error":"Binder Error"}]`, answers)
	require.Empty(t, outcome.Error)
	require.InDelta(t, 2, metrics(outcome)["false_per_table"], 0)
	require.Contains(t, strings.Join(outcome.Notes, "\n"), "t: a > 0 (3 violations)")
	require.Contains(t, strings.Join(outcome.Notes, "\n"), "t: b in a list of 1 values (0 violations) Binder Error")
}

func TestAnalysisFailures(t *testing.T) {
	cases := []struct{ name, truth, reply, want string }{
		{"a refused analysis", `{}`, "", "detect_anomalies of flights: POST"},
		{"an answer of a model", `{}`, `{"engine":"model"}`, "was answered by engine model"},
		{"a result of another shape", `{}`, `{"result":{"findings":7}}`, "detect_anomalies of flights"},
		{"no truth", `[`, `{}`, "decode truth"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answers := map[string]string{}
			if c.reply != "" {
				answers["flights.detect_anomalies"] = c.reply
			}
			require.Contains(t, analysed(t, "anomalies", c.truth, "", answers).Error, c.want)
		})
	}
	require.Contains(t, analysed(t, "checks", `{"tables":[]}`, `[{}]`, nil).Error, fmt.Sprintf("%d rulings of %d rules", 1, 0))
}
