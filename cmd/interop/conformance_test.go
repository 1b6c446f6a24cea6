package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// TestConformance reads and writes every table of the corpus through the server. It
// checks the rows of every version, compares filters on every column with plain DuckDB,
// and has delta-rs and DuckDB read the table after each write.
// testdata/conformance/index.yaml describes the tables.
func TestConformance(t *testing.T) {
	if !thorough {
		t.Parallel()
	}
	var made []specimen
	for _, s := range corpus(t) {
		if len(s.SQL) == 0 {
			made = append(made, s)
		}
	}
	w := &testServer{}
	local := filepath.Join(w.serve(t), "storage", "main")
	for _, s := range made {
		writeTable(t, filepath.Join(local, s.Table), s.text(t))
	}
	w.tryAll(t, local, made, "conformance.md")
}

// parallelTables is the number of tables that are tested at once.
const parallelTables = 2

// tryAll makes the folder of the tables available to the server, tests each of
// them, and compares the numbers with a report.
func (w *testServer) tryAll(t *testing.T, local string, made []specimen, report string, more ...judge) {
	t.Helper()
	config := w.send(t, "POST", "/v1/storages/configs",
		object{"configName": "main", "kind": "local", "root": "main", "workspaceId": w.workspace})
	in := place{name: "local", uri: local, folder: local, schema: config["schema"].(string)}
	found := w.send(t, "POST", "/v1/storages/configs/"+config["configId"].(string)+"/discover", nil)
	problems := map[string]object{}
	for _, p := range found["problems"].([]any) {
		problems[p.(object)["path"].(string)] = p.(object)
	}
	free := make(chan *testServer, parallelTables)
	for range parallelTables {
		lane := *w
		none := object{"endpoint": "http://127.0.0.1:1", "key": "none", "secret": "none", "region": "none"}
		lane.server = startProcess(t, "engines.py", object{"extensions": oracletest.Extensions(t), "s3": none})
		lane.judges = append([]judge{{name: "delta-rs", process: lane.server}, {name: "duckdb", process: lane.server}}, more...)
		free <- &lane
	}
	counts := newTally(made)
	t.Run("tables", func(t *testing.T) {
		for _, s := range made {
			t.Run(s.Table, func(t *testing.T) {
				t.Parallel()
				lane := <-free
				defer func() { free <- lane }()
				at := &table{t: t, w: lane, in: in, name: s.Table, path: "/v1/tables/lake/" + in.schema + "/" + s.Table}
				c := &corpusTest{table: at, specimen: s, problem: problems[s.Table]}
				c.run()
				counts.add(s, c.count)
			})
		}
	})
	counts.check(t, report)
}

// corpusTest is the test of one table of the corpus.
type corpusTest struct {
	*table
	specimen
	// problem is the problem that discovery reports if it does not register the table.
	problem object
	// done are the writes so far.
	done  []string
	count count
}

func (c *corpusTest) run() {
	t := c.t
	t.Helper()
	if c.specimen.Refused != nil {
		c.refuses("", *c.specimen.Refused)
	}
	if c.specimen.Refused != nil && len(c.Versions) > 0 { // older versions can be readable
		for _, path := range []string{"/details", "/history"} {
			c.w.send(t, "GET", c.path+path, nil)
		}
	}
	for i, e := range c.Versions {
		at := fmt.Sprintf(" AT (VERSION => %d)", e.Version)
		switch {
		case e.Refused != nil:
			c.refuses(at, *e.Refused)
			continue
		case c.specimen.Refused == nil && i == len(c.Versions)-1:
			c.reads("", e.Rows)
			c.pages(e.Rows)
		}
		c.reads(at, e.Rows)
	}
	if c.specimen.Refused == nil {
		for version, want := range c.foreign {
			require.Equal(t, want, c.servedAt(version), "version %d", version)
			c.count.read++
		}
		want := c.served()
		if c.foreign == nil {
			require.Equal(t, c.Columns, want.Columns)
		}
		c.judged(want)
		c.filtered()
		c.timed()
		for _, step := range c.writes() {
			want = c.change(step, want)
		}
		c.leaves()
	}
}

// servedAt returns the rows of a version as the server reads them.
func (c *corpusTest) servedAt(version int64) contents {
	c.t.Helper()
	r := c.request(reading)
	r.Engine, r.Name = "server", fmt.Sprintf("%s AT (VERSION => %d)", r.Name, version)
	a := c.w.server.ask(c.t, r)
	require.Empty(c.t, a.Refused, "version %d", version)
	return a.contents()
}

// writes returns the steps of the specimen.
func (s specimen) writes() []write {
	if s.Writes == nil {
		return usualWrites
	}
	return s.Writes
}

// query reads all rows.
func (c *corpusTest) query(at string) (int, []byte) {
	c.t.Helper()
	return c.w.call(c.t, "POST", "/v1/query", object{"sql": "SELECT * FROM " + c.in.schema + "." + c.name + at, "max_staleness_ms": 0})
}

