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
	method, column, tail string
	body                 any
}

// The routes that change values answer alike whatever rows the caller does not see, also
// those whose values they change. What looks at all rows is the exception: it says yes or no.
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
	}
	for _, ask := range []valueAsk{
		{"GET", "", "", nil},
		{"POST", "state", "/values", object{"value": "next"}},
		{"PATCH", "state", "/values/{shut}", object{"label": "Shut"}},
		{"PATCH", "state", "/values/{shut}", object{"value": "closed"}},
		{"PATCH", "state", "/values/{closed}", object{"value": "open"}},
		{"DELETE", "state", "/values/{closed}?replace_with=spare", nil},
		{"DELETE", "state", "/values/{next}", nil},
		{"DELETE", "state", "/values/{open}", nil},
		{"POST", "city", "/parents", object{"value": "it"}},
		{"POST", "city", "/parents/{it}/children", object{"value": "Rome"}},
		{"POST", "city", "/parents/{fr}/children", object{"value": "Paris"}},
		{"PATCH", "city", "/values/{Paris}", object{"value": "Lyon"}},
		{"PATCH", "city", "/values/{fr}", object{"value": "France"}},
		{"DELETE", "city", "/values/{Lyon}?replace_with=Nice", nil},
		{"DELETE", "city", "/parents/{it}/children/{Rome}", nil},
		{"DELETE", "city", "/parents/{it}", nil},
		{"POST", "", "/values", object{"value": "e"}},
		{"PATCH", "", "/values/{b}", object{"value": "B"}},
		{"DELETE", "", "/values/{c}?replace_with=e", nil},
		{"DELETE", "", "/values/{d}", nil},
		{"DELETE", "", "/values/{a}", nil},
		{"DELETE", "", "", nil},
		{"GET", "", "", nil},
	} {
		replies := w.ask(ask)
		require.Equal(t, replies[0], replies[1], "%v", ask)
	}
	for _, ask := range []valueAsk{
		{"PATCH", "state", "/values/{spare}?propagate=false", object{"value": "x"}},
		{"DELETE", "city", "/parents/{France}/children/{Nice}", nil},
		{"DELETE", "city", "/parents/{France}", nil},
		{"DELETE", "", "/values/{B}", nil},
		{"DELETE", "", "/values/{e}", nil},
	} {
		hidden := w.send(1, ask)
		code, fields := hidden.Problem(t, 409)
		require.Equal(t, []any{"value_in_use", []string{"row_count"}}, []any{code, fields})
		require.NotRegexp(t, `[0-9]`, hidden.Details(t)["row_count"], "yes or no, no count")
		require.Equal(t, 200, w.send(0, ask).Status, "%v", ask)
	}
	for i, values := range []list{{"a"}, {"a", "x"}, {"x"}} {
		replies := []string{}
		for world, at := range w.shared {
			body := object{"name": "new", "type": "fixed", "values": values, "expected_version": s.Admin.OK("GET", at, nil)["version"]}
			body["name"] = "kinds" + string(rune('0'+world))
			replies = append(replies, w.alike(world, w.caller.Call("PUT", at, body, "X-Request-Id", "same")))
		}
		require.Equal(t, versions.ReplaceAllString(replies[0], ""), versions.ReplaceAllString(replies[1], ""), "replacement %d", i)
		require.Contains(t, replies[0], `"outside"`)
	}
}

// ask sends a request to every world and returns the replies without what differs between
// worlds of the same content.
func (w *valueWorlds) ask(ask valueAsk) (replies []string) {
	w.T.Helper()
	for i := range w.tables {
		r := w.send(i, ask)
		require.Less(w.T, r.Status, 500, "%v: %s", ask, r.Body)
		replies = append(replies, w.alike(i, r))
	}
	return replies
}

func (w *valueWorlds) alike(world int, r harness.Reply) string {
	text := strings.ReplaceAll(string(r.Body), "kinds"+string(rune('0'+world)), "kinds")
	text = strings.ReplaceAll(text, "w"+string(rune('0'+world)), "w")
	return r.Header.Get("Content-Type") + times.ReplaceAllString(uuids.ReplaceAllString(text, "id"), "time")
}

// send sends a request to one world.
func (w *valueWorlds) send(world int, ask valueAsk) harness.Reply {
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
	return w.caller.Call(ask.method, at+tail, ask.body, "X-Request-Id", "same")
}

// named matches values in paths, times and versions what differs between two domains of the
// same content.
var (
	named    = regexp.MustCompile(`\{\w+\}`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	versions = regexp.MustCompile(`"version":\d+,?`)
)
