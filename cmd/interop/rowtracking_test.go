package interop

// trackedScenarios are tables with row tracking. Their steps move rows between
// files, also with deletion vectors.
func trackedScenarios() []scenario {
	columns := list{column("id", "long"), column("name", "string"), column("n", "integer")}
	steps := func(of string) []step {
		return []step{
			{"insert " + of, func(t *table) {
				t.write("/rows", rows(object{"id": 1, "name": "a", "n": 1}, object{"id": 2}, object{"id": 3, "name": "c"}, object{"id": 4, "n": 4}))
			}},
			{"update " + of, func(t *table) {
				t.write("/rows/update", object{"where": "id = 2", "set": object{"name": "'b'"}})
			}},
			{"merge " + of, func(t *table) {
				t.write("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 3, "n": 33}, object{"id": 5, "name": "e"}}})
			}},
			{"delete " + of, func(t *table) { t.write("/rows/delete", object{"where": "id = 1"}) }},
			{"optimize " + of, func(t *table) { t.post("/optimize", object{}) }},
			{"optimize " + of + ", Z-order", func(t *table) { t.post("/optimize", object{"zorder_by": list{"name", "n"}}) }},
		}
	}
	properties := func(more ...string) object {
		p := object{"delta.enableRowTracking": "true"}
		for _, name := range more {
			p[name] = "true"
		}
		return object{"properties": p}
	}
	return []scenario{
		{name: "with row tracking", columns: columns, more: properties(), steps: steps("of tracked rows"), limits: noTracking},
		{name: "with row tracking and deletion vectors", atLast: true, columns: columns, more: properties("delta.enableDeletionVectors"),
			steps: steps("of tracked rows with deletion vectors"), limits: noTracking},
	}
}

var noTracking = []limit{
	{engine: "delta-rs", action: appending, says: "RowTracking", why: "does not write tables with row tracking"},
	{engine: "delta-rs", action: merging, says: "RowTracking", why: "does not write tables with row tracking"},
	{engine: "delta-rs", action: deleting, why: "does not write tables with row tracking"},
}
