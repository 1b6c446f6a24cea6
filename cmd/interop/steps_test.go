package interop

import (
	"fmt"

	"github.com/stretchr/testify/require"
)

// keyedSteps change rows of, and maintain, a table without special features.
func keyedSteps() []step {
	const table500 = 500
	return []step{
		{"insert, JSON", func(t *table) {
			t.write("/rows", rows(object{"id": 1, "name": "a", "price": "1.50", "at": "2024-01-02T03:04:05.678901Z"}, object{"id": 2}))
		}},
		{"insert, NDJSON", func(t *table) { t.text("application/x-ndjson", "{\"id\":3,\"name\":\"\"}\n{\"id\":4,\"price\":2.5}\n") }},
		{"insert, CSV", func(t *table) { t.text("text/csv", "name,id,price\n\"c,\"\"x\",5,3.5\n,6,\n") }},
		{"insert, Arrow", func(t *table) { t.file("application/vnd.apache.arrow.stream", "arrow", 7) }},
		{"insert, Parquet", func(t *table) { t.file("application/vnd.apache.parquet", "parquet", 9) }},
		{"insert with an idempotency key", func(t *table) {
			body := rows(object{"id": 11, "name": "once"})
			first := t.post("/rows", body, "Idempotency-Key", t.path)
			require.Equal(t.t, first, t.post("/rows", body, "Idempotency-Key", t.path))
		}},
		{"merge: update and insert", func(t *table) {
			t.write("/rows/merge", rows(object{"id": 2, "price": "9.99"}, object{"id": 12, "name": "new"}))
		}},
		{"merge: delete", func(t *table) {
			t.write("/rows/merge", object{"rows": list{object{"id": 12}}, "when_matched": "delete", "when_not_matched": "ignore"})
		}},
		{"update", func(t *table) {
			t.write("/rows/update", object{"where": "id >= 5", "set": object{"price": "coalesce(price, 0) + 1", "name": "upper(name)"}})
		}},
		{"delete", func(t *table) { t.write("/rows/delete", object{"where": "id = 6 OR name = 'ONCE'"}) }},
		{"optimize", func(t *table) { require.NotZero(t.t, t.post("/optimize", nil)["filesRemoved"]) }},
		{"insert of 500 rows", func(t *table) {
			var all []any
			for i := range table500 {
				all = append(all, object{"id": 1000 + i, "name": fmt.Sprint("n", i*7919%table500), "price": fmt.Sprintf("%d.25", i%17)})
			}
			t.write("/rows", rows(all...))
		}},
		{"optimize, Z-order", func(t *table) {
			require.NotZero(t.t, t.post("/optimize", object{"zorder_by": list{"name", "id"}})["filesAdded"])
		}},
		{"vacuum", func(t *table) {
			require.NotZero(t.t, t.post("/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})["count"])
		}},
		{"checkpoint", func(t *table) { t.toCheckpoint() }},
		{"restore", func(t *table) {
			version := t.version()
			t.write("/rows/delete", object{"where": "id > 100"})
			t.post("/restore", object{"version": version})
		}},
	}
}

// partedSteps change rows of partitions whose values are hard to write into a path.
func partedSteps() []step {
	return []step{
		{"insert into odd partitions", func(t *table) { t.write("/rows", rows(oddParts(1)...)) }},
		{"update moves between partitions", func(t *table) {
			t.write("/rows/update", object{"where": "id IN (1, 2)", "set": object{"p": "'moved to/' || p", "n": "0.01"}})
		}},
		{"merge across partitions", func(t *table) {
			t.write("/rows/merge", object{
				"on": list{"id"}, "rows": list{object{"id": 3, "v": 33}, object{"id": 4, "p": "%25"}, object{"id": 50, "p": "a b+c"}},
			})
		}},
		{"delete across partitions", func(t *table) { t.write("/rows/delete", object{"where": "id IN (5, 50) OR p = 'a\\b'"}) }},
		{"optimize of partitions", func(t *table) {
			t.write("/rows", rows(oddParts(101)...))
			require.NotZero(t.t, t.post("/optimize", object{})["filesAdded"])
		}},
		{"vacuum of partitions", func(t *table) { t.post("/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false}) }},
	}
}

// evolvingSteps change the columns of a table.
func evolvingSteps() []step {
	return []step{
		{"insert before changes of columns", func(t *table) {
			t.write("/rows", rows(object{"id": 1, "a": "x", "b": 1}, object{"id": 2, "a": "y"}))
		}},
		{"column added", func(t *table) {
			t.post("/columns", object{"name": "c", "type": "timestamp_ntz", "comment": "it's new"})
		}},
		{"insert into the added column", func(t *table) {
			t.write("/rows", rows(object{"id": 3, "a": "z", "c": "2024-01-02T03:04:05"}))
		}},
		{"column commented", func(t *table) { t.patch("/columns/a", object{"comment": "of é\" 'quotes'"}) }},
		{"properties", func(t *table) {
			t.patch("/properties", object{"set": object{"delta.checkpointInterval": "7"}, "unset": list{}})
		}},
		{"column renamed", func(t *table) { t.patch("/columns/a", object{"name": "The A"}) }},
		{"column dropped", func(t *table) { t.delete("/columns/b") }},
		{"column added under a dropped name", func(t *table) { t.post("/columns", object{"name": "b", "type": "string"}) }},
	}
}
