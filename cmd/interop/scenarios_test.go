package interop

import (
	"encoding/json"
	"slices"
)

// column is a column in a request that creates a table.
func column(name, typ string, more ...any) object {
	c := object{"name": name, "type": typ}
	for i := 0; i+1 < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func rows(all ...any) object { return object{"rows": all} }

// step is one kind of write to a table.
type step struct {
	kind string
	do   func(*table)
}

// scenario describes a table and the writes to it.
type scenario struct {
	name    string
	columns list
	more    object
	steps   []step
	// limits are the actions that engines refuse from a step on; "" means from the
	// first one.
	limits []limit
	// atLast: other engines write only after the last step. Without this, the
	// server refuses to change rows in files with nested values of other writers.
	atLast bool
	// farTimes: Spark writes microseconds instead of INT96, its default. delta-rs
	// reads INT96 as nanoseconds, which are wrong for years before 1677 or after
	// 2262.
	farTimes bool
	// feed: the table has a change data feed, which is read after every step.
	feed bool
}

// limit is an action that an engine does not support.
type limit struct {
	from, engine, action string
	// says is part of the engine's error.
	says string
	// why is the explanation for the report.
	why string
	// corrupts: the engine performs the action, but corrupts the table for others.
	// It is tested on a copy of the table.
	corrupts bool
}

// Actions of engines, in the order in which they are tested.
const (
	reading   = "read"
	appending = "append"
	merging   = "merge"
	deleting  = "delete"
)

// everyType has a column of every type that the server writes.
var everyType = list{
	column("id", "long"), column("by", "byte"), column("sh", "short"), column("it", "integer"), column("fl", "float"), column("db", "double"),
	column("de", "decimal(38,10)"), column("small", "decimal(5,2)"), column("bo", "boolean"), column("st", "string"), column("bi", "binary"),
	column("da", "date"), column("ts", "timestamp"), column("tn", "timestamp_ntz"),
	column("ar", "array<long>"), column("so", "struct<a: long, b: array<string>>"), column("ma", "map<string, decimal(10,2)>"),
	column("deep", "array<struct<k: string, v: map<string, timestamp>>>"),
}

// extremes are rows with the extreme values of every type, and empty and missing
// values.
var extremes = []any{
	object{"id": 1, "by": -128, "sh": -32768, "it": -2147483648, "fl": "-Infinity", "db": json.Number("-0.0"),
		"de": "-9999999999999999999999999999.9999999999", "small": "-999.99",
		"bo": false, "st": "", "bi": "", "da": "0001-01-01", "ts": "0001-01-01T00:00:00.000001Z", "tn": "0001-01-01T00:00:00.000001",
		"ar": list{}, "so": object{"a": nil, "b": list{}}, "ma": object{}, "deep": list{}},
	object{"id": 2, "by": 127, "sh": 32767, "it": 2147483647, "fl": 0.1, "db": 5e-324, "de": "9999999999999999999999999999.9999999999",
		"small": "999.99",
		"bo":    true, "st": "é\U0001F600'\"\\\n\t\u0001 ", "bi": "AP8Q", "da": "9999-12-31", "ts": "9999-12-31T23:59:59.999999Z",
		"tn": "9999-12-31T23:59:59.999999",
		"ar": list{"-9223372036854775808", nil, "9223372036854775807"}, "so": object{"a": 1, "b": list{"", nil, "x"}},
		"ma":   object{"": "0.01", "k": nil},
		"deep": list{nil, object{"k": "a", "v": object{"t": "1969-12-31T23:59:59.999999Z"}}, object{"k": nil, "v": nil}}},
	object{"id": 3},
	object{"id": 4, "fl": "NaN", "db": "NaN", "de": "0.0000000001", "small": "0.00", "da": "1582-10-04", "ts": "1582-10-15T00:00:00Z",
		"tn": "1899-12-31T23:59:59.999999", "so": nil, "ar": nil, "ma": nil},
	object{"id": "9223372036854775807", "db": 1e308, "st": "NULL", "da": "1970-01-01", "ts": "1970-01-01T00:00:00Z"},
}

// oddParts are rows whose partition values are hard to write into a path.
func oddParts(first int) []any {
	var all []any
	for i, text := range []any{"plain", " ", "a/b", "a%2Fb", "a=b", "it's \"x\"", "é\U0001F600", "a\\b", "a:b?c#d&e+f*[g]{h}", "..",
		"line\nbreak", "__HIVE_DEFAULT_PARTITION__x", nil} {
		row := object{"id": first + i, "p": text, "v": i}
		if i%3 != 0 {
			row["d"], row["n"], row["b"] = "0001-01-01", "12.50", i%2 == 0
		}
		all = append(all, row)
	}
	return all
}

// duckdbLimits: DuckDB's extension appends rows, but does not change rows.
var duckdbLimits = []limit{
	{engine: "duckdb", action: merging, says: "", why: "has no MERGE"},
	{engine: "duckdb", action: deleting, says: "", why: "has no DELETE"},
}

var duckdbPartitionLimit = limit{
	engine: "duckdb", action: appending, corrupts: true,
	why: "writes a NULL partition as an empty string, and names files in a way that others do not find",
}

var duckdbMappingLimit = limit{
	engine: "duckdb", action: appending, corrupts: true,
	why: "writes the names of the table into files of a table with column mapping: others read NULL",
}

// since returns the limit, starting with a step.
func (l limit) since(step string) limit {
	l.from = step
	return l
}

// scenarios returns all scenarios of a run.
func scenarios() []scenario {
	return slices.Concat(generalScenarios(), largeScenarios(), feedScenarios(), emptyTextScenarios(), trackedScenarios(), defaultScenarios())
}

func generalScenarios() []scenario {
	return []scenario{
		{name: "keyed", columns: list{column("id", "long", "isPrimaryKey", true), column("name", "string"), column("price", "decimal(10,2)"),
			column("at", "timestamp")}, steps: keyedSteps()},
		{name: "every type", columns: everyType, atLast: true, farTimes: true, limits: []limit{
			{engine: "duckdb", action: appending, corrupts: true,
				why: "writes counts of NULLs within lists, where other readers expect one number, so that " +
					"delta-rs cannot open the table; fails on maps"},
		}, steps: []step{
			{"insert of every type, extremes", func(t *table) { t.write("/rows", rows(extremes...)) }},
			{"merge over nested values", func(t *table) {
				t.write("/rows/merge", object{
					"on": list{"id"}, "rows": list{object{"id": 1, "so": object{"a": 5, "b": nil}, "bi": "AAE="},
						object{"id": 5, "ma": object{"x": "1.50"}}},
				})
			}},
			{"update of every row", func(t *table) {
				t.write("/rows/update", object{"where": "id < 5", "set": object{"st": "concat(coalesce(st, ''), '!')", "sh": "1"}})
			}},
			{"delete with nested values", func(t *table) { t.write("/rows/delete", object{"where": "id = 4"}) }},
			{"optimize of every type", func(t *table) { t.post("/optimize", object{}) }},
		}},
		{name: "partitioned", columns: list{column("id", "long"), column("p", "string"), column("d", "date"), column("n", "decimal(10,2)"),
			column("b", "boolean"), column("v", "long")},
			more: object{"partition_by": list{"p", "d", "n", "b"}}, limits: []limit{duckdbPartitionLimit}, steps: partedSteps()},
		{name: "partitioned by numbers",
			columns: list{column("id", "long"), column("n", "decimal(10,2)"), column("l", "long"), column("tn", "timestamp_ntz"),
				column("v", "string")},
			more: object{"partition_by": list{"n", "l", "tn"}}, limits: []limit{duckdbPartitionLimit,
				{engine: "delta-rs", action: appending, corrupts: true,
					why: "writes decimals below zero wrongly as values of a partition, and cannot read them afterwards"},
			}, steps: []step{
				{"insert into partitions below zero", func(t *table) {
					t.write("/rows", rows(object{"id": 1, "n": "-12.50", "l": -1, "tn": "0001-01-01T00:00:00.000001", "v": "a"},
						object{"id": 2, "n": "-0.01", "l": "-9223372036854775808", "tn": "1969-12-31T23:59:59", "v": "b"}))
				}},
				{"update in partitions below zero", func(t *table) {
					t.write("/rows/update", object{"where": "id = 2", "set": object{"v": "'c'", "n": "n - 0.5"}})
				}},
			}},
		{name: "partitioned by time", columns: list{column("id", "long"), column("ts", "timestamp"), column("v", "string")},
			more: object{"partition_by": list{"ts"}}, limits: []limit{duckdbPartitionLimit}, steps: []step{
				{"insert into partitions of time", func(t *table) {
					t.write("/rows", rows(object{"id": 1, "ts": "2024-01-02T03:04:05.678901Z", "v": "a"}, object{"id": 2},
						object{"id": 3, "ts": "1969-12-31T23:59:59Z"}))
				}},
			}},
		{name: "checked", columns: list{column("id", "long"), column("price", "decimal(10,2)"), column("name", "string")}, limits: []limit{
			{from: "constraint", engine: "duckdb", action: appending, says: "checkConstraints", why: "does not write tables with CHECK constraints"},
		}, steps: []step{
			{"column settings", func(t *table) {
				t.write("/rows", rows(object{"id": 1, "price": "1.00", "name": "a"}, object{"id": 2, "price": "2.00", "name": "b"}))
				t.put("/columns/id/settings", object{"isNullable": false, "isUnique": true})
			}},
			{"primary key", func(t *table) { t.put("/primary-key", object{"columns": list{"id"}}) }},
			{"constraint", func(t *table) {
				// Rows without a price, written by engines that cannot delete them, would
				// violate the constraint and keep it out of the log.
				t.post("/rows/delete", object{"where": "price IS NULL"})
				t.post("/constraints", object{"constraints": list{object{"name": "positive", "expr": "price > 0 AND name <> 'x'"}}})
			}},
			{"insert under rules", func(t *table) { t.write("/rows", rows(object{"id": 3, "price": "3.00", "name": "c"})) }},
		}},
		{name: "evolving", columns: list{column("id", "long"), column("a", "string"), column("b", "integer")}, steps: evolvingSteps(),
			limits: []limit{
				duckdbMappingLimit.since("column renamed"),
			}},
		{name: "widened", columns: list{column("id", "long"), column("i", "integer"), column("f", "float"), column("d", "decimal(5,2)")},
			limits: []limit{
				{from: "columns widened", engine: "delta-rs", action: reading, says: "TypeWidening", why: "does not read tables with widened columns"},
				{from: "columns widened", engine: "duckdb", action: appending, why: "does not write tables with widened columns"},
			}, steps: []step{
				{"columns widened", func(t *table) {
					t.write("/rows", rows(object{"id": 1, "i": 7, "f": 0.1, "d": "1.25"}, object{"id": 2}))
					t.patch("/columns/i", object{"type": "long"})
					t.patch("/columns/f", object{"type": "double"})
					t.patch("/columns/d", object{"type": "decimal(10,4)"})
				}},
				{"insert after widening", func(t *table) {
					t.write("/rows", rows(object{"id": 3, "i": "9007199254740993", "f": 0.1, "d": "123456.0001"}))
				}},
			}},
		{name: "with deletion vectors", columns: list{column("id", "long"), column("v", "string")},
			more: object{"properties": object{"delta.enableDeletionVectors": "true"}}, steps: []step{
				{"insert with deletion vectors", func(t *table) {
					t.write("/rows", rows(object{"id": 1, "v": "a"}, object{"id": 2, "v": "b"}, object{"id": 3}))
				}},
				{"optimize of deletion vectors", func(t *table) { t.post("/optimize", object{}) }},
			}},
		{name: "append only", limits: []limit{
			{engine: "delta-rs", action: merging, why: "refused in a table that is append-only"},
			{engine: "delta-rs", action: deleting, why: "refused in a table that is append-only"},
			{engine: "spark", action: merging, why: "refused in a table that is append-only"},
			{engine: "spark", action: deleting, why: "refused in a table that is append-only"},
		}, columns: list{column("id", "long"), column("v", "string")}, more: object{"properties": object{"delta.appendOnly": "true"}},
			steps: []step{
				{"insert into an append-only table", func(t *table) { t.write("/rows", rows(object{"id": 1, "v": "a"})) }},
			}},
		{name: "with commit timestamps", limits: []limit{
			{engine: "delta-rs", action: appending, says: "InCommitTimestamp", why: "does not write tables with in-commit timestamps"},
			{engine: "delta-rs", action: merging, says: "InCommitTimestamp", why: "does not write tables with in-commit timestamps"},
			{engine: "delta-rs", action: deleting, why: "does not write tables with in-commit timestamps"},
		}, columns: list{column("id", "long"), column("v", "string")},
			more: object{"properties": object{"delta.enableInCommitTimestamps": "true"}}, steps: []step{
				{"insert with in-commit timestamps", func(t *table) { t.write("/rows", rows(object{"id": 1, "v": "a"}, object{"id": 2})) }},
				{"delete with in-commit timestamps", func(t *table) { t.write("/rows/delete", object{"where": "id = 2"}) }},
			}},
	}
}
