package worlds_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// worlds is one server over two data sets in turn: the very same catalog, paths
// and requests, and tables that differ only in rows which the caller must not
// see. A different answer reveals something about those rows.
type worlds struct {
	t      *testing.T
	server *harness.Server
	users  []*harness.Client
	// tables are the tables of a world.
	tables func(wild bool) []worldTable
	// replace, if not nil, changes the tables of a world after they were written.
	replace func()
}

const worldUsers = 2

func newWorlds(t *testing.T, threads int) *worlds {
	w := openWorlds(t, threads, worldTables)
	w.govern()
	w.server.Stop()
	return w
}

// govern makes the policies of [worldTables].
func (w *worlds) govern() {
	s := w.server
	s.Policy("t", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	s.Policy("p", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"in","attribute":"tenants"}}`)
	s.Policy("m", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":{"and":[
		{"op":"eq","attribute":"tenant"},{"column":"v_i64","op":"gte","attribute":"floor"},{"column":"v_d","op":"gt","attribute":"day"},
		{"or":[{"column":"v_s","op":"like","value":"*"},{"column":"v_s","op":"contains","value":"("},{"column":"v_dec","op":"gt","value":"0.5"}]},
		{"not":{"column":"tenant","op":"starts_with","value":"SECRET"}}]}}`)
	s.Policy("m", "v_ts",
		`{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"v_ts","op":"gte","value":"9000-01-01T00:00:00Z"}}`)
	s.Policy("m", "v_i8", `{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"v_i8","op":"lt","value":-100}}`)
}

// openWorlds serves the mild world, for the policies to be made.
func openWorlds(t *testing.T, threads int, tables func(wild bool) []worldTable) *worlds {
	s := harness.Start(t, func(c *harness.Settings) {
		c.Threads, c.DiscoveryEvery, c.Lease, c.Memory = threads, time.Hour, 256, 2048
	})
	return worldsOn(t, s, tables)
}

// worldsOn is openWorlds on a server whose schema and root are given.
func worldsOn(t *testing.T, s *harness.Server, tables func(wild bool) []worldTable) *worlds {
	w := &worlds{t: t, server: s, tables: tables}
	w.furnish(false)
	s.Discover()
	for i := range worldUsers {
		w.users = append(w.users, s.Member(fmt.Sprintf("u%d@acme.example", i), "viewer", map[string]string{
			"tenant": "a", "tenants": `["a","z"]`, "floor": "0", "day": "2019-01-01",
		}))
	}
	return w
}

// furnish puts the tables of a world in their places.
func (w *worlds) furnish(wild bool) {
	w.t.Helper()
	w.server.ForgetStore()
	// The directory itself stays: another one in its place would be unavailable.
	require.NoError(w.t, os.MkdirAll(w.server.Root, 0o750))
	entries, err := os.ReadDir(w.server.Root)
	require.NoError(w.t, err)
	for _, entry := range entries {
		require.NoError(w.t, os.RemoveAll(filepath.Join(w.server.Root, entry.Name())))
	}
	for _, table := range w.tables(wild) {
		table.Write(w.t, w.server.Root)
	}
	if w.replace != nil {
		w.replace()
	}
}

// visit serves one of the worlds while f runs.
func (w *worlds) visit(wild bool, f func()) {
	w.t.Helper()
	w.furnish(wild)
	w.server.Start()
	w.follow()
	f()
	w.server.Stop()
}

// follow has the users make their requests where the server is now.
func (w *worlds) follow() {
	for _, u := range w.users {
		u.URL = w.server.URL
	}
}

// askAll makes every request, distributed to the users in a fixed way. A user makes one
// request at a time.
func (w *worlds) askAll(asks []harness.Ask) []harness.Answer {
	w.t.Helper()
	out := make([]harness.Answer, len(asks))
	errs := make([]error, len(w.users))
	var wg sync.WaitGroup
	for u, c := range w.users {
		wg.Go(func() {
			for i := u; i < len(asks); i += len(w.users) {
				got, err := c.Answer(i, asks[i])
				if err != nil {
					errs[u] = fmt.Errorf("%s: %w", asks[i], err)
					return
				}
				out[i] = got
			}
		})
	}
	wg.Wait()
	require.NoError(w.t, errors.Join(errs...))
	return out
}

func (w *worlds) Table(name string) string { return w.server.Schema + "." + name }

