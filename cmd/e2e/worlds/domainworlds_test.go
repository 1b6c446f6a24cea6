package worlds_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// The routes of domains answer alike whatever rows and values the caller does not see, in
// the table of the column and in the table of its values. Deleting a value is the exception:
// it considers all rows, and answers yes or no.
func TestTwoWorldsOfDomains(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []object{harness.Col("id", "long"), harness.Col("region", "string"), harness.Col("state", "string"),
		harness.Col("city", "string"),
		harness.Col("n", "integer"), harness.Col("maker", "string"), harness.Col("mark", "string"), harness.Col("secret", "string")}
	row := func(id int, region, state, city string, n int, maker, mark string) object {
		return object{"id": id, "region": region, "state": state, "city": city, "n": n, "maker": maker, "mark": mark, "secret": mark}
	}
	w := newWriteWorlds(t, s, nil, columns, list{row(1, "eu", "open", "Bonn", 5, "a", "m")},
		list{}, list{row(2, "us", harness.Canary, "York", 900, harness.Canary, harness.Canary), row(3, "us", "shut", "Rome", -7, "b", "q")})
	w.caller = s.Member("builder@acme.example", "builder", map[string]string{"region": "eu"})
	sources := []string{}
	for i, hidden := range []list{{}, {object{"region": "us", "maker": harness.Canary, "model": "x"},
		object{"region": "us", "maker": nil, "model": "y"}}} {
		name := "makers" + string(rune('0'+i))
		path := s.Create(name, nil, harness.Col("region", "string"), harness.Col("maker", "string"), harness.Col("model", "string"))
		s.Admin.Write(path+"/rows", harness.RowsOf(append(list{object{"region": "eu", "maker": "a", "model": "a1"}}, hidden...)...))
		sources = append(sources, name)
	}
	for i, path := range w.tables {
		s.Admin.OK("PUT", path+"/columns/state/domain/fixed", object{"values": list{"open", "shut"}})
		s.Admin.OK("PUT", path+"/columns/city/domain/hierarchical/inline", object{"parent_column": "state", "parents": list{
			object{"value": "open", "children": list{"Bonn"}}, object{"value": "shut", "children": list{"Rome"}}}})
		s.Admin.OK("PUT", path+"/columns/n/domain/range", object{"min": "0", "max": "10"})
		s.Admin.OK("PUT", path+"/columns/maker/domain/reference", object{"table_path": "lake." + s.Schema + "." + sources[i], "column": "maker"})
		s.Admin.OK("PUT", path+"/columns/id/domain/fixed", object{"values": list{"1", "2"}})
		s.Admin.OK("PUT", path+"/columns/mark/domain/fixed", object{"values": list{"m", "q"}})
		s.Admin.OK("PUT", path+"/columns/secret/domain/fixed", object{"values": list{"m", "q"}})
		s.Policy(sources[i], "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
		s.Rule("mask", strings.TrimPrefix(path, s.TablePath("")), "mark", harness.AdminsSee)
		s.Rule("cls", strings.TrimPrefix(path, s.TablePath("")), "secret", harness.AdminsSee)
	}
	for _, ask := range []harness.Ask{
		{Method: "GET", Path: "/domain"}, {Method: "GET", Path: "/allowed-values"}, {Method: "GET", Path: "/allowed-values?q=S"},
		{Method: "GET", Path: "/allowed-values?parent_value=open"}, {Method: "GET", Path: "/allowed-values?page_size=1"},
		{Method: "GET", Path: "/domain/in-use?value=1"}, {Method: "GET", Path: "/domain/in-use?value=shut"},
		{Method: "GET", Path: "/domain/in-use?value=" + harness.Canary}, {Method: "GET", Path: "/domain/in-use?value_id=" + harness.MissingID},
		{Method: "POST", Path: "/domain/values", Body: object{"value": "9"}},
		{Method: "POST", Path: "/domain/parents", Body: object{"value": "9"}},
		{Method: "PATCH", Path: "/domain/values/" + harness.MissingID, Body: object{"value": "9"}},
		{Method: "DELETE", Path: "/domain/values/" + harness.MissingID}, {Method: "DELETE", Path: "/domain/parents/" + harness.MissingID},
		{Method: "PUT", Path: "/domain/fixed", Body: object{"values": list{"7"}}},
		{Method: "PUT", Path: "/domain/fixed?enforce_existing=true", Body: object{"values": list{"7"}}},
		{Method: "PUT", Path: "/domain/range", Body: object{"min": "6"}}, {Method: "PUT", Path: "/domain/range", Body: object{"min": "x"}},
		{Method: "PUT", Path: "/domain/hierarchical/inline", Body: object{"parent_column": "region", "parents": list{}}},
		{Method: "PUT", Path: "/domain/hierarchical/inline", Body: object{"parent_column": "secret", "parents": list{}}},
		{Method: "PUT", Path: "/domain/reference", Body: object{"table_path": "{source}", "column": "maker"}},
		{Method: "PUT", Path: "/domain/hierarchical/table", Body: object{"table_path": "{source}", "parent_column": "region",
			"parent_key": "maker",
			"child_key":  "model"}},
		{Method: "DELETE", Path: "/domain"},
	} {
		for _, column := range []string{"id", "state", "city", "n", "maker", "mark", "secret", "nosuch"} {
			w.sameDomain(sources, column, ask)
		}
	}
}

// sameDomain sends a request about a column to every world. Names and ids that differ from
// one table to the next are the same in the answers that are compared.
func (w *writeWorlds) sameDomain(sources []string, column string, ask harness.Ask) {
	w.T.Helper()
	var first string
	for i, path := range w.tables {
		body := ask.Body
		if b, ok := body.(object); ok && b["table_path"] == "{source}" {
			body = object{}
			for k, v := range b {
				body.(object)[k] = v
			}
			body.(object)["table_path"] = "lake." + w.Schema + "." + sources[i]
		}
		r := w.caller.Call(ask.Method, path+"/columns/"+column+ask.Path, body, "X-Request-Id", "same")
		require.Less(w.T, r.Status, 500, "%s %s: %s", column, ask, r.Body)
		text := uuids.ReplaceAllString(strings.ReplaceAll(string(r.Body), sources[i], "source"), "id")
		text = tokens.ReplaceAllString(text, "token")
		if !strings.Contains(ask.Path, harness.Canary) {
			require.NotContains(w.T, text, harness.Canary, "%s %s", column, ask)
		}
		if text = r.Header.Get("Content-Type") + text; i == 0 {
			first = text
		}
		require.Equal(w.T, first, text, "%s %s", column, ask)
	}
}

// uuids and tokens match what differs between two tables with the same content.
var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tokens = regexp.MustCompile(`"next_page_token":"[^"]*"`)
)
