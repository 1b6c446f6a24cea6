package interop

import "github.com/stretchr/testify/require"

// emptyTextScenarios are tables with empty strings as partition values. The log
// cannot distinguish them from NULL, so every engine reads NULL.
func emptyTextScenarios() []scenario {
	return []scenario{
		{name: "partitioned by empty strings", columns: list{column("id", "long"), column("p", "string"), column("v", "string")},
			more: object{"partition_by": list{"p"}}, limits: []limit{duckdbPartitionLimit}, steps: []step{
				{"insert into partitions of empty strings", func(t *table) {
					t.write("/rows", rows(object{"id": 1, "p": "", "v": "a"}, object{"id": 2, "v": "b"}, object{"id": 3, "p": "x", "v": ""},
						object{"id": 4, "p": "y", "v": "d"}))
					t.reads(`["1", null, "a"]`, `["2", null, "b"]`, `["3", "x", ""]`, `["4", "y", "d"]`)
				}},
				{"update into partitions of empty strings", func(t *table) {
					t.write("/rows/update", object{"where": "id = 3", "set": object{"p": "''"}})
					t.reads(`["3", null, ""]`)
				}},
				{"merge into partitions of empty strings", func(t *table) {
					t.write("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 4, "p": ""}, object{"id": 5, "p": "", "v": "e"}}})
					t.reads(`["4", null, "d"]`, `["5", null, "e"]`)
				}},
				{"optimize of partitions of empty strings", func(t *table) {
					t.post("/optimize", object{})
					t.reads(`["1", null, "a"]`, `["5", null, "e"]`)
				}},
				{"delete from partitions of empty strings", func(t *table) {
					t.write("/rows/delete", object{"where": "p IS NULL AND id < 3"})
				}},
			}},
	}
}

// reads requires that the server's result includes these rows.
func (t *table) reads(rows ...string) {
	t.t.Helper()
	require.Subset(t.t, t.served().Rows, rows)
}