// asks are the requests over the three governed tables.
func (w *worlds) asks(statements []probe) []harness.Ask {
	var out []harness.Ask
	whole := len(shapes())
	for i, p := range statements {
		name := tableOf(i)
		a := harness.SQLAsk(p.on(w.Table(name), w.Table("dim")))
		switch i % 40 {
		case 11:
			a.Accept = "application/vnd.apache.arrow.stream"
		case 23:
			a.Accept = "application/x-ndjson"
		case 31:
			a.Accept = "text/csv"
		}
		out = append(out, a)
		for _, other := range []string{"t", "p", "m"} {
			if i < whole && other != name {
				out = append(out, harness.SQLAsk(p.on(w.Table(other), w.Table("dim"))))
			}
		}
	}
	return append(out, w.routes("t", "p", "m", "dim", "nosuch")...)
}

// tableOf deals statements out to the governed tables.
func tableOf(i int) string { return []string{"t", "p", "t", "m"}[i%4] }

// routes are the requests that are not statements.
func (w *worlds) routes(tables ...string) []harness.Ask {
	var out []harness.Ask
	get := func(path string) { out = append(out, harness.Ask{Method: "GET", Path: path}) }
	for _, name := range tables {
		base := "/v1/tables/lake/" + w.server.Schema + "/" + name
		for _, tail := range []string{"", "/columns", "/history", "/history?limit=1", "/effective-policies", "/rows", "/rows?page_size=7",
			"/rows?page_size=7&select=id,x_s",
			"/rows?order_by=id%20desc&page_size=3", "/rows?order_by=x_s", "/rows?order_by=nosuch", "/details", "/rows?page_size=301",
			"/rows?page_token=zzz"} {
			get(base + tail)
		}
		for _, where := range []string{"x_s = '" + harness.Canary + "s1017'", "id = 9223372036854775807", "tenant <> 'a'", "tenant IS NULL",
			"CAST(x_s AS INT) = 1", "date_diff(x_s, v_d, v_d) = 1",
			"list_transform([x_s], lambda x: CAST(x AS INT))[1] = 1", "x_i64 + x_i64 > 0", "v_f64 > 1e300", "nosuch = 1", "1 = 1) OR (1 = 1",
			"error(x_s)"} {
			get(base + "/rows?page_size=5&where=" + url.QueryEscape(where))
		}
	}
	for _, path := range []string{"/v1/tables", "/v1/me", "/v1/me/attributes", "/v1/storages/configs", "/v1/limits",
		"/v1/tables?page_size=2"} {
		get(path)
	}
	return out
}

// worldStatements returns the number of generated statements: the given one, a third of it
// with LAKEWARDEN_TEST_REPRESENTATIVE, or that of LAKEWARDEN_TEST_WORLDS. The first ones call
// each function once.
func worldStatements(whole int) int {
	if n, err := strconv.Atoi(os.Getenv("LAKEWARDEN_TEST_WORLDS")); err == nil && n > 0 {
		return n
	}
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		return whole / 3
	}
	return whole
}

// TestTwoWorldsAnswerAlike is the judge of row filters: one thread, byte by byte.
func TestTwoWorldsAnswerAlike(t *testing.T) {
	t.Parallel()
	w := newWorlds(t, 1)
	o := newOracle(t, w.server.Config.Settings)
	all := o.signatures()
	statements := o.worldProbes(all, worldStatements(2500))
	asks := w.asks(statements)
	var answers [2][]harness.Answer
	var naked [2][]string
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() { answers[i] = w.askAll(asks) })
		naked[i] = unprotected(t, w, statements)
	}
	w.compare(asks, answers)
	w.judgeRun(asks, answers[1], all, statements)

	// The same statements over a plain view of the same rows must tell the
	// worlds apart, or this test could not fail.
	leaks := 0
	for i := range naked[0] {
		if naked[0][i] != naked[1][i] {
			leaks++
		}
	}
	t.Logf("without the barrier %d of %d statements tell the worlds apart", leaks, len(naked[0]))
	require.Greater(t, leaks, 50)
}

// TestTwoWorldsAnswerAlikeInParallel uses several threads, so that the order of rows
// without ORDER BY is not defined; everything else is compared.
func TestTwoWorldsAnswerAlikeInParallel(t *testing.T) {
	t.Parallel()
	w := newWorlds(t, 2)
	o := newOracle(t, w.server.Config.Settings)
	n := worldStatements(2500) / 5
	statements := slices.Concat(leakFamilies(), probes(o.expressions(o.signatures(), 2, n), n))
	asks := w.asks(statements)
	for i := range asks {
		if asks[i].Accept == "application/vnd.apache.arrow.stream" {
			asks[i].Accept = "" // its bytes depend on the order of rows
		}
		asks[i].Unordered = true
	}
	var answers [2][]harness.Answer
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() { answers[i] = w.askAll(asks) })
	}
	w.compare(asks, answers)
}

