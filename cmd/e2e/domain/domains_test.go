package domain_test

import (
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestFixedDomainsHoldOnEveryWrite(t *testing.T) { everywhere(t, fixedDomainsHold) }

func fixedDomainsHold(t *testing.T, s *harness.Server) {
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("state", "string"), harness.Col("n", "integer"))
	at := path + "/columns/state"
	refused(t, s.Admin, 404, "not_found", "GET", at+"/domain", nil)
	refused(t, s.Admin, 404, "not_found", "GET", at+"/allowed-values", nil)

	got := s.Admin.OK("PUT", at+"/domain/fixed", object{"values": list{"open",
		object{"value": "closed", "label": "Done", "description": "No more work"}}})
	values := got["domain"].(object)["allowed_values"].(list)
	require.Equal(t, object{"id": values[0].(object)["id"], "value": "open"}, values[0])
	require.Equal(t, "Done", values[1].(object)["label"])
	require.Equal(t, object{
		"column_name": "state", "skipped_parents": nil, "domain": object{
			"type": "fixed", "allowed_values": values, "parent_column": nil, "lookup": nil, "reference_source": nil,
		},
	}, got)
	require.Equal(t, got, s.Admin.OK("GET", at+"/domain", nil))
	require.Equal(t, object{"column_name": "state", "parent_value": nil, "allowed_values": values},
		s.Admin.OK("GET", at+"/allowed-values", nil))
	require.Equal(t, []string{"open"}, texts(s.Admin.OK("GET", at+"/allowed-values?q=op", nil)["allowed_values"]))

	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "state": "open"}, object{"id": 2, "state": nil}))
	require.Equal(t, []string{"rows[1].state"}, refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows",
		harness.RowsOf(object{"id": 3, "state": "closed"}, object{"id": 4, "state": "Open"})))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows/merge", harness.RowsOf(object{"id": 1, "state": "gone"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows/update", object{"where": "id = 1", "set": object{"state": "'gone'"}})
	_, updated, _ := s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"state": "'closed'"}})
	require.Equal(t, 1.0, updated)
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".t"))

	used := s.Admin.OK("GET", at+"/domain/in-use?value=closed", nil)
	require.Equal(t, object{"column_name": "state", "value": "closed", "in_use": true, "row_count": 1.0}, used)
	open := ids(values)["open"]
	require.Equal(t, object{"column_name": "state", "value": "open", "in_use": false, "row_count": 0.0},
		s.Admin.OK("GET", at+"/domain/in-use?value_id="+open, nil))

	got = s.Admin.OK("POST", at+"/domain/values", object{"value": "new", "label": "x"})
	added := ids(got["domain"].(object)["allowed_values"])
	require.Equal(t, open, added["open"], "ids are stable")
	got = s.Admin.OK("PATCH", at+"/domain/values/"+added["new"], object{"label": "", "description": "d"})
	require.Equal(t, object{"id": added["new"], "value": "new", "description": "d"}, got["domain"].(object)["allowed_values"].(list)[2])

	refused(t, s.Admin, 409, "value_in_use", "DELETE", at+"/domain/values/"+added["closed"], nil)
	s.Admin.OK("DELETE", at+"/domain/values/"+added["new"], nil)
	refused(t, s.Admin, 404, "not_found", "DELETE", at+"/domain/values/"+added["new"], nil)

	refused(t, s.Admin, 409, "value_in_use", "PATCH", at+"/domain/values/"+added["closed"]+"?propagate=false", object{"value": "done"})
	before := s.Admin.Version(path)
	got = s.Admin.OK("PATCH", at+"/domain/values/"+added["closed"], object{"value": "done"})
	require.Equal(t, added["closed"], ids(got["domain"].(object)["allowed_values"])["done"], "a renamed value keeps its id")
	require.Equal(t, before+1, s.Admin.Version(path), "one commit")
	require.Equal(t, list{list{"done"}}, s.Admin.Rows("SELECT state FROM "+s.Schema+".t WHERE id = 1"))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"id": 9, "state": "closed"}))

	got = s.Admin.OK("DELETE", at+"/domain/values/"+added["closed"]+"?replace_with=open", nil)
	require.Equal(t, []string{"open"}, texts(got["domain"].(object)["allowed_values"]))
	require.Equal(t, list{list{"open"}}, s.Admin.Rows("SELECT state FROM "+s.Schema+".t WHERE id = 1"))

	got = s.Admin.OK("PUT", at+"/domain/fixed", object{"values": list{"shut"}})
	require.Equal(t, object{"row_count": 1.0, "values": list{"open"}}, got["outside"])
	refused(t, s.Admin, 409, "outside_values", "PUT", at+"/domain/fixed?enforce_existing=true", object{"values": list{"never"}})
	require.Equal(t, []string{"shut"}, texts(s.Admin.OK("GET", at+"/domain", nil)["domain"].(object)["allowed_values"]), "nothing has changed")
	s.Admin.OK("PUT", at+"/domain/fixed?enforce_existing=true", object{"values": list{"open"}})
	s.Admin.OK("DELETE", at+"/domain", nil)
	refused(t, s.Admin, 404, "not_found", "DELETE", at+"/domain", nil)
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 10, "state": "anything"}))
}

