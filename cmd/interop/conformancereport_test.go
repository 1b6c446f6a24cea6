package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// conformanceVariable names the folder that a run writes its numbers to, instead of
// comparing them with those in docs/reports.
const conformanceVariable = "LAKEWARDEN_TEST_CONFORMANCE_REPORT"

// count holds the numbers of checks of a table that succeeded.
type count struct {
	read, refused, conditions, written int
	// by counts the readings of other engines.
	by map[string]int
}

func (c *count) agreed(engine string) {
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[engine]++
}

// tally adds up the counts of tables by feature.
type tally struct {
	mu     sync.Mutex
	total  int
	tables map[string]int
	counts map[string]*count
	held   int
}

func newTally(all []specimen) *tally {
	y := &tally{total: len(all), tables: map[string]int{}, counts: map[string]*count{}}
	for _, f := range append([]string{everything}, features...) {
		y.counts[f] = &count{by: map[string]int{}}
	}
	return y
}

const everything = "all tables"

func (y *tally) add(s specimen, c count) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.held++
	for _, f := range append([]string{everything}, s.Features...) {
		y.tables[f]++
		sum := y.counts[f]
		sum.read, sum.refused, sum.conditions, sum.written = sum.read+c.read, sum.refused+c.refused, sum.conditions+c.conditions,
			sum.written+c.written
		for engine, n := range c.by {
			sum.by[engine] += n
		}
	}
}

// check compares the numbers with those of the report, or writes them.
func (y *tally) check(t *testing.T, name string) {
	t.Helper()
	if y.held < y.total {
		t.Logf("%d of %d tables held: no numbers", y.held, y.total)
		return
	}
	text := y.text()
	if folder := os.Getenv(conformanceVariable); folder != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "reports", name))
	require.NoError(t, err, "`make conformance` writes the report")
	require.Equal(t, string(want), text, "the numbers have changed; run `make conformance`")
}

func (y *tally) text() string {
	var b strings.Builder
	b.WriteString(`# Conformance

`)
	engines := []string{"delta-rs", "duckdb"}
	if y.counts[everything].by["spark"] > 0 {
		engines = append(engines, "spark")
		b.WriteString("Made by `make interop`, with Spark as a judge and with further tables that Spark makes; " +
			"conformance.md has the numbers without Spark.\n")
	} else {
		b.WriteString("Made by `make conformance`; every run of the tests compares the numbers. `make interop` also lets Spark judge.\n")
	}
	b.WriteString(`
The tables are in cmd/interop/testdata/conformance, and index.yaml there describes them. They are read and written through the REST
interface of a real server. A table counts for each of its features.

- read: reads of versions by number, by the time in the history and as the newest one, which return the rows in the index
- conditions: statements with a condition on a column, which return the same rows as plain DuckDB
- writes: appends, updates, deletes, optimizations and changes of columns, after which the table has the expected rows
- refused: tables, versions and writes that are refused with the expected reason
- other engines: reads of the original table and after each write, which return the same rows. If an engine cannot read a table because
  of its own limits, the index lists the limit, and the test requires it.

| feature | tables | read | conditions | writes | refused |`)
	for _, e := range engines {
		b.WriteString(" " + e + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", 5+len(engines)) + "\n")
	for _, f := range append([]string{everything}, features...) {
		if y.tables[f] == 0 {
			continue
		}
		c := y.counts[f]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |", f, y.tables[f], c.read, c.conditions, c.written, c.refused)
		for _, e := range engines {
			fmt.Fprintf(&b, " %d |", c.by[e])
		}
		b.WriteString("\n")
	}
	return b.String()
}