// compare reports every request whose answers differ.
func (w *worlds) compare(asks []harness.Ask, answers [2][]harness.Answer) {
	w.t.Helper()
	differing := 0
	for i, a := range asks {
		mild, wild := answers[0][i], answers[1][i]
		if harness.Inside.MatchString(wild.Body) {
			w.t.Errorf("something internal got out\n%s\n%.500s", a, wild.Body)
		}
		if strings.Contains(wild.Body, harness.Canary) && !strings.Contains(fmt.Sprint(a.Body)+a.Path, harness.Canary) {
			w.t.Errorf("a hidden value got out\n%s\n%.500s", a, wild.Body)
		}
		if mild.Status == wild.Status && mild.Body == wild.Body && equalHeaders(mild.Header, wild.Header) &&
			equalHeaders(mild.Trailer, wild.Trailer) {
			continue
		}
		if differing++; differing <= 30 {
			w.t.Errorf("the worlds differ\n%s\nmild: %d %v %v %.400s\nwild: %d %v %v %.400s", a, mild.Status, mild.Header, mild.Trailer,
				around(mild.Body, wild.Body), wild.Status, wild.Header, wild.Trailer, around(wild.Body, mild.Body))
		}
	}
	w.t.Logf("%d requests, %d differ", len(asks), differing)
}

// around is a body from shortly before the first difference.
func around(body, other string) string {
	i := 0
	for i < len(body) && i < len(other) && body[i] == other[i] {
		i++
	}
	return body[max(0, i-60):]
}

func equalHeaders(a, b http.Header) bool {
	return len(a) == len(b) && fmt.Sprint(a) == fmt.Sprint(b)
}

// judgeRun checks that the run meant something: that statements were answered
// and that every function was reached.
func (w *worlds) judgeRun(asks []harness.Ask, answers []harness.Answer, all []signature, statements []probe) {
	w.t.Helper()
	count := map[int]int{}
	for _, a := range answers {
		count[a.Status]++
	}
	w.t.Logf("%d requests by status: %v", len(asks), count)
	require.Greater(w.t, count[200]+count[422], len(asks)/2, "too few statements were answered")
	require.Zero(w.t, count[500])
	byText := map[string]int{}
	for i, a := range asks {
		if m, ok := a.Body.(map[string]any); ok {
			byText[m["sql"].(string)] = answers[i].Status
		}
	}
	reached, known := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		known[s.name] = true
	}
	for i, p := range statements {
		name := tableOf(i)
		if status := byText[p.on(w.Table(name), w.Table("dim"))]; status == 200 || status == 422 {
			for name := range known {
				if p.function == name || p.function == "" && strings.Contains(p.sql, name+"(") {
					reached[name] = true
				}
			}
		}
	}
	var missed []string
	for name := range known {
		if !reached[name] {
			missed = append(missed, name)
		}
	}
	slices.Sort(missed)
	w.t.Logf("%d of %d functions reached; not: %v", len(known)-len(missed), len(known), missed)
	require.Less(w.t, len(missed), 40, "too many functions were not tried")
}

// unprotected runs the statements on a session of the engine, over a subquery
// that filters and nothing else, and returns what each answers.
func unprotected(t *testing.T, w *worlds, statements []probe) []string {
	t.Helper()
	eng, err := duckdb.New(t.Context(), duckdb.Options{ExtensionDirs: w.server.Config.ExtensionDirs(), TempDir: t.TempDir(),
		Lease: engine.Lease{Threads: 1, Memory: 512 << 20}})
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close()) }()
	session, err := eng.Open(t.Context(), engine.SessionOptions{Roots: []string{w.server.Root}})
	require.NoError(t, err)
	source, dim := sourceAt(t, filepath.Join(w.server.Root, "t")), sourceAt(t, filepath.Join(w.server.Root, "dim"))
	table := "(SELECT * FROM " + source.Relation() + " WHERE tenant = 'a')"
	var out []string
	for _, p := range statements[len(shapes()):min(len(statements), len(shapes())+900)] {
		var text strings.Builder
		err := tryRows(t.Context(), session, engine.Statement{SQL: p.on(table, dim.Relation()), Sources: []engine.Source{source, dim}},
			func(row []string) { fmt.Fprintln(&text, row) })
		if err != nil {
			fmt.Fprint(&text, err)
		}
		out = append(out, text.String())
	}
	return out
}

func sourceAt(t *testing.T, dir string) engine.Source {
	t.Helper()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(context.Background(), bucket, delta.Options{})
	require.NoError(t, err)
	return engine.Source{Location: dir, Version: snap.Version(), Identity: snap.Identity()}
}
