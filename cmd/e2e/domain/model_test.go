package domain_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// modelRow is a row of the model; an empty child is NULL.
type modelRow struct{ parent, child string }

// model is what a table with a domain must be like. children holds the allowed values by
// parent; those of a fixed domain are below "". Without a domain it is nil.
type model struct {
	children map[string][]string
	rows     map[int]modelRow
}

func (m *model) fixed() bool {
	_, fixed := m.children[""]
	return fixed
}

// allows reports whether a domain allows a row.
func allows(children map[string][]string, r modelRow) bool {
	if children == nil || r.child == "" {
		return true
	}
	if values, fixed := children[""]; fixed {
		return slices.Contains(values, r.child)
	}
	return slices.Contains(children[r.parent], r.child)
}

// holds reports whether no row is outside a domain.
func (m *model) holds(children map[string][]string) bool {
	for _, r := range m.rows {
		if !allows(children, r) {
			return false
		}
	}
	return true
}

// rename gives the rows of a value another one, and reports whether there were any.
func (m *model) used(parent, child string) (ids []int) {
	for id, r := range m.rows {
		if r.child == child && (m.fixed() || r.parent == parent) {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestRandomOperationsKeepEveryRowInsideItsDomain runs random operations on domains and
// writes against the server and a model, which predicts the outcome of each.
func TestRandomOperationsKeepEveryRowInsideItsDomain(t *testing.T) {
	everywhere(t, func(t *testing.T, s *harness.Server) {
		seed := uint64(time.Now().UnixNano())
		t.Log("seed", seed)
		w := newWalk(s, seed)
		for range 100 {
			w.step()
			w.compare()
		}
	})
}

// walk is one sequence of operations.
type walk struct {
	*harness.Server
	*model
	random   *rand.Rand
	path, at string
	next     int
}

func newWalk(s *harness.Server, seed uint64) *walk {
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("p", "string"), harness.Col("c", "string"))
	return &walk{Server: s, model: &model{rows: map[int]modelRow{}}, random: rand.New(rand.NewPCG(seed, 1)), path: path,
		at: path + "/columns/c/domain"}
}

func (w *walk) one(of ...string) string { return of[w.random.IntN(len(of))] }

func (w *walk) child() string { return w.one("a", "b", "c", "d") }

func (w *walk) parent() string { return w.one("x", "y") }

func (w *walk) some() (out []string) {
	for _, v := range []string{"a", "b", "c", "d"} {
		if w.random.IntN(3) > 0 {
			out = append(out, v)
		}
	}
	return out
}

// expect makes a request whose status the model predicts.
func (w *walk) expect(ok bool, refused int, method, path string, body any) bool {
	w.T.Helper()
	want := refused
	if ok {
		want = 200
	}
	r := w.Admin.Call(method, path, body)
	require.Equal(w.T, want, r.Status, "%s %s %v: %s", method, path, body, r.Body)
	return ok
}

func (w *walk) step() {
	switch w.random.IntN(9) {
	case 0:
		w.set(map[string][]string{"": w.some()}, "/fixed")
	case 1:
		w.set(map[string][]string{"x": w.some(), "y": w.some()}, "/hierarchical/inline")
	case 2, 3, 4:
		w.insert()
	case 5:
		w.update()
	default:
		w.changeValue()
	}
}

func (w *walk) set(children map[string][]string, route string) {
	body := object{"values": children[""]}
	if route != "/fixed" {
		parents := list{}
		for _, p := range slices.Sorted(maps.Keys(children)) {
			parents = append(parents, object{"value": p, "children": append([]string{}, children[p]...)})
		}
		body = object{"parent_column": "p", "parents": parents}
	} else if body["values"] = append([]string{}, children[""]...); children[""] == nil {
		children[""] = []string{}
	}
	if w.expect(w.holds(children), 409, "PUT", w.at+route+"?enforce_existing=true", body) {
		w.children = children
	}
}

func (w *walk) insert() {
	row := modelRow{w.parent(), w.one("a", "b", "c", "d", "")}
	w.next++
	values := object{"id": w.next, "p": row.parent}
	if row.child != "" {
		values["c"] = row.child
	}
	if w.expect(allows(w.children, row), 422, "POST", w.path+"/rows", harness.RowsOf(values)) {
		w.rows[w.next] = row
	}
}

func (w *walk) update() {
	id := 1 + w.random.IntN(w.next+1)
	row, there := w.rows[id]
	set := object{"p": "'" + w.parent() + "'"}
	row.parent = set["p"].(string)[1:2]
	if w.random.IntN(2) == 0 {
		row.child = w.child()
		set["c"] = "'" + row.child + "'"
	}
	if w.expect(!there || allows(w.children, row), 422, "POST", w.path+"/rows/update", object{"where": fmt.Sprint("id = ", id), "set": set}) &&
		there {
		w.rows[id] = row
	}
}

// changeValue adds, deletes, renames or replaces a value.
func (w *walk) changeValue() {
	parent, child, other := "", w.child(), w.child()
	if !w.fixed() {
		parent = w.parent()
	}
	if w.children == nil {
		w.expect(false, 404, "POST", w.at+"/values", object{"value": child})
		return
	}
	d := w.Admin.OK("GET", w.at, nil)["domain"].(object)
	known, add := ids(d["allowed_values"]), w.at+"/values"
	if parent != "" {
		add = w.at + "/parents/" + known[parent] + "/children"
		known = ids(d["lookup"].(object)["mappings"].(object)[parent])
	}
	id, exists := known[child]
	if !exists {
		w.expect(true, 0, "POST", add, object{"value": child})
		w.children[parent] = append(w.children[parent], child)
		return
	}
	at, used := w.at+"/values/"+id, w.used(parent, child)
	_, taken := known[other]
	give := func(text string) {
		for _, id := range used {
			row := w.rows[id]
			row.child = text
			w.rows[id] = row
		}
	}
	remove := func() {
		w.children[parent] = slices.DeleteFunc(slices.Clone(w.children[parent]), func(v string) bool { return v == child })
	}
	switch w.random.IntN(4) {
	case 0:
		w.expect(false, 409, "POST", add, object{"value": child})
	case 1:
		if w.expect(len(used) == 0, 409, "DELETE", at, nil) {
			remove()
		}
	case 2:
		if w.expect(!taken || other == child, 409, "PATCH", at, object{"value": other}) && other != child {
			give(other)
			remove()
			w.children[parent] = append(w.children[parent], other)
		}
	default:
		if w.expect(taken && other != child, 422, "DELETE", at+"?replace_with="+other, nil) {
			give(other)
			remove()
		}
	}
}

// compare checks that the table has the rows of the model, and that none is outside its domain.
func (w *walk) compare() {
	w.T.Helper()
	require.True(w.T, w.holds(w.children))
	got := map[int]modelRow{}
	for _, r := range w.Admin.Rows("SELECT id, p, coalesce(c, '') FROM " + w.Schema + ".t") {
		row := r.(list)
		got[int(row[0].(float64))] = modelRow{row[1].(string), row[2].(string)}
	}
	require.Equal(w.T, w.rows, got)
}
