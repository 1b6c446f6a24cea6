package analysis_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

var tags = regexp.MustCompile(`\[\[([0-9]+):([^\]]+)\]\]`)

func TestEveryActionAnswersWithoutAModel(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "customers")
	for _, body := range actions() {
		t.Run(body["action"].(string), func(t *testing.T) {
			answer := analyze(t, s.Admin, path, body)
			require.Equal(t, body["action"], answer["action"])
			require.Equal(t, []any{"builtin", nil, true, 1.0}, []any{answer["engine"], answer["model"], answer["complete"], answer["tableVersion"]})
			require.NotEmpty(t, answer["text"])
			require.NotEmpty(t, answer["result"])
			cited := map[string]bool{}
			for _, r := range answer["references"].(list) {
				cited[tagOf(r.(object))] = true
			}
			for _, tag := range tags.FindAllString(answer["text"].(string), -1) {
				require.True(t, cited[tag], "%s is not among the references", tag)
			}
			again := analyze(t, s.Admin, path, body)
			require.Equal(t, answer, again, "the same question has the same answer")
		})
	}
}

func tagOf(reference object) string {
	return "[[" + jsonText(reference["row"]) + ":" + reference["column"].(string) + "]]"
}

// findings of the planted defects.
func TestPlantedDefectsAreFound(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "planted")

	nulls := jsonText(analyze(t, s.Admin, path, object{"action": "fix_nulls"})["result"])
	require.Contains(t, nulls, `"value":"n/a"`)
	standard := jsonText(analyze(t, s.Admin, path, object{"action": "standardize_values", "columns": list{"city"}})["result"])
	require.Contains(t, standard, `"canonical":"Bonn"`)
	require.Contains(t, standard, `"value":"BONN"`)
	anomalies := jsonText(analyze(t, s.Admin, path, object{"action": "detect_anomalies", "columns": list{"amount"}})["result"])
	require.Contains(t, anomalies, "90000")
	changes := analyze(t, s.Admin, path, object{"action": "explain_changes", "version_from": 0, "version_to": 1})["result"].(object)
	require.Equal(t, []any{400.0, 0.0, 0.0}, []any{changes["inserted"], changes["deleted"], changes["rowsBefore"]})
}

// Every proposal that comes with a request can be applied as it is, and has the effect that
// it tells.
func TestProposalsAreAppliedByOneRequest(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, action := range []string{"fix_nulls", "standardize_values", "suggest_domain", "suggest_constraints", "merge_records",
		"classify_columns"} {
		t.Run(action, func(t *testing.T) {
			path := shop(t, s, "apply_"+action)
			answer := analyze(t, s.Admin, path, object{"action": action})
			proposals := answer["proposals"].(list)
			require.NotEmpty(t, proposals)
			applied := 0
			for _, p := range proposals {
				p := p.(object)
				apply, ok := p["apply"].(object)
				effect := p["effect"].(object)
				require.Equal(t, true, effect["complete"])
				if !ok {
					continue
				}
				r := s.Admin.Call(apply["method"].(string), apply["path"].(string), apply["body"])
				if violations, rule := effect["violations"].(float64); rule && violations > 0 {
					continue // it may be refused
				}
				require.Less(t, r.Status, 300, "%s: %v: %s", p["title"], apply, r.Body)
				applied++
				if rows, changes := effect["rowsAffected"].(float64); changes && strings.Contains(apply["path"].(string), "/rows/") {
					written := r.JSON(t)
					require.Equal(t, rows, written["updated"].(float64)+written["deleted"].(float64)+written["inserted"].(float64), "%v", apply)
				}
			}
			require.Positive(t, applied)
		})
	}
}

// Proposals of an analysis of some rows change no others, and know of the other rows that a
// rule would refuse.
func TestProposalsForSomeRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "some")
	for _, action := range []string{"fix_nulls", "standardize_values"} {
		p := analyze(t, s.Admin, path, object{"action": action, "where": "id < 10 OR id < 200 -- some"})["proposals"].(list)[0].(object)
		apply := p["apply"].(object)
		written := s.Admin.OK("POST", apply["path"].(string), apply["body"])
		require.Equal(t, p["effect"].(object)["rowsAffected"], written["updated"], "%v", apply)
	}
	violations := map[string]any{}
	for _, action := range []string{"suggest_constraints", "suggest_domain"} {
		for _, p := range analyze(t, s.Admin, path, object{"action": action, "where": "bought IS NOT NULL AND amount < 1000 -- some"})["proposals"].(list) {
			p := p.(object)
			if p["apply"] != nil {
				violations[jsonText(p["columns"])+jsonText(p["apply"].(object)["body"])] = p["effect"].(object)["violations"]
			}
			if jsonText(p["columns"]) == `["id"]` {
				require.Equal(t, 0.0, p["effect"].(object)["violations"], "%v", p)
			}
		}
	}
	require.Equal(t, 45.0, violations[`["bought"]{"isNullable":false}`], "%v", violations)
	require.Equal(t, 0.0, violations[`["state"]{"values":["closed","held","open"]}`], "%v", violations)
}

func TestMappingsAreAppliedWithAFile(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "mapped")
	answer := analyze(t, s.Admin, path, object{"action": "suggest_mapping", "source_columns": list{"ID", "E-Mail", "Ort", "Notiz"}})
	apply := answer["proposals"].(list)[0].(object)["apply"].(object)
	require.Nil(t, apply["body"])
	r := s.Admin.Call("POST", apply["path"].(string), "ID,E-Mail,Ort,Notiz\n9001,new@mail.example,Bonn,x\n", "Content-Type", "text/csv")
	require.Equal(t, 200, r.Status, "%v: %s", apply, r.Body)
	require.Equal(t, list{list{"new@mail.example", "Bonn"}}, s.Admin.Rows("SELECT email, city FROM "+s.Schema+".mapped WHERE id = 9001"))
}

func TestExplainedRowsAreThoseOfTheKeys(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "explained")
	r := s.Admin.Call("POST", path+"/explain-rows", object{"keys": list{object{"id": 123}, object{"id": "5"}, object{"id": 99999}}})
	require.Equal(t, 200, r.Status, "%s", r.Body)
	answer := r.JSON(t)
	rows := answer["result"].(object)["rows"].(list)
	require.Len(t, rows, 2)
	require.NotEmpty(t, answer["warnings"], "one key matches no row")
	require.NotContains(t, jsonText(answer["warnings"]), "99999")
	require.Contains(t, answer["text"], "[[")
}