// reads requires that the server returns the rows in JSON.
func (c *corpusTest) reads(at string, want []any) {
	c.t.Helper()
	status, body := c.query(at)
	require.Equal(c.t, 200, status, "%s: %s", at, body)
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var got struct{ Rows []any }
	require.NoError(c.t, d.Decode(&got))
	require.Equal(c.t, lines(c.t, want), lines(c.t, got.Rows), "the rows%s", at)
	c.count.read++
}

// pages requires the same rows page by page.
func (c *corpusTest) pages(want []any) {
	c.t.Helper()
	rows, token := []any{}, ""
	for {
		status, body := c.w.call(c.t, "GET", c.path+"/rows?page_size=2&page_token="+url.QueryEscape(token), nil)
		require.Equal(c.t, 200, status, "%s", body)
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var got struct {
			Rows  []any  `json:"rows"`
			Token string `json:"next_page_token"`
		}
		require.NoError(c.t, d.Decode(&got))
		rows, token = append(rows, got.Rows...), got.Token
		if token == "" {
			break
		}
	}
	require.Equal(c.t, lines(c.t, want), lines(c.t, rows), "the pages")
}

func lines(t *testing.T, rows []any) []string {
	t.Helper()
	out := []string{}
	for _, row := range rows {
		text, err := json.Marshal(row)
		require.NoError(t, err)
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}

// refuses requires the error of a statement, or that of discovery if the table is not
// registered.
func (c *corpusTest) refuses(at string, want refusal) {
	c.t.Helper()
	c.count.refused++
	if want.Status == 0 {
		require.NotNil(c.t, c.problem, "discovery reports no problem")
		require.Equal(c.t, want.Code, c.problem["code"])
		require.Contains(c.t, fmt.Sprint(c.problem), want.Says)
		require.NotContains(c.t, fmt.Sprint(c.problem), c.in.folder)
		return
	}
	status, body := c.query(at)
	c.refused("reading"+at, status, body, want)
}

func (c *corpusTest) refused(what string, status int, body []byte, want refusal) {
	c.t.Helper()
	require.Equal(c.t, want.Status, status, "%s: %s", what, body)
	var got struct {
		Code    string
		Details []struct{ Field, Message string }
	}
	require.NoError(c.t, json.Unmarshal(body, &got))
	require.Equal(c.t, want.Code, got.Code, "%s: %s", what, body)
	require.Contains(c.t, fmt.Sprint(got.Details), want.Says, "%s: %s", what, body)
	require.NotContains(c.t, string(body), c.in.folder)
}

// judged requires that the other engines read the same rows.
func (c *corpusTest) judged(want contents) {
	c.t.Helper()
	for _, j := range c.w.judges {
		a := j.ask(c.t, c.request(reading))
		step := strings.Join(c.done, ", ")
		l, limited := c.limitOf(j.name)
		switch {
		case !limited:
			require.Empty(c.t, a.Refused, "%s refuses to read [%s]", j.name, step)
			require.Equal(c.t, want, a.contents(), "%s reads other rows [%s]", j.name, step)
			c.count.agreed(j.name)
		case l.Misreads:
			require.Empty(c.t, a.Refused, "%s refuses to read [%s]", j.name, step)
			require.NotEqual(c.t, want, a.contents(), "%s reads the rows now: remove its limit from the index [%s]", j.name, step)
		default:
			require.NotEmpty(c.t, a.Refused, "%s reads the rows now: remove its limit from the index [%s]", j.name, step)
			require.Contains(c.t, a.Refused, l.Says, "%s [%s]", j.name, step)
		}
	}
}

func (c *corpusTest) limitOf(engine string) (readLimit, bool) {
	for _, l := range c.Limits {
		begun := l.From == "" || slices.Contains(c.done, l.From)
		if l.Engine == engine && begun && (l.Until == "" || !slices.Contains(c.done, l.Until)) {
			return l, true
		}
	}
	return readLimit{}, false
}

// filtered compares the results of conditions on each column with those of plain
// DuckDB over all rows of the table.
func (c *corpusTest) filtered() {
	c.t.Helper()
	if c.NoFilters {
		return
	}
	r := c.request("filters")
	r.Engine = "server"
	a := c.w.server.ask(c.t, r)
	require.Empty(c.t, a.Refused)
	require.Empty(c.t, a.Rows, "conditions for which the server finds other rows than plain DuckDB")
	c.count.conditions += a.Status
}

// timed requires that each timestamp of the history selects its version.
func (c *corpusTest) timed() {
	c.t.Helper()
	if !slices.Contains(c.Features, "time travel") {
		return
	}
	found := c.w.send(c.t, "GET", c.path+"/history", nil)
	for _, v := range found["versions"].([]any) {
		entry := v.(object)
		for _, e := range c.Versions {
			if float64(e.Version) == entry["version"] && e.Refused == nil {
				c.reads(fmt.Sprintf(" AT (TIMESTAMP => '%s')", entry["timestamp"]), e.Rows)
			}
		}
	}
}
