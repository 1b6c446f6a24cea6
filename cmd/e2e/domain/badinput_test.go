package domain_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestBadInputNamesItsFieldAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("s", "string"), harness.Col("p", "string"),
		harness.Col("list", "array<long>"))
	kept := s.Admin.OK("PUT", path+"/columns/s/domain/fixed", object{"values": list{"kept"}})["domain"]
	for name, c := range map[string]struct {
		path, field string
		body        object
	}{
		"blank":           {"s/domain/fixed", "values[1]", object{"values": list{"a", " "}}},
		"empty":           {"s/domain/fixed", "values[0]", object{"values": list{""}}},
		"twice":           {"s/domain/fixed", "values[2]", object{"values": list{"a", "b", "a"}}},
		"twice as number": {"id/domain/fixed", "values[1]", object{"values": list{"42", "042"}}},
		"no number":       {"id/domain/fixed", "values[0]", object{"values": list{"x"}}},
		"too long":        {"s/domain/fixed", "values[0]", object{"values": list{strings.Repeat("x", 1025)}}},
		"zero byte":       {"s/domain/fixed", "values[0]", object{"values": list{"a\x00"}}},
		"blank child": {"s/domain/hierarchical/inline", "parents[0].children[0]", object{"parent_column": "p",
			"parents": list{object{"value": "a", "children": list{""}}}}},
		"parent twice": {"s/domain/hierarchical/inline", "parents[1].value", object{"parent_column": "p",
			"parents": list{object{"value": "a"}, object{"value": "a"}}}},
		"no parent":      {"s/domain/hierarchical/inline", "parent_column", object{"parent_column": "nosuch", "parents": list{}}},
		"own parent":     {"s/domain/hierarchical/inline", "parent_column", object{"parent_column": "s", "parents": list{}}},
		"no table":       {"s/domain/reference", "table_path", object{"table_path": "nosuch", "column": "x"}},
		"empty range":    {"id/domain/range", "max", object{"min": "2", "max": "1"}},
		"open range":     {"id/domain/range", "max", object{"min": "1", "max": "2", "inclusive": false}},
		"unknown member": {"s/domain/fixed", "x", object{"values": list{}, "x": 1}},
	} {
		r := s.Admin.Call("PUT", path+"/columns/"+c.path, c.body)
		require.Contains(t, harness.Refused(t, r, 422), c.field, "%s: %s", name, r.Body)
	}
	refused(t, s.Admin, 422, "type_not_supported", "PUT", path+"/columns/list/domain/fixed", object{"values": list{"1"}})
	refused(t, s.Admin, 404, "not_found", "PUT", path+"/columns/nosuch/domain/fixed", object{"values": list{"1"}})
	require.Equal(t, kept, s.Admin.OK("GET", path+"/columns/s/domain", nil)["domain"])
	refused(t, s.Admin, 404, "not_found", "GET", path+"/columns/id/domain", nil)

	at := path + "/columns/s/domain"
	for name, body := range map[string]object{"value": {"value": " "}, "label": {"value": "x", "label": strings.Repeat("x", 256)}} {
		r := s.Admin.Call("POST", at+"/values", body)
		fields := harness.Refused(t, r, 422)
		require.True(t, harness.NamesField(fields, name) || harness.NamesField(fields, "body."+name), "%s", r.Body)
	}
	refused(t, s.Admin, 409, "already_exists", "POST", at+"/values", object{"value": "kept"})
	refused(t, s.Admin, 404, "not_found", "PATCH", at+"/values/"+harness.MissingID, object{"value": "x"})
	refused(t, s.Admin, 404, "not_found", "DELETE", at+"/values/"+harness.MissingID, nil)
	refused(t, s.Admin, 409, "domain_type_mismatch", "POST", at+"/parents", object{"value": "x"})
	refused(t, s.Admin, 409, "domain_type_mismatch", "DELETE", at+"/parents/"+harness.MissingID, nil)
	refused(t, s.Admin, 404, "not_found", "POST", path+"/columns/id/domain/parents", object{"value": "x"})
	refused(t, s.Admin, 422, "invalid_field", "PATCH", at+"/values/"+ids(kept.(object)["allowed_values"])["kept"], object{})
	require.Equal(t, []string{"replace_with"}, refused(t, s.Admin, 422, "invalid_field", "DELETE",
		at+"/values/"+ids(kept.(object)["allowed_values"])["kept"]+"?replace_with=nosuch", nil))
	require.Equal(t, []string{"value"}, refused(t, s.Admin, 422, "invalid_field", "GET", at+"/in-use", nil))
	require.Equal(t, []string{"value"}, refused(t, s.Admin, 422, "invalid_field", "GET",
		at+"/in-use?value=a&value_id="+harness.MissingID, nil))
	require.Equal(t, kept, s.Admin.OK("GET", at, nil)["domain"])
}

func TestDomainsHaveAtMostTenThousandValues(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("s", "string"))
	many := make(list, 10_000)
	for i := range many {
		many[i] = "v" + strconv.Itoa(i)
	}
	at := path + "/columns/s/domain"
	s.Admin.OK("PUT", at+"/fixed", object{"values": many})
	require.Equal(t, []string{"value"}, refused(t, s.Admin, 422, "invalid_field", "POST", at+"/values", object{"value": "x"}))
	require.Len(t, s.Admin.OK("GET", path+"/columns/s/allowed-values", nil)["allowed_values"], 10_000)
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"s": "v9999"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"s": "v10000"}))
}
