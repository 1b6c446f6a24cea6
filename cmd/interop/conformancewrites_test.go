package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// change makes a write and returns the expected rows after it.
func (c *corpusTest) change(step write, want contents) contents {
	c.t.Helper()
	what, argument, _ := strings.Cut(step.Do, " ")
	id, next := c.ids(want)
	old := c.rowOf(want, id)
	var status int
	var body []byte
	switch what {
	case appending:
		r := c.request("insert")
		r.Engine, r.Path, r.Old, r.New = "server", c.path, &id, next
		a := c.w.server.ask(c.t, r)
		require.Empty(c.t, a.Refused)
		status, body = a.Status, []byte(a.Body)
		want = want.with(withID(c.t, old, strconv.FormatInt(next, 10)))
	case updating:
		status, body = c.w.call(c.t, "POST", c.path+"/rows/update",
			object{"where": fmt.Sprintf("id = %d", id), "set": object{"id": strconv.FormatInt(next, 10)}})
		want = want.without(old).with(withID(c.t, old, strconv.FormatInt(next, 10)))
	case deleting:
		status, body = c.w.call(c.t, "POST", c.path+"/rows/delete", object{"where": fmt.Sprintf("id = %d", id)})
		want = want.without(old)
	case optimizing:
		status, body = c.w.call(c.t, "POST", c.path+"/optimize", object{})
	case "rename":
		status, body = c.w.call(c.t, "PATCH", c.path+"/columns/"+argument, object{"name": argument + "_renamed"})
	case "add":
		name, typ, _ := strings.Cut(argument, " ")
		status, body = c.w.call(c.t, "POST", c.path+"/columns", object{"name": name, "type": typ})
	case "restore":
		version, err := strconv.Atoi(argument)
		require.NoError(c.t, err)
		status, body = c.w.call(c.t, "POST", c.path+"/restore", object{"version": version})
	default:
		c.t.Fatalf("unknown write %q", step.Do)
	}
	if step.Refused != nil {
		c.refused(step.Do, status, body, *step.Refused)
		c.count.refused++
		return c.served()
	}
	require.Less(c.t, status, 300, "%s: %s", step.Do, body)
	c.done = append(c.done, step.Do)
	c.count.written++
	got := c.served()
	switch what {
	case "rename", "add", "restore":
		want = c.altered(what, argument, want, got)
	}
	require.Equal(c.t, want, got, "after %v", c.done)
	c.judged(want)
	return want
}

// altered returns the expected rows after a change of columns or a restore.
func (c *corpusTest) altered(what, argument string, want, got contents) contents {
	c.t.Helper()
	switch what {
	case "rename":
		want.Columns = slices.Clone(want.Columns)
		for i, column := range want.Columns {
			if rest, found := strings.CutPrefix(column, argument+" "); found {
				want.Columns[i] = argument + "_renamed " + rest
			}
		}
	case "add":
		want.Columns = append(slices.Clone(want.Columns), argument)
		want.Rows = slices.Clone(want.Rows)
		for i, row := range want.Rows {
			want.Rows[i] = strings.TrimSuffix(row, "]") + ", null]"
		}
	case "restore":
		c.reads("", c.Versions[slices.IndexFunc(c.Versions, func(e edition) bool { return strconv.FormatInt(e.Version, 10) == argument })].Rows)
		want = got
	}
	return want
}

// leaves requires the protocol with which the log ends.
func (c *corpusTest) leaves() {
	c.t.Helper()
	if c.Leaves == nil {
		return
	}
	var last json.RawMessage
	for _, name := range commits(c.t, filepath.Join(c.in.folder, c.name)) {
		text, err := os.ReadFile(name)
		require.NoError(c.t, err)
		for line := range bytes.Lines(text) {
			var a struct{ Protocol json.RawMessage }
			require.NoError(c.t, json.Unmarshal(line, &a))
			if a.Protocol != nil {
				last = a.Protocol
			}
		}
	}
	require.JSONEq(c.t, string(c.Leaves), string(last))
}

// commits returns the names of the commits of a table's log, in order.
func commits(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "_delta_log", strings.Repeat("[0-9]", 20)+".json"))
	require.NoError(t, err)
	return names
}

// ids returns the least id of the rows, and an id that no row has.
func (c *corpusTest) ids(in contents) (least, next int64) {
	c.t.Helper()
	least, next = 1<<62, 100
	for _, row := range in.Rows {
		id, err := strconv.ParseInt(idOf(c.t, row), 10, 64)
		require.NoError(c.t, err)
		least, next = min(least, id), max(next, id+1)
	}
	return least, next
}

func (c *corpusTest) rowOf(in contents, id int64) string {
	c.t.Helper()
	for _, row := range in.Rows {
		if idOf(c.t, row) == strconv.FormatInt(id, 10) {
			return row
		}
	}
	c.t.Fatalf("no row has id %d", id)
	return ""
}
