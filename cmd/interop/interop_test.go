package interop

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOthersReadAndWriteWhatIsWritten runs all scenarios, each in the places of its
// turn. After every step each engine reads the rows that the server reads, and writes to
// the table, which the server and the other engines then read.
func TestOthersReadAndWriteWhatIsWritten(t *testing.T) {
	if !thorough {
		t.Parallel()
	}
	w := newTestServer(t)
	report := newReport(w)
	for i, l := range scenarios() {
		for _, in := range w.turn(t, i) {
			t.Run(strings.ReplaceAll(l.name, " ", "_")+"/"+in.name, func(t *testing.T) {
				defer func() {
					if t.Failed() {
						report.failed = append(report.failed, l.name+" ("+in.name+")")
					}
					report.write(t) // with the results so far
				}()
				for _, j := range w.judges {
					j.prepare(t, l)
				}
				tb := w.create(t, in, l)
				c := &tableTest{table: tb, scenario: l, at: -1, next: 900_000, corruptionSeen: map[limit]bool{}}
				c.judge(created)
				for i, s := range l.steps {
					c.walk(i, s)
					c.judge(s.kind)
				}
				for l, still := range c.corruptionSeen {
					require.True(t, still, "%s can %s now: remove its limit", l.engine, l.action)
				}
				report.note(c.acts)
			})
		}
	}
}

// tableTest is the test of one table.
type tableTest struct {
	*table
	scenario scenario
	acts     []act
	at       int
	// next is an id that no row has.
	next int64
	// turn counts the writes, so that each one chooses different rows.
	turn int
	// corruptionSeen records the limits whose corruption was tried, and whether it
	// was observed.
	corruptionSeen map[limit]bool
}

// note records what an engine did, or refused because of a limit.
func (c *tableTest) note(step string, j judge, action string, l limit) {
	c.acts = append(c.acts, act{kind: c.scenario.name + ": " + step, place: c.in.name, engine: j.name, action: action, limit: l})
}

// limit returns the limit of an engine at this step.
func (c *tableTest) limit(engine, action string) (limit, bool) {
	for _, l := range append(slices.Clone(c.scenario.limits), duckdbLimits...) {
		if l.engine != engine || l.action != action && l.action != reading {
			continue
		}
		from := slices.IndexFunc(c.scenario.steps, func(s step) bool { return s.kind == l.from })
		if c.at >= from {
			return l, true
		}
	}
	return limit{}, false
}

// judge tests every engine.
func (c *tableTest) judge(step string) {
	c.t.Helper()
	want := c.served()
	for _, j := range c.w.judges {
		c.reads(step, j, want)
	}
	for i, j := range c.w.judges {
		last := c.at == len(c.scenario.steps)-1
		if last || !c.scenario.atLast && (thorough || (c.at+1)%len(c.w.judges) == i) {
			want = c.writes(step, j, want)
		}
	}
	for _, j := range c.w.judges {
		c.reads(step, j, want)
	}
}

// reads requires that an engine reads the same rows, or refuses as listed.
func (c *tableTest) reads(step string, j judge, want contents) {
	c.t.Helper()
	a := j.ask(c.t, c.request(reading))
	if !c.allowed(step, j, reading, a) {
		return
	}
	require.Equal(c.t, want, a.contents(), "%s: %s reads other rows", step, j.name)
	c.note(step, j, reading, limit{})
}

// allowed reports whether the engine performed the action. If its limits say that
// it cannot, it must have refused.
func (c *tableTest) allowed(step string, j judge, action string, a answer) bool {
	c.t.Helper()
	l, limited := c.limit(j.name, action)
	if !limited {
		require.Empty(c.t, a.Refused, "%s: %s refuses to %s", step, j.name, action)
		return true
	}
	require.NotEmpty(c.t, a.Refused, "%s: %s can %s now: remove its limit", step, j.name, action)
	require.Contains(c.t, a.Refused, l.says, "%s: %s", step, j.name)
	c.note(step, j, action, l)
	return false
}

// writes lets an engine append a row, move it by a merge that also rewrites a row
// of the server, and delete it. It returns the expected rows.
func (c *tableTest) writes(step string, j judge, want contents) contents {
	c.t.Helper()
	old, like := c.chooseRow(want)
	id := c.next
	c.next += 10
	row := func(id int64) string { return withID(c.t, like, strconv.FormatInt(id, 10)) }
	for _, action := range []string{appending, merging, deleting} {
		r := c.request(action)
		r.Old, r.New = old, id
		if l, limited := c.limit(j.name, action); limited && l.corrupts {
			c.corrupts(step, j, r, want.with(row(id)), l)
			return want // the following writes would corrupt the table, too
		}
		if action == deleting {
			r.New++ // the id after the merge
		}
		if !c.allowed(step, j, action, j.ask(c.t, r)) {
			continue
		}
		switch action {
		case appending:
			want = want.with(row(id))
		case merging:
			want = want.without(row(id)).with(row(id + 1))
		case deleting:
			want = want.without(row(id + 1))
		}
		c.requireRows(step+": "+j.name+" "+action, want)
		c.note(step, j, action, limit{})
	}
	return want
}

// corrupts lets an engine write to a copy of the table. It records whether
// the write fails, or another engine then does not read the expected rows. Whether it
// does depends on the written row, so it is enough that one row of a scenario does.
func (c *tableTest) corrupts(step string, j judge, r request, want contents, l limit) {
	c.t.Helper()
	copied := *c.table
	copied.name += "_copy" + strconv.FormatInt(r.New, 10)
	require.NoError(c.t, os.CopyFS(filepath.Join(c.in.folder, copied.name), os.DirFS(filepath.Join(c.in.folder, c.name))))
	to := copied.request(r.Do)
	r.Table, r.Folder = to.Table, to.Folder
	harmless := j.ask(c.t, r).Refused == ""
	for _, other := range c.w.judges {
		after := other.ask(c.t, copied.request(reading))
		harmless = harmless && after.Refused == "" && slices.Equal(after.Rows, want.Rows)
	}
	c.corruptionSeen[l] = c.corruptionSeen[l] || !harmless
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.in.folder, copied.name)))
	c.note(step, j, r.Do, l)
}

// requireRows requires that the server reads these rows.
func (c *tableTest) requireRows(what string, want contents) {
	c.t.Helper()
	require.Equal(c.t, want, c.served(), "%s: the server reads other rows", what)
}

// chooseRow returns the id of a row that the server wrote, a different one each
// time. For a table without rows it describes a row of NULLs.
func (c *tableTest) chooseRow(in contents) (old *int64, like string) {
	c.t.Helper()
	var ours []string
	for _, row := range in.Rows {
		if id, err := strconv.ParseInt(idOf(c.t, row), 10, 64); err == nil && (id < 900_000 || id > 1_000_000) {
			ours = append(ours, row)
		}
	}
	if len(ours) == 0 {
		return nil, `["0"` + strings.Repeat(", null", len(in.Columns)-1) + "]"
	}
	c.turn++
	like = ours[c.turn%len(ours)]
	id, err := strconv.ParseInt(idOf(c.t, like), 10, 64)
	require.NoError(c.t, err)
	return &id, like
}

// with returns the contents with one more row.
func (c contents) with(row string) contents {
	c.Rows = append(slices.Clone(c.Rows), row)
	slices.Sort(c.Rows)
	return c
}

// without returns the contents without a row.
func (c contents) without(row string) contents {
	c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(r string) bool { return r == row })
	return c
}
