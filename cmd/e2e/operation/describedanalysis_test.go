package operation_test

import "github.com/lakewarden/lakewarden/cmd/e2e/harness"

// describedAnalyses has every analysis of a table succeed, and one as an operation.
func describedAnalyses(c *describedCalls, s *harness.Server) {
	s.Create("customers", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("name", "string"),
		harness.Col("city", "string"), harness.Col("amount", "double"))
	rows := list{}
	for i := range 120 {
		rows = append(rows, object{"id": i, "name": []string{"Ann Lee", "Bo Ray", "Cy Poe", "n/a"}[i%4],
			"city": []string{"Bonn", "bonn", "Ulm"}[i%3], "amount": float64(i % 30)})
	}
	s.Admin.Write(s.TablePath("customers")+"/rows", object{"rows": rows})
	table := []string{"lake", s.Schema, "customers"}
	for _, body := range []object{
		{"action": "summary"}, {"action": "detect_anomalies"}, {"action": "find_duplicates"}, {"action": "fix_nulls"},
		{"action": "explain_rows", "where": "id < 3"}, {"action": "standardize_values"}, {"action": "suggest_domain"},
		{"action": "merge_records"}, {"action": "explain_changes", "version_from": 0, "version_to": 1}, {"action": "suggest_constraints"},
		{"action": "classify_columns"}, {"action": "suggest_mapping", "source_columns": list{"Nr", object{"name": "x", "values": list{"Ulm"}}}},
	} {
		c.Call(s.Admin, 200, "analyzeTable", table, body)
	}
	c.Call(s.Admin, 200, "explainRows", table, object{"keys": list{object{"id": 7}}})
	o := c.Call(s.Admin, 202, "analyzeTable", table, object{"action": "summary"}, "Prefer", "respond-async")
	s.Admin.Await(o)
	c.Call(s.Admin, 200, "getOperationAnalysis", []string{o["id"].(string)}, nil)
}
