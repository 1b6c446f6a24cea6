package analysis_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Short names of what JSON bodies and tables consist of.
type (
	object = map[string]any
	list   = []any
	column = harness.Column
)

// refused calls an operation and checks the status and the code of the refusal. It
// returns the fields that the refusal names.
func refused(t *testing.T, c *harness.Client, status int, code, method, path string, body any) []string {
	t.Helper()
	got, fields := c.Call(method, path, body).Problem(t, status)
	require.Equal(t, code, got, "%s %s", method, path)
	return fields
}

// actions has a request for every action, over the tables of shop.
func actions() []object {
	return []object{
		{"action": "summary"}, {"action": "detect_anomalies"}, {"action": "find_duplicates"}, {"action": "fix_nulls"},
		{"action": "explain_rows", "where": "id <= 3"}, {"action": "standardize_values"}, {"action": "suggest_domain"},
		{"action": "merge_records"}, {"action": "explain_changes", "version_from": 0, "version_to": 1}, {"action": "suggest_constraints"},
		{"action": "classify_columns"}, {"action": "suggest_mapping", "source_columns": list{"Nr", "E-Mail", object{"name": "Ort",
			"values": list{"Bonn", "Ulm"}}}},
	}
}

// shopRows are customers with duplicates, forms of one city, placeholders and outliers.
const shopRows = `SELECT i AS id,
	CASE WHEN i % 100 = 7 THEN 'n/a' ELSE 'c' || (i - CAST(i >= 380 AS INT) * 300) || '@mail.example' END AS email,
	'Customer ' || chr(65 + CAST(i * 7 % 26 AS INT)) || chr(97 + CAST(i * 11 % 26 AS INT)) || ' ' || (i - CAST(i >= 380 AS INT) * 300) AS name,
	CASE WHEN i % 50 = 3 THEN 'BONN'
		WHEN i % 50 = 4 THEN ' Bonn' ELSE ['Bonn', 'Ulm', 'Kiel'][1 + CAST(i % 3 AS INT)] END AS city,
	['open', 'closed', 'held'][1 + CAST(i % 3 AS INT)] AS state,
	CASE WHEN i = 123 THEN 90000.0 ELSE 20 + (i * 37 % 500) / 10.0 END AS amount,
	CASE WHEN i % 9 = 0 THEN NULL ELSE DATE '2024-01-01' + CAST(i % 300 AS INT) END AS bought,
	CASE WHEN i % 4 = 0 THEN 'eu' ELSE 'us' END AS region FROM range(400) t(i)`

// shop makes the table of customers with a primary key, in two versions.
func shop(t testing.TB, s *harness.Server, name string) (path string) {
	t.Helper()
	path = s.Create(name, nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("email", "string"),
		harness.Col("name", "string"), harness.Col("city", "string"), harness.Col("state", "string"), harness.Col("amount", "double"),
		harness.Col("bought", "date"), harness.Col("region", "string"))
	s.Table("source_of_"+name, shopRows, nil, column{"id", "long"}, column{"email", "string"}, column{"name", "string"},
		column{"city", "string"}, column{"state", "string"}, column{"amount", "double"}, column{"bought", "date"}, column{"region", "string"})
	rows := s.Admin.Rows("SELECT CAST(id AS VARCHAR), email, name, city, state, amount, CAST(bought AS VARCHAR), region FROM " +
		s.Schema + ".source_of_" + name + " ORDER BY id")
	names := []string{"id", "email", "name", "city", "state", "amount", "bought", "region"}
	body := list{}
	for _, row := range rows {
		o := object{}
		for i, v := range row.(list) {
			o[names[i]] = v
		}
		body = append(body, o)
	}
	s.Admin.Write(path+"/rows", object{"rows": body})
	require.Equal(t, 1.0, s.Admin.Version(path))
	return path
}

// analyze runs an analysis that must succeed.
func analyze(t testing.TB, c *harness.Client, path string, body object) object {
	t.Helper()
	r := c.Call("POST", path+"/analyze", body)
	require.Equal(t, 200, r.Status, "%v: %s", body, r.Body)
	return r.JSON(t)
}

// jsonText returns a value as JSON.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
