package interop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// feeding is the action of reading the changes that a step made.
const feeding = "changes"

// feedScenarios are tables with a change data feed. The steps rewrite files, remove
// files and add deletion vectors.
func feedScenarios() []scenario {
	plain := list{column("id", "long"), column("name", "string"), column("price", "decimal(10,2)")}
	feed := func(more object) object {
		more["properties"] = object{"delta.enableChangeDataFeed": "true"}
		return more
	}
	marked := feed(object{})
	marked["properties"].(object)["delta.enableDeletionVectors"] = "true"
	return []scenario{
		{name: "with a change feed", feed: true, columns: plain, more: feed(object{}), steps: changedSteps("of changes"), limits: noFeed},
		{name: "with a change feed and deletion vectors", feed: true, atLast: true, columns: plain, more: marked,
			steps: changedSteps("of changes with deletion vectors"), limits: noFeed},
		{name: "with a change feed and partitions", feed: true, limits: append(slices.Clone(noFeed), duckdbPartitionLimit),
			columns: list{column("id", "long"), column("p", "string"), column("n", "decimal(10,2)"), column("v", "string")},
			more:    feed(object{"partition_by": list{"p", "n"}}), steps: partedChanges()},
		{name: "with a change feed and renamed columns", feed: true, atLast: true,
			columns: list{column("id", "long"), column("a", "string"), column("b", "integer")}, more: feed(object{}),
			limits: append(slices.Clone(noFeed), duckdbMappingLimit,
				limit{from: "rename with a change feed", engine: "delta-rs", action: feeding, says: "Column mapping",
					why: "does not read the change feed of a table with column mapping"}), steps: mappedChanges()},
	}
}

var noFeed = []limit{
	{engine: "duckdb", action: feeding, says: "no function", why: "has no function that reads a change feed"},
}

// changedSteps change rows in every way that adds changes to the feed, or none.
func changedSteps(of string) []step {
	var optimized float64
	return []step{
		{"insert " + of, func(t *table) {
			t.write("/rows", rows(object{"id": 1, "name": "a", "price": "1.50"}, object{"id": 2}, object{"id": 3, "name": "", "price": "-0.01"},
				object{"id": 4, "name": "d"}, object{"id": 5, "name": "e"}))
		}},
		{"update " + of, func(t *table) {
			t.write("/rows/update", object{
				"where": "id IN (2, 3)", "set": object{"price": "coalesce(price, 0) + 1", "name": "coalesce(name, 'é') || '!'"},
			})
		}},
		{"delete " + of, func(t *table) { t.write("/rows/delete", object{"where": "id = 4"}) }},
		{"merge " + of + ": update and insert", func(t *table) {
			t.write("/rows/merge", object{
				"on": list{"id"}, "rows": list{object{"id": 1, "price": "9.99"}, object{"id": 3, "name": nil}, object{"id": 6, "name": "new"}},
			})
		}},
		{"merge " + of + ": delete", func(t *table) {
			t.write("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 5}}, "when_matched": "delete", "when_not_matched": "ignore"})
		}},
		{"optimize " + of, func(t *table) {
			t.post("/optimize", object{})
			optimized = t.version()
		}},
		{"delete of all rows " + of, func(t *table) { t.write("/rows/delete", object{"where": "true"}) }},
		{"restore " + of, func(t *table) { t.post("/restore", object{"version": optimized}) }},
	}
}

// partedChanges move rows between partitions, one of which is NULL.
func partedChanges() []step {
	return []step{
		{"insert of changes in partitions", func(t *table) {
			t.write("/rows", rows(object{"id": 1, "p": "a/b", "n": "12.50", "v": "x"}, object{"id": 2, "v": "y"},
				object{"id": 3, "p": "c=%25", "n": "0.00"}, object{"id": 4, "p": "c=%25", "n": "0.00", "v": "z"}))
		}},
		{"update of changes between partitions", func(t *table) {
			t.write("/rows/update", object{
				"where": "id IN (1, 2, 3)", "set": object{"p": "CASE id WHEN 2 THEN 'é d' WHEN 1 THEN NULL ELSE p END", "v": "'moved'"},
			})
		}},
		{"merge of changes between partitions", func(t *table) {
			t.write("/rows/merge", object{
				"on": list{"id"}, "rows": list{object{"id": 3, "n": "1.00"}, object{"id": 4, "v": "stays"}, object{"id": 50, "p": "new"}},
			})
		}},
		{"delete of changes in partitions", func(t *table) { t.write("/rows/delete", object{"where": "id IN (1, 50)"}) }},
	}
}

// mappedChanges change rows of columns whose names differ from those in files.
func mappedChanges() []step {
	return []step{
		{"insert of changes before a rename",
			func(t *table) { t.write("/rows", rows(object{"id": 1, "a": "x", "b": 1}, object{"id": 2, "a": "y"})) }},
		{"rename with a change feed", func(t *table) {
			t.patch("/columns/a", object{"name": "The A"})
			t.delete("/columns/b")
			t.post("/columns", object{"name": "b", "type": "string"})
		}},
		{"update of changes after a rename", func(t *table) {
			t.write("/rows/update", object{"where": "id = 1", "set": object{"The A": "'z'", "b": "'new'"}})
		}},
		{"delete of changes after a rename", func(t *table) { t.write("/rows/delete", object{"where": "id = 2"}) }},
	}
}

// walk runs one step. If the table has a change data feed, every engine that reads
// feeds has to find exactly the changes of the step.
func (c *tableTest) walk(i int, s step) {
	c.t.Helper()
	c.at = i
	if !c.scenario.feed {
		s.do(c.table)
		return
	}
	before, from := c.served(), c.version()+1
	s.do(c.table)
	after, to := c.served(), c.version()
	if !slices.Equal(before.Columns, after.Columns) {
		return // no row changes, and engines do not read the feed across such a version
	}
	want := changed(c.t, before, after, to)
	for _, j := range c.w.judges {
		c.findsChanges(s.kind, j, from, to, want)
	}
}

// findsChanges requires that an engine reads these changes, or refuses as listed.
func (c *tableTest) findsChanges(step string, j judge, from, to float64, want []string) {
	c.t.Helper()
	r := c.request(feeding)
	r.From, r.To = int64(from), int64(to)
	a := j.ask(c.t, r)
	if !c.allowed(step, j, feeding, a) {
		return
	}
	require.ElementsMatch(c.t, want, a.Rows, "%s: %s finds other changes in versions %v to %v", step, j.name, from, to)
	c.note(step, j, feeding, limit{})
}

// changed returns the expected changes of a version, from the rows before and after
// it, which are identified by their ids: version, change type and row.
func changed(t *testing.T, before, after contents, version float64) (all []string) {
	t.Helper()
	olds, news := byID(t, before), byID(t, after)
	say := func(kind, row string) { all = append(all, fmt.Sprintf("%v %s %s", version, kind, row)) }
	for id, old := range olds {
		now, there := news[id]
		switch {
		case !there:
			say("delete", old)
		case now != old:
			say("update_preimage", old)
			say("update_postimage", now)
		}
	}
	for id, now := range news {
		if _, there := olds[id]; !there {
			say("insert", now)
		}
	}
	return all
}

func byID(t *testing.T, in contents) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, row := range in.Rows {
		rows[idOf(t, row)] = row
	}
	require.Len(t, rows, len(in.Rows), "rows of the same id")
	return rows
}
