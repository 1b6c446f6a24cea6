package worlds_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// valueWorlds are tables with domains, and a shared domain for each of them.
type valueWorlds struct {
	*writeWorlds
	shared []string
}

// valueAsk is a request below the domain of a column, or below the shared domain if column
// is empty. A text in braces stands for the id of the value.
type valueAsk struct {
	// class is who may make the request, a caller with the scope or one who may change policies.
	class                string
	method, column, tail string
	body                 any
}

const (
	openChange  = "open"
	wholeChange = "whole table"
)

// TestTwoWorldsOfValues checks that the routes of values answer alike whatever rows the caller
// does not see, also those whose values they change. Changes of the whole table are refused to a
// builder, and made by an administrator with the same view. What looks at all rows is the
// exception: it tells that administrator yes or no.
func TestTwoWorldsOfValues(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	row := func(id int, region, state, country, city, kind string) object {
		return object{"id": id, "region": region, "state": state, "country": country, "city": city, "kind": kind}
	}
	w := valueWorlds{writeWorlds: newWriteWorlds(t, s, nil, []object{harness.Col("id", "long"), harness.Col("region", "string"),
		harness.Col("state", "string"), harness.Col("country", "string"), harness.Col("city", "string"), harness.Col("kind", "string")},
		list{row(1, "eu", "open", "de", "Ulm", "a")},
		list{}, list{row(2, "us", "shut", "fr", "Paris", "b"), row(3, "us", "shut", "de", "Bonn", "c")})}
	w.caller = s.Member("builder@acme.example", "builder", map[string]string{"region": "eu"})
	for i, path := range w.tables {
		s.Admin.OK("PUT", path+"/columns/state/domain/fixed", object{"values": list{"open", "shut", "spare"}})
		s.Admin.OK("PUT", path+"/columns/city/domain/hierarchical/inline", object{"parent_column": "country", "parents": list{
			object{"value": "de", "children": list{"Ulm", "Bonn"}}, object{"value": "fr", "children": list{"Paris", "Nice"}}}})
		made := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/domains", object{"name": "kinds" + string(rune('0'+i)),
			"type": "fixed", "values": list{"a", "b", "c", "d"}})
		require.Equal(t, 201, made.Status, "%s", made.Body)
		w.shared = append(w.shared, "/v1/organisations/"+s.Boot.OrganisationID+"/domains/"+made.JSON(t)["id"].(string))
		s.Admin.OK("PUT", path+"/columns/kind/domain/shared", object{"domain_id": made.JSON(t)["id"]})
		s.Policy("w"+string(rune('0'+i)), "region",
			`{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"region","op":"neq","value":"eu"}}`)
		effective := s.Admin.OK("GET", path+"/effective-policies", nil)
		require.Equal(t, list{true, true}, list{effective["restricted"], effective["wholeTable"]})
	}
	for _, ask := range []valueAsk{
		{openChange, "GET", "", "", nil},
		{openChange, "POST", "state", "/values", object{"value": "next"}},
		{openChange, "PATCH", "state", "/values/{shut}", object{"label": "Shut"}},
		{wholeChange, "PATCH", "state", "/values/{shut}", object{"value": "closed"}},
		{wholeChange, "PATCH", "state", "/values/{closed}", object{"value": "open"}},
		{wholeChange, "DELETE", "state", "/values/{closed}?replace_with=spare", nil},
		{wholeChange, "DELETE", "state", "/values/{next}", nil},
		{wholeChange, "DELETE", "state", "/values/{open}", nil},
		{openChange, "POST", "city", "/parents", object{"value": "it"}},
		{openChange, "POST", "city", "/parents/{it}/children", object{"value": "Rome"}},
		{openChange, "POST", "city", "/parents/{fr}/children", object{"value": "Paris"}},
		{wholeChange, "PATCH", "city", "/values/{Paris}", object{"value": "Lyon"}},
		{wholeChange, "PATCH", "city", "/values/{fr}", object{"value": "France"}},
		{wholeChange, "DELETE", "city", "/values/{Lyon}?replace_with=Nice", nil},
		{wholeChange, "DELETE", "city", "/parents/{it}/children/{Rome}", nil},
		{wholeChange, "DELETE", "city", "/parents/{it}", nil},
		{openChange, "POST", "", "/values", object{"value": "e"}},
		{wholeChange, "PATCH", "", "/values/{b}", object{"value": "B"}},
		{wholeChange, "DELETE", "", "/values/{c}?replace_with=e", nil},
		{wholeChange, "DELETE", "", "/values/{d}", nil},
		{wholeChange, "DELETE", "", "/values/{a}", nil},
		{openChange, "DELETE", "", "", nil},
		{openChange, "GET", "", "", nil},
	} {
		w.same(w.caller, ask)
		if ask.class == wholeChange {
			w.same(w.Admin, ask)
		}
	}
	for _, ask := range []valueAsk{
		{wholeChange, "PATCH", "state", "/values/{spare}?propagate=false", object{"value": "x"}},
		{wholeChange, "DELETE", "city", "/parents/{France}/children/{Nice}", nil},
		{wholeChange, "DELETE", "city", "/parents/{France}", nil},
		{wholeChange, "DELETE", "", "/values/{B}", nil},
		{wholeChange, "DELETE", "", "/values/{e}", nil},
	} {
		w.same(w.caller, ask)
		hidden := w.send(w.Admin, 1, ask)
		code, fields := hidden.Problem(t, 409)
		require.Equal(t, []any{"value_in_use", []string{"row_count"}}, []any{code, fields})
		require.NotRegexp(t, `[0-9]`, hidden.Details(t)["row_count"], "yes or no, no count")
		require.Equal(t, 200, w.send(w.Admin, 0, ask).Status, "%v", ask)
	}
	for i, values := range []list{{"a"}, {"a", "x"}, {"x"}} {
		for _, c := range []*harness.Client{w.caller, w.Admin} {
			replies := []string{}
			for world, at := range w.shared {
				body := object{"name": "kinds" + string(rune('0'+world)), "type": "fixed", "values": values,
					"expected_version": s.Admin.OK("GET", at, nil)["version"]}
				replies = append(replies, w.answer(c, wholeChange, world, c.Call("PUT", at, body, "X-Request-Id", "same")))
			}
			require.Equal(t, versions.ReplaceAllString(replies[0], ""), versions.ReplaceAllString(replies[1], ""), "replacement %d", i)
			if c == w.Admin {
				require.Contains(t, replies[0], `"outside"`)
			}
		}
	}
}

