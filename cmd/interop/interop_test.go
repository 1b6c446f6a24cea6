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

// TestOthersReadAndWriteWhatIsWritten lives the lives of all tables, on disk and
// in S3. After every step each engine reads the rows that the server reads, and
// writes to the table, which the server and the others then read.
func TestOthersReadAndWriteWhatIsWritten(t *testing.T) {
	w := newWorld(t)
	report := newReport(w)
	for _, l := range lives() {
		for _, in := range w.places {
			t.Run(strings.ReplaceAll(l.name, " ", "_")+"/"+in.name, func(t *testing.T) {
				defer func() {
					if t.Failed() {
						report.failed = append(report.failed, l.name+" ("+in.name+")")
					}
					report.write(t) // of what is known by now
				}()
				for _, j := range w.judges {
					j.prepare(t, l)
				}
				tb := w.create(t, in, l)
				c := &court{table: tb, life: l, at: -1, next: 900_000, spoilt: map[limit]bool{}}
				c.judge(created)
				for i, s := range l.steps {
					c.walk(i, s)
					c.judge(s.kind)
				}
				for l, still := range c.spoilt {
					require.True(t, still, "%s can %s now: its limit is to be taken away", l.engine, l.action)
				}
				report.note(c.acts)
			})
		}
	}
}

// court judges one table.
type court struct {
	*table
	life life
	acts []act
	at   int
	// next is an id that no row has.
	next int64
	// turn counts what was written, so that other rows are taken each time.
	turn int
	// spoilt are the limits of which was seen whether they are still there.
	spoilt map[limit]bool
}

// note remembers what an engine did, or did not by a limit.
func (c *court) note(step string, j judge, action string, l limit) {
	c.acts = append(c.acts, act{kind: c.life.name + ": " + step, place: c.in.name, engine: j.name, action: action, limit: l})
}

// limit finds what an engine does not do at this step.
func (c *court) limit(engine, action string) (limit, bool) {
	for _, l := range append(slices.Clone(c.life.limits), noChanges...) {
		if l.engine != engine || l.action != action && l.action != reading {
			continue
		}
		from := slices.IndexFunc(c.life.steps, func(s step) bool { return s.kind == l.from })
		if c.at >= from {
			return l, true
		}
	}
	return limit{}, false
}

// judge asks every engine.
func (c *court) judge(step string) {
	c.t.Helper()
	want := c.served()
	for _, j := range c.w.judges {
		c.reads(step, j, want)
	}
	for i, j := range c.w.judges {
		last := c.at == len(c.life.steps)-1
		if last || !c.life.atLast && (thorough || (c.at+1)%len(c.w.judges) == i) {
			want = c.writes(step, j, want)
		}
	}
	for _, j := range c.w.judges {
		c.reads(step, j, want)
	}
}

// reads demands the same rows of an engine, or its refusal.
func (c *court) reads(step string, j judge, want contents) {
	c.t.Helper()
	a := j.ask(c.t, c.request(reading))
	if !c.allowed(step, j, reading, a) {
		return
	}
	require.Equal(c.t, want, a.contents(), "%s: %s reads other rows", step, j.name)
	c.note(step, j, reading, limit{})
}

// allowed says whether the engine did it; where its limits say that it cannot,
// it must have refused.
func (c *court) allowed(step string, j judge, action string, a answer) bool {
	c.t.Helper()
	l, limited := c.limit(j.name, action)
	if !limited {
		require.Empty(c.t, a.Refused, "%s: %s refuses to %s", step, j.name, action)
		return true
	}
	require.NotEmpty(c.t, a.Refused, "%s: %s can %s now: its limit is to be taken away", step, j.name, action)
	require.Contains(c.t, a.Refused, l.says, "%s: %s", step, j.name)
	c.note(step, j, action, l)
	return false
}

// writes lets an engine append a row, move it by a merge that also rewrites a row
// of ours, and delete it. The rows that must be there then are returned.
func (c *court) writes(step string, j judge, want contents) contents {
	c.t.Helper()
	old, like := c.chosen(want)
	id := c.next
	c.next += 10
	row := func(id int64) string { return withID(c.t, like, strconv.FormatInt(id, 10)) }
	for _, action := range []string{appending, merging, deleting} {
		r := c.request(action)
		r.Old, r.New = old, id
		if l, limited := c.limit(j.name, action); limited && l.spoils {
			c.spoiled(step, j, r, want.with(row(id)), l)
			return want // what follows would write such rows, too
		}
		if action == deleting {
			r.New++ // where the merge has put it
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
		c.becomes(step+": "+j.name+" "+action, want)
		c.note(step, j, action, limit{})
	}
	return want
}

// spoiled lets an engine write to a copy of the table and looks whether it fails,
// or somebody does not read the rows that should be there then. It follows from the row, so
// that one row of a life has to show it.
func (c *court) spoiled(step string, j judge, r request, want contents, l limit) {
	c.t.Helper()
	copied := *c.table
	copied.name += "_copy" + strconv.FormatInt(r.New, 10)
	require.NoError(c.t, os.CopyFS(filepath.Join(c.in.folder, copied.name), os.DirFS(filepath.Join(c.in.folder, c.name))))
	r.Table = copied.request(r.Do).Table
	harmless := j.ask(c.t, r).Refused == ""
	for _, other := range c.w.judges {
		after := other.ask(c.t, copied.request(reading))
		harmless = harmless && after.Refused == "" && slices.Equal(after.Rows, want.Rows)
	}
	c.spoilt[l] = c.spoilt[l] || !harmless
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.in.folder, copied.name)))
	c.note(step, j, r.Do, l)
}

// becomes demands these rows of the server.
func (c *court) becomes(what string, want contents) {
	c.t.Helper()
	require.Equal(c.t, want, c.served(), "%s: the server reads other rows", what)
}

// chosen is a row that the server wrote, another one each time, by its id; a table
// without rows has a row of nothing but NULL.
func (c *court) chosen(in contents) (old *int64, like string) {
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

// with has one more row.
func (c contents) with(row string) contents {
	c.Rows = append(slices.Clone(c.Rows), row)
	slices.Sort(c.Rows)
	return c
}

// without lacks a row.
func (c contents) without(row string) contents {
	c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(r string) bool { return r == row })
	return c
}
