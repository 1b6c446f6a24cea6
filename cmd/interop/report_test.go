package interop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// created is the kind of the first step of every table.
const created = "table created"

// reportVariable names the file for a run's report.
const reportVariable = "LAKEWARDEN_TEST_INTEROP_REPORT"

// report holds what every engine did after every kind of write.
type report struct {
	judges []judge
	kinds  []string            // "scenario: kind", in order
	where  map[string][]string // kind to places
	did    map[string][]string // kind and engine to actions
	limits []limit
	limit  map[string][]int // kind and engine to numbers of limits, from 1
	failed []string         // failed scenarios and places, which are not in the table
}

// act is one action that an engine performed, or refused because of a limit.
type act struct {
	kind, place, engine, action string
	limit                       limit
}

func newReport(w *testServer) *report {
	return &report{judges: w.judges, where: map[string][]string{}, did: map[string][]string{}, limit: map[string][]int{}}
}

// note adds the actions of one place.
func (r *report) note(acts []act) {
	for _, a := range acts {
		if !slices.Contains(r.kinds, a.kind) {
			r.kinds = append(r.kinds, a.kind)
		}
		if !slices.Contains(r.where[a.kind], a.place) {
			r.where[a.kind] = append(r.where[a.kind], a.place)
		}
		cell := a.kind + "\x00" + a.engine
		if a.limit.engine == "" {
			if !slices.Contains(r.did[cell], a.action) {
				r.did[cell] = append(r.did[cell], a.action)
			}
			continue
		}
		if n := r.number(a.limit); !slices.Contains(r.limit[cell], n) {
			r.limit[cell] = append(r.limit[cell], n)
		}
	}
}

// number returns the number of a limit, which does not depend on its first step.
func (r *report) number(l limit) int {
	same := func(known limit) bool { return known.engine == l.engine && known.why == l.why }
	if n := slices.IndexFunc(r.limits, same); n >= 0 {
		return n + 1
	}
	r.limits = append(r.limits, l)
	return len(r.limits)
}

// write writes the report to the file that the run names, if any.
func (r *report) write(t *testing.T) {
	t.Helper()
	path := os.Getenv(reportVariable)
	if path == "" {
		return
	}
	require.NoError(t, os.WriteFile(path, []byte(r.text()), 0o644))
}

func (r *report) text() string {
	var b strings.Builder
	b.WriteString("# Other engines\n\nMade by `make interop` on " + time.Now().UTC().Format(time.DateOnly) + ":")
	for i, j := range r.judges {
		b.WriteString([]string{" ", ", "}[min(i, 1)] + j.version)
	}
	b.WriteString(`.

After every write through the REST interface of a real server, each engine reads the table and has to find exactly the rows, names and
types that the server reads. Then it appends a copy of a row of the server, merges (which rewrites a row of the server) and deletes. The
server has to read each of these writes, and the other engines all of them. A number is a limit of the engine: it has to refuse the
action or, if it does not, to be seen corrupting a copy of the table. If other engines write only after the last step of a table, the
earlier steps list reads alone. Of a table with a change data feed, each engine also reads the changes of every write of the server,
which have to be exactly the differences between the rows before and after it. Each table is made in two of four places by turns. In
S3 all engines use clients of their own, in Azure Blob Storage delta-rs does; otherwise they use the folder that follows the bucket.
`)
	if len(r.failed) > 0 {
		b.WriteString("\nFAILED, and not in the table: " + strings.Join(r.failed, ", ") + ".\n")
	}
	b.WriteString("\n| table: write | where |")
	for _, j := range r.judges {
		b.WriteString(" " + j.name + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(r.judges)) + "\n")
	for _, kind := range r.kinds {
		b.WriteString("| " + kind + " | " + strings.Join(r.where[kind], ", ") + " |")
		for _, j := range r.judges {
			cell := kind + "\x00" + j.name
			b.WriteString(" " + strings.Join(r.did[cell], ", "))
			for _, n := range r.limit[cell] {
				fmt.Fprintf(&b, " (%d)", n)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, l := range r.limits {
		fmt.Fprintf(&b, "%d. %s %s\n", i+1, l.engine, l.why)
	}
	return b.String()
}