func TestHierarchicalDomainsHoldForParentAndChild(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("country", "string"),
		harness.Col("city", "string"))
	at := path + "/columns/city"
	got := s.Admin.OK("PUT", at+"/domain/hierarchical/inline", object{"parent_column": "country", "parents": list{
		object{"value": "de", "children": list{"Bonn", "Ulm"}}, object{"value": "fr", "children": list{"Paris"}},
	}})
	d := got["domain"].(object)
	look := d["lookup"].(object)
	require.Equal(t, []string{"de", "fr"}, texts(d["allowed_values"]))
	require.Equal(t, []string{"Bonn", "Ulm"}, texts(look["mappings"].(object)["de"]))
	require.Equal(t, "country", d["parent_column"])
	delete(look, "mappings")
	require.Equal(t, object{"source": "inline", "table_name": nil, "table_path": nil, "parent_key": nil, "child_key": nil,
		"table_id": nil}, look)

	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "country": "de", "city": "Ulm"}, object{"id": 2, "country": "xx", "city": nil}))
	for _, row := range []object{{"id": 3, "country": "fr", "city": "Ulm"}, {"id": 3, "country": nil, "city": "Ulm"},
		{"id": 3, "country": "de", "city": "x"}} {
		refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(row))
	}
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows/update", object{"where": "id = 1", "set": object{"country": "'fr'"}})
	s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"country": "'fr'", "city": "'Paris'"}})

	require.Equal(t, []string{"Paris"}, texts(s.Admin.OK("GET", at+"/allowed-values?parent_value=fr", nil)["allowed_values"]))
	require.Equal(t, []string{"Bonn", "Ulm", "Paris"}, texts(s.Admin.OK("GET", at+"/allowed-values", nil)["allowed_values"]))
	require.Empty(t, s.Admin.OK("GET", at+"/allowed-values?parent_value=xx", nil)["allowed_values"])

	refused(t, s.Admin, 409, "domain_type_mismatch", "POST", at+"/domain/values", object{"value": "x"})
	got = s.Admin.OK("POST", at+"/domain/parents", object{"value": "it"})
	parents := ids(got["domain"].(object)["allowed_values"])
	require.Equal(t, list{}, got["domain"].(object)["lookup"].(object)["mappings"].(object)["it"])
	refused(t, s.Admin, 409, "already_exists", "POST", at+"/domain/parents", object{"value": "it"})
	refused(t, s.Admin, 404, "not_found", "POST", at+"/domain/parents/"+harness.MissingID+"/children", object{"value": "x"})
	got = s.Admin.OK("POST", at+"/domain/parents/"+parents["it"]+"/children", object{"value": "Roma"})
	children := ids(got["domain"].(object)["lookup"].(object)["mappings"].(object)["it"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 5, "country": "it", "city": "Roma"}))
	refused(t, s.Admin, 409, "value_in_use", "DELETE", at+"/domain/parents/"+parents["it"], nil)
	refused(t, s.Admin, 409, "value_in_use", "DELETE", at+"/domain/parents/"+parents["it"]+"/children/"+children["Roma"], nil)
	refused(t, s.Admin, 404, "not_found", "DELETE", at+"/domain/parents/"+parents["fr"]+"/children/"+children["Roma"], nil)

	s.Admin.OK("PATCH", at+"/domain/values/"+children["Roma"], object{"value": "Rome"})
	s.Admin.OK("PATCH", at+"/domain/values/"+parents["it"], object{"value": "ita"})
	require.Equal(t, list{list{"ita", "Rome"}}, s.Admin.Rows("SELECT country, city FROM "+s.Schema+".t WHERE id = 5"))
	s.Admin.Write(path+"/rows/delete", object{"where": "id = 5"})
	s.Admin.OK("DELETE", at+"/domain/parents/"+parents["it"]+"/children/"+children["Roma"], nil)
	got = s.Admin.OK("DELETE", at+"/domain/parents/"+parents["it"], nil)
	require.Equal(t, []string{"de", "fr"}, texts(got["domain"].(object)["allowed_values"]))
}

func TestReferencesAndLookupsFollowTheirTables(t *testing.T) { everywhere(t, referencesFollow) }

