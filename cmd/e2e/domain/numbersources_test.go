package domain_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// The number types of a column and of its source need not hold the same values.
func TestSourcesOfOtherNumberTypesAreCompared(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("p", "long"), harness.Col("c", "string"), harness.Col("d", "decimal(38,38)"),
		harness.Col("n", "long"), harness.Col("q", "decimal(10,2)"), harness.Col("e", "string"))
	s.Table("look", `SELECT * FROM (VALUES (1, 'x', 5, 99999999.9::DECIMAL(38,30)), (NULL, 'y', 0, 2)) t(k, c, l, w)`, nil,
		column{"k", "short"}, column{"c", "string"}, column{"l", "long"}, column{"w", "decimal(38,30)"})
	fqn := "lake." + s.Schema + ".look"
	set := func(column, route string, body object) object {
		body["table_path"] = fqn
		return s.Admin.OK("PUT", path+"/columns/"+column+"/domain/"+route, body)
	}
	allowed := func(column, query string) []string {
		return texts(s.Admin.OK("GET", path+"/columns/"+column+"/allowed-values?"+query, nil)["allowed_values"])
	}
	lookup := object{"parent_column": "p", "parent_key": "k", "child_key": "c"}
	s.Admin.OK("PUT", path+"/columns/p/domain/fixed", object{"values": list{"1", "100000"}})
	require.Equal(t, list{nil}, set("c", "hierarchical/table", lookup)["skipped_parents"])
	require.Empty(t, allowed("c", "parent_value=100000"))
	s.Admin.OK("PUT", path+"/columns/p/domain/range", object{"min": "2", "max": "100000"})
	require.Equal(t, list{nil, "1"}, s.Admin.OK("GET", path+"/columns/c/domain", nil)["skipped_parents"])
	lookup["parent_column"] = "q"
	set("e", "hierarchical/table", lookup)
	require.Empty(t, allowed("e", "parent_value=1.23"))
	require.Equal(t, []string{"x"}, allowed("e", "parent_value=1"))

	set("d", "reference", object{"column": "l"})
	require.Len(t, allowed("d", ""), 1, "5 does not fit")
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"d": "0"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"d": "0.5"}))
	set("n", "reference", object{"column": "w"})
	require.Equal(t, []string{"2"}, allowed("n", ""))
	s.Admin.OK("DELETE", path+"/columns/p/domain", nil)
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"n": 2}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"n": 100000000}))
}

// A token of a page is not secret: anybody can make one.
func TestAForgedTokenIsNoError(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("n", "long"))
	s.Table("src", `SELECT range AS l FROM range(10)`, nil, column{"l", "long"})
	s.Admin.OK("PUT", path+"/columns/n/domain/reference", object{"table_path": "lake." + s.Schema + ".src", "column": "l"})
	page := s.Admin.OK("GET", path+"/columns/n/allowed-values?page_size=2", nil)
	token, err := base64.RawURLEncoding.DecodeString(page["next_page_token"].(string))
	require.NoError(t, err)
	forged := strings.Replace(string(token), `"1"`, `"') OR 1=1"`, 1)
	require.NotEqual(t, string(token), forged)
	forged = base64.RawURLEncoding.EncodeToString([]byte(forged))
	page = s.Admin.OK("GET", path+"/columns/n/allowed-values?page_size=2&page_token="+forged, nil)
	require.Empty(t, page["allowed_values"])
}
