package interop

import (
	"slices"

	"github.com/stretchr/testify/require"
)

// defaultLimits are the engines that cannot write to a table with defaults.
var defaultLimits = []limit{
	{engine: "delta-rs", action: appending, why: "does not write tables with defaults of columns"},
	{engine: "delta-rs", action: merging, why: "does not write tables with defaults of columns"},
	{engine: "delta-rs", action: deleting, why: "does not write tables with defaults of columns"},
	{engine: "duckdb", action: appending, why: "does not write tables with defaults of columns"},
}

// defaultScenarios are tables whose columns have defaults, which the server fills
// in. Spark fills in defaults that the server has set, and the server those that
// Spark has set.
func defaultScenarios() []scenario {
	return []scenario{
		{name: "with defaults", columns: list{column("id", "long"), column("state", "string", "default", "'new'"),
			column("price", "decimal(6,2)", "default", "-9.5")},
			limits: defaultLimits, steps: []step{
				{"insert of omitted columns", func(t *table) {
					t.write("/rows", rows(object{"id": 1}, object{"id": 2, "state": nil, "price": nil}, object{"id": 3, "state": "old"}))
					t.reads(`["1", "new", "-9.50"]`, `["2", null, null]`, `["3", "old", "-9.50"]`)
				}},
				{"column added with a default", func(t *table) {
					for _, c := range []object{
						column("day", "date", "default", "'2024-02-29'"), column("seen", "timestamp", "default", "'2024-02-29 12:00:00+00:00'"),
						column("ok", "boolean", "default", "true"),
						column("ratio", "double", "default", "0.1"), column("f", "float", "default", "0.1"), column("n", "long", "default", "7"),
					} {
						t.post("/columns", c)
					}
					t.reads(`["1", "new", "-9.50", null, null, null, null, null, null]`)
					t.write("/rows", rows(object{"id": 4}))
					t.reads(`["4", "new", "-9.50", "19782", "1709208000000000", true, "0x1.999999999999ap-4", "0x1.99999a0000000p-4", "7"]`)
				}},
				{"merge of omitted columns", func(t *table) {
					t.write("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 1, "state": "met"}, object{"id": 5, "n": nil}}})
				}},
				{"insert by Spark", func(t *table) {
					if t.spark("INSERT INTO {table} (id, n) VALUES (6, 1)") {
						t.reads(`["6", "new", "-9.50", "19782", "1709208000000000", true, "0x1.999999999999ap-4", "0x1.99999a0000000p-4", "1"]`)
					}
				}},
				{"default set by Spark", func(t *table) {
					if t.spark("ALTER TABLE {table} ALTER COLUMN state SET DEFAULT 'of spark'") {
						t.write("/rows", rows(object{"id": 8, "n": 2}))
						t.reads(`["8", "of spark", "-9.50", "19782", "1709208000000000", true, "0x1.999999999999ap-4", "0x1.99999a0000000p-4", "2"]`)
					}
				}},
				{"default removed", func(t *table) {
					t.patch("/columns/price", object{"default": nil})
					t.write("/rows", rows(object{"id": 7}))
				}},
			}},
	}
}

// spark runs a statement if Spark is one of the engines, and reports whether it is.
func (t *table) spark(sql string) bool {
	t.t.Helper()
	at := slices.IndexFunc(t.w.judges, func(j judge) bool { return j.name == "spark" })
	if at < 0 {
		return false
	}
	r := t.request("sql")
	r.SQL = sql
	require.Empty(t.t, t.w.judges[at].ask(t.t, r).Refused, sql)
	return true
}
