package mapping_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/mapping"
)

const customers = `SELECT range AS customer_id, 'n' || range AS first_name, 's' || range AS last_name,
	'p' || range || '@x.example' AS email,
	DATE '1960-01-01' + CAST(range AS INTEGER) AS date_of_birth,
	['Ulm', 'Bonn', 'Kiel'][1 + range % 3] AS city,
	format('{:05d}', 10000 + range) AS postal_code, CAST(range AS DECIMAL(9,2)) AS balance, ['open', 'closed'][1 + range % 2] AS status
	FROM range(200)`

// mapped returns the targets of source columns; "" is none.
func mapped(t *testing.T, columns ...analysis.SourceColumn) (map[string]string, analysis.Answer) {
	t.Helper()
	in := analysistest.New(t, customers).Input(func(in *analysis.Input) { in.SourceColumns = columns })
	answer, err := mapping.Suggest(t.Context(), in)
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range answer.Result.(mapping.Mapping).Mappings {
		out[m.Source] = ""
		if m.Target != nil {
			out[m.Source] = *m.Target
		}
	}
	return out, answer
}

func headers(names ...string) []analysis.SourceColumn {
	out := make([]analysis.SourceColumn, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}

func TestHeadersAreMappedByTheirMeaning(t *testing.T) {
	got, answer := mapped(t, headers("CustID", "Vorname", "Surname", "E-Mail Address", "DOB", "Ort", "PLZ", "acct. balance", "Zustand",
		"shoe size")...)
	require.Equal(t, map[string]string{"CustID": "customer_id", "Vorname": "first_name", "Surname": "last_name", "E-Mail Address": "email",
		"DOB": "date_of_birth", "Ort": "city", "PLZ": "postal_code", "acct. balance": "balance", "Zustand": "status", "shoe size": ""}, got)
	require.Len(t, answer.Proposals, 1)
	require.Equal(t, analysis.MapColumns{Targets: []string{"customer_id", "first_name", "last_name", "email", "date_of_birth", "city",
		"postal_code", "balance", "status", ""}}, answer.Proposals[0].Change)
}

func TestValuesMapHeadersThatSayNothing(t *testing.T) {
	got, _ := mapped(t,
		analysis.SourceColumn{Name: "col1", Values: []string{"a@b.example", "c@d.example"}},
		analysis.SourceColumn{Name: "col2", Values: []string{"Ulm", "Kiel", "Ulm"}},
		analysis.SourceColumn{Name: "col3", Values: []string{"closed", "open"}},
		analysis.SourceColumn{Name: "col4", Values: []string{"lorem ipsum dolor sit amet consectetur"}})
	require.Equal(t, map[string]string{"col1": "email", "col2": "city", "col3": "status", "col4": ""}, got)
}

func TestValuesRefuteANameThatMisleads(t *testing.T) {
	got, _ := mapped(t,
		analysis.SourceColumn{Name: "city", Values: []string{"x@y.example", "z@y.example"}},
		analysis.SourceColumn{Name: "town", Values: []string{"Bonn", "Ulm"}})
	require.Equal(t, map[string]string{"city": "email", "town": "city"}, got)
}

func TestNoTargetIsUsedTwice(t *testing.T) {
	got, answer := mapped(t, headers("email", "mail", "email_2")...)
	require.Equal(t, "email", got["email"])
	require.Empty(t, got["mail"])
	require.Empty(t, got["email_2"])
	for _, m := range answer.Result.(mapping.Mapping).Mappings {
		require.NotNil(t, m.Alternatives)
	}
}
