package interop

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// largeLives is a table whose rows lie in one large file, which somebody else has
// written last: changes of neighbouring rows cut it, so that pages of theirs stand in files
// of ours.
func largeLives() []life {
	return []life{{
		name: "large", columns: list{column("id", "long"), column("v", "string"), column("n", "decimal(10,2)"), column("text", "string")},
		steps: []step{
			{"insert of large rows", func(t *table) { t.write("/rows", rows(largeRows()...)) }},
			{"update of neighbours", func(t *table) {
				t.cut("delta-rs", "/rows/update", object{"where": "id BETWEEN 6000 AND 6050", "set": object{"v": "'updated'", "n": "NULL"}})
			}},
			{"merge of neighbours", func(t *table) {
				t.cut("spark", "/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 8000, "v": "merged"}, object{"id": 8002, "v": "merged"}, object{"id": 50000, "v": "new"}}})
			}},
			{"delete of neighbours", func(t *table) { t.cut("delta-rs", "/rows/delete", object{"where": "id BETWEEN 7000 AND 7100"}) }},
			{"optimize of what was cut", func(t *table) { t.post("/optimize", object{}) }},
		},
	}}
}

// largeRows are some thousand rows of a file that is worth cutting: their texts cannot be
// compressed much.
func largeRows() []any {
	r := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, 360)
	all := make([]any, 14_000)
	for i := range all {
		_, _ = r.Read(raw) // it never fails
		row := object{"id": 1 + i, "n": i % 1000, "text": base64.StdEncoding.EncodeToString(raw)}
		if i%3 != 0 {
			row["v"] = []string{"a", "b", ""}[i%5%3]
		}
		all[i] = row
	}
	return all
}

// cut is a change of rows after which the file that had them is two: what it keeps, and
// what is new. Before, an engine, or delta-rs where it is not there, brings all rows
// into the order of their ids.
func (t *table) cut(engine, to string, body any) {
	t.t.Helper()
	at := max(slices.IndexFunc(t.w.judges, func(j judge) bool { return j.name == engine }), 0)
	require.Empty(t.t, t.w.judges[at].ask(t.t, t.request("rewrite")).Refused)
	t.write(to, body)
	commits, err := filepath.Glob(filepath.Join(t.in.folder, t.name, "_delta_log", "*[0-9].json"))
	require.NoError(t.t, err)
	text, err := os.ReadFile(slices.Max(commits))
	require.NoError(t.t, err)
	require.Equal(t.t, strings.Count(string(text), `{"remove":`)+1, strings.Count(string(text), `{"add":`), "no file was cut: %s", text)
}
