package interop

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"
)

// largeScenarios is a table whose rows are in one large file that another engine
// has written. Changes of adjacent rows rewrite it.
func largeScenarios() []scenario {
	return []scenario{{
		name: "large", columns: list{column("id", "long"), column("v", "string"), column("n", "decimal(10,2)"), column("text", "string")},
		steps: []step{
			{"insert of large rows", func(t *table) { t.write("/rows", rows(largeRows()...)) }},
			{"update of neighbours", func(t *table) {
				t.changeAfter("delta-rs", "/rows/update", object{"where": "id BETWEEN 6000 AND 6050", "set": object{"v": "'updated'", "n": "NULL"}})
			}},
			{"merge of neighbours", func(t *table) {
				t.changeAfter("spark", "/rows/merge",
					object{"on": list{"id"},
						"rows": list{object{"id": 8000, "v": "merged"}, object{"id": 8002, "v": "merged"}, object{"id": 50000, "v": "new"}}})
			}},
			{"delete of neighbours", func(t *table) { t.changeAfter("delta-rs", "/rows/delete", object{"where": "id BETWEEN 7000 AND 7100"}) }},
			{"optimize of a large file", func(t *table) { t.post("/optimize", object{}) }},
		},
	}}
}

// largeRows are several thousand rows of several megabytes, with texts that cannot
// be compressed much.
func largeRows() []any {
	r := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, 360)
	all := make([]any, 14_000)
	for i := range all {
		_, _ = r.Read(raw) // never fails
		row := object{"id": 1 + i, "n": i % 1000, "text": base64.StdEncoding.EncodeToString(raw)}
		if i%3 != 0 {
			row["v"] = []string{"a", "b", ""}[i%5%3]
		}
		all[i] = row
	}
	return all
}

// changeAfter changes rows after an engine, or delta-rs if that engine is missing,
// has rewritten all of them in the order of their ids.
func (t *table) changeAfter(engine, to string, body any) {
	t.t.Helper()
	at := max(slices.IndexFunc(t.w.judges, func(j judge) bool { return j.name == engine }), 0)
	require.Empty(t.t, t.w.judges[at].ask(t.t, t.request("rewrite")).Refused)
	t.write(to, body)
}