// same sends a request to every world and requires answers that are the same but for what
// differs between worlds of the same content.
func (w *valueWorlds) same(c *harness.Client, ask valueAsk) {
	w.T.Helper()
	replies := []string{}
	for i := range w.tables {
		replies = append(replies, w.answer(c, ask.class, i, w.send(c, i, ask)))
	}
	require.Equal(w.T, replies[0], replies[1], "%v", ask)
}

// answer returns a reply without what differs between worlds of the same content. A change of
// the whole table must be refused to the builder.
func (w *valueWorlds) answer(c *harness.Client, class string, world int, r harness.Reply) string {
	w.T.Helper()
	require.Less(w.T, r.Status, 500, "%s", r.Body)
	if class == wholeChange && c == w.caller {
		code, _ := r.Problem(w.T, 403)
		require.Equal(w.T, "table_partly_visible", code)
	} else {
		require.NotContains(w.T, string(r.Body), "table_partly_visible")
	}
	return w.alike(world, r)
}

func (w *valueWorlds) alike(world int, r harness.Reply) string {
	text := strings.ReplaceAll(string(r.Body), "kinds"+string(rune('0'+world)), "kinds")
	text = strings.ReplaceAll(text, "w"+string(rune('0'+world)), "w")
	return r.Header.Get("Content-Type") + times.ReplaceAllString(uuids.ReplaceAllString(text, "id"), "time")
}

// send sends a request to one world.
func (w *valueWorlds) send(c *harness.Client, world int, ask valueAsk) harness.Reply {
	w.T.Helper()
	at, own := w.shared[world], w.shared[world]
	if ask.column != "" {
		at = w.tables[world] + "/columns/" + ask.column + "/domain"
		own = at
	}
	known := map[string]string{}
	d := w.Admin.OK("GET", own, nil)
	if nested, ok := d["domain"].(object); ok {
		d = nested
	}
	gather := func(values any) {
		for _, v := range values.(list) {
			known["{"+v.(object)["value"].(string)+"}"] = v.(object)["id"].(string)
		}
	}
	gather(d["allowed_values"])
	if l, ok := d["lookup"].(object); ok {
		for _, children := range l["mappings"].(object) {
			gather(children)
		}
	}
	tail := named.ReplaceAllStringFunc(ask.tail, func(name string) string {
		require.Contains(w.T, known, name)
		return known[name]
	})
	return c.Call(ask.method, at+tail, ask.body, "X-Request-Id", "same")
}

// named matches values in paths, times and versions what differs between two domains of the
// same content.
var (
	named    = regexp.MustCompile(`\{\w+\}`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	versions = regexp.MustCompile(`"version":\d+,?`)
)