func referencesFollow(t *testing.T, s *harness.Server) {
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("maker", "string"), harness.Col("model", "string"))
	s.Table("models", `SELECT * FROM (VALUES ('a', 'a1'), ('a', 'a2'), ('b', 'b1'), (NULL, 'x'), (' ', 'y')) t(maker, model)`, nil,
		column{"maker", "string"}, column{"model", "string"})
	fqn := "lake." + s.Schema + ".models"
	at := path + "/columns/maker"
	got := s.Admin.OK("PUT", at+"/domain/reference", object{"table_name": "models", "table_path": fqn, "column": "maker"})
	id := s.Admin.OK("GET", s.TablePath("models"), nil)["tableId"]
	require.Equal(t, object{
		"type": "reference", "allowed_values": nil, "parent_column": nil, "lookup": nil,
		"reference_source": object{"table_path": fqn, "table_name": "models", "column": "maker", "table_id": id},
	}, got["domain"])
	got = s.Admin.OK("PUT", path+"/columns/model/domain/hierarchical/table", object{"parent_column": "maker", "table_name": "models",
		"table_path": "models", "parent_key": "maker", "child_key": "model"})
	require.Equal(t, object{"source": "table", "mappings": nil, "table_name": "models", "table_path": fqn, "parent_key": "maker",
		"child_key": "model", "table_id": id}, got["domain"].(object)["lookup"])
	require.Equal(t, list{nil, " "}, got["skipped_parents"])

	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "maker": "a", "model": "a2"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"id": 2, "maker": "c"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"id": 2, "maker": "b", "model": "a1"}))
	s.Admin.Write(s.TablePath("models")+"/rows", harness.RowsOf(object{"maker": "c", "model": "c1"}))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 2, "maker": "c", "model": "c1"}))

	allowed := s.Admin.OK("GET", at+"/allowed-values", nil)
	require.Equal(t, []string{" ", "a", "b", "c"}, texts(allowed["allowed_values"]))
	require.Equal(t, allowed, s.Admin.OK("GET", at+"/allowed-values", nil), "ids are stable")
	_, err := uuid.Parse(ids(allowed["allowed_values"])["a"])
	require.NoError(t, err)
	var walked []string
	for token := ""; ; {
		page := s.Admin.OK("GET", path+"/columns/model/allowed-values?page_size=2&page_token="+url.QueryEscape(token), nil)
		walked = append(walked, texts(page["allowed_values"])...)
		next, more := page["next_page_token"]
		if !more {
			break
		}
		token = next.(string)
	}
	require.Equal(t, []string{"a1", "a2", "b1", "c1", "x", "y"}, walked)
	require.Equal(t, []string{"a1", "a2"},
		texts(s.Admin.OK("GET", path+"/columns/model/allowed-values?parent_value=a", nil)["allowed_values"]))
	require.Equal(t, []string{"c1"}, texts(s.Admin.OK("GET", path+"/columns/model/allowed-values?q=c", nil)["allowed_values"]))
	refused(t, s.Admin, 409, "domain_type_mismatch", "POST", at+"/domain/values", object{"value": "x"})

	refused(t, s.Admin, 422, "domain_cycle", "PUT", s.TablePath("models")+"/columns/maker/domain/reference",
		object{"table_path": "lake." + s.Schema + ".t", "column": "maker"})
	require.Equal(t, []string{"table_path"}, refused(t, s.Admin, 422, "invalid_field", "PUT", at+"/domain/reference",
		object{"table_path": "lake." + s.Schema + ".nosuch", "column": "maker"}))
	require.Equal(t, []string{"table_name"}, refused(t, s.Admin, 422, "invalid_field", "PUT", at+"/domain/reference",
		object{"table_name": "other", "table_path": fqn, "column": "maker"}))
	require.Equal(t, []string{"column"}, refused(t, s.Admin, 422, "invalid_field", "PUT", at+"/domain/reference",
		object{"table_path": fqn, "column": "nosuch"}))
}

func TestRangesBoundNumbersAndTimes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("n", "integer"), harness.Col("d", "date"), harness.Col("f", "double"), harness.Col("s", "string"))
	got := s.Admin.OK("PUT", path+"/columns/n/domain/range", object{"min": "01", "max": "10"})
	require.Equal(t, object{"type": "range", "allowed_values": nil, "parent_column": nil, "lookup": nil, "reference_source": nil,
		"range": object{"min": "1", "max": "10", "inclusive": true}}, got["domain"])
	s.Admin.OK("PUT", path+"/columns/d/domain/range", object{"min": "2024-01-01", "inclusive": false})
	s.Admin.OK("PUT", path+"/columns/f/domain/range", object{"max": "0.5"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"n": 1, "d": "2024-01-02", "f": 0.5}, object{"n": 10}))
	for _, row := range []object{{"n": 0}, {"n": 11}, {"d": "2024-01-01"}, {"f": 0.6}} {
		refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(row))
	}
	refused(t, s.Admin, 409, "domain_type_mismatch", "GET", path+"/columns/n/allowed-values", nil)
	refused(t, s.Admin, 422, "type_not_supported", "PUT", path+"/columns/s/domain/range", object{"min": "a"})
	for field, body := range map[string]object{"min": {"min": "x"}, "max": {"min": "5", "max": "4"}} {
		require.Equal(t, []string{field}, refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/columns/n/domain/range", body))
	}
	refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/columns/n/domain/range", object{})
}
