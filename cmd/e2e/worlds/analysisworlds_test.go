package worlds_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// Analyses answer alike whatever rows the caller does not see: all twelve actions, their
// operations, and the answers that are kept.
func TestTwoWorldsOfAnalyses(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	visible, few, many := list{}, list{}, list{}
	for i := range 120 {
		visible = append(visible, object{"id": i, "region": "eu", "name": fmt.Sprintf("person %d", i%100),
			"mail": fmt.Sprintf("p%d@eu.example", i%100), "city": []string{"Bonn", "bonn", "Ulm", "n/a"}[i%4], "amount": float64(i % 17), "kind": []string{"a", "b"}[i%2]})
	}
	for i := range 300 {
		many = append(many, object{"id": 1000 + i, "region": "us", "name": fmt.Sprintf("person %d", i%100),
			"mail": []string{"none", "p1@eu.example", "4111111111111111"}[i%3], "city": []string{"Bonn.", "Kiel", "-"}[i%3],
			"amount": -1e9 + float64(i), "kind": string(rune('c' + i%20))})
	}
	few = append(few, object{"id": 5000, "region": "us", "name": "x", "mail": "y", "city": "z", "amount": 1.0, "kind": "a"})
	w := newWriteWorlds(t, s, nil, []object{harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"),
		harness.Col("name", "string"), harness.Col("mail", "string"), harness.Col("city", "string"), harness.Col("amount", "double"),
		harness.Col("kind", "string")}, visible, few, many)
	for _, role := range []string{"viewer", "builder"} {
		caller := s.Member(role+"@acme.example", role, map[string]string{"region": "eu"})
		for _, body := range []object{
			{"action": "summary"}, {"action": "detect_anomalies"}, {"action": "find_duplicates"}, {"action": "fix_nulls"},
			{"action": "explain_rows", "where": "id < 4"}, {"action": "explain_rows", "keys": list{object{"id": 3}, object{"id": 1001}}},
			{"action": "standardize_values"}, {"action": "suggest_domain"}, {"action": "merge_records"},
			{"action": "explain_changes", "version_from": 0, "version_to": 1}, {"action": "suggest_constraints"},
			{"action": "classify_columns"},
			{"action": "suggest_mapping", "source_columns": list{"Mail", object{"name": "x", "values": list{"Bonn", "Kiel"}}}},
			{"action": "summary", "where": "amount > -1000 AND kind = 'c'"}, {"action": "summary", "where": "CAST(mail AS INTEGER) > 0"},
		} {
			for range 2 { // the second answer is a kept one
				w.alike(caller, body)
			}
			w.alikeLater(caller, body)
		}
	}
}

// alike sends an analysis to every world and compares the answers.
func (w *writeWorlds) alike(caller *harness.Client, body object) {
	w.T.Helper()
	var answers []string
	for i, path := range w.tables {
		r := caller.Call("POST", path+"/analyze", body, "X-Request-Id", "same")
		require.Less(w.T, r.Status, 500, "%v: %s", body, r.Body)
		answers = append(answers, fmt.Sprint(r.Status, r.Header.Get("Content-Type"), w.anonymous(i, string(r.Body))))
	}
	require.Len(w.T, slices.Compact(answers), 1, "%v", body)
}

// alikeLater compares the operations of an analysis, and what they keep.
func (w *writeWorlds) alikeLater(caller *harness.Client, body object) {
	w.T.Helper()
	var answers []string
	for i, path := range w.tables {
		r := caller.Call("POST", path+"/analyze", body, "Prefer", "respond-async")
		if r.Status != 202 {
			answers = append(answers, fmt.Sprint(r.Status))
			continue
		}
		started := r.JSON(w.T)
		ended := caller.Await(started)
		kept := caller.Call("GET", "/v1/operations/"+started["id"].(string)+"/analysis", nil, "X-Request-Id", "same")
		answers = append(answers, w.anonymous(i, fmt.Sprint(ended["state"], ended["error"], ended["result"], ended["progress"], kept.Status,
			string(kept.Body))))
	}
	require.Len(w.T, slices.Compact(answers), 1, "%v", body)
}

// anonymous replaces the name of a world's table in an answer.
func (w *writeWorlds) anonymous(world int, text string) string {
	text = regexp.MustCompile(fmt.Sprintf(`\bw%d\b`, world)).ReplaceAllString(text, "w")
	return times.ReplaceAllString(uuids.ReplaceAllString(text, "id"), "time")
}
