package sqlguard

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// planted are entries that must never be made: the engine takes these functions
// for ones that cannot fail, and evaluates them on hidden rows.
var planted = []string{
	"date_diff text date date -> bigint",
	"left text integer -> text",
	"substr text integer -> text",
	"to_base integer integer -> text",
	"chr integer -> text",
	"last_day date -> date",
	"epoch_ms integer -> timestamp",
	"regexp_extract_all text text -> text",
	"like_escape text pattern text -> boolean",
}

// TestPlantedEntriesAreFound: the proof by two worlds can fail.
func TestPlantedEntriesAreFound(t *testing.T) {
	w := newTwoWorlds(t, 1)
	leakProofText := listText(t)
	for _, line := range planted {
		list := leakproof.MustRead(leakProofText + "\n" + line + "\n")
		var expressions []string
		for _, signatures := range leakproof.MustRead("[function]\n" + line).Functions {
			for _, s := range signatures {
				expressions = append(expressions, expressionsOf(s)...)
			}
		}
		_, leaks := w.try(t, list, expressions, 2)
		require.NotEmpty(t, leaks, line)
	}
}

// TestPlantedOrderIsFound: without what the proof sorts by, and with aggregates
// that depend on the order of rows, the worlds differ.
func TestPlantedOrderIsFound(t *testing.T) {
	w := newTwoWorlds(t, 1)
	answers := func(list *leakproof.List, text string, keep bool) (out [2]string) {
		for i := range out {
			q := parseFor(t, text)
			pr, reason := q.proofBy(list, w.relations(q, i), nil)
			require.Empty(t, reason, text)
			if !keep {
				pr = leakproof.Proof{}
			}
			prepared, err := q.bindPlain(t.Context(), testParser(), w.relations(q, i), pr)
			require.NoError(t, err)
			plan := prepared.Plan(w.relations(q, i), noArgs)
			out[i] = w.answers(t, plan, i)
		}
		return out
	}
	for _, text := range []string{
		"SELECT a.id, b.id AS other FROM t a JOIN d b ON a.g = b.g ORDER BY a.g LIMIT 20",
		"SELECT b.id, count(*) FROM t a JOIN d b ON a.g = b.g GROUP BY b.id",
		"SELECT DISTINCT a.g, b.v_i8 FROM t a JOIN d b ON a.g = b.g",
	} {
		got := answers(leakproof.Default, text, true)
		require.Equal(t, got[0], got[1], text)
		got = answers(leakproof.Default, text, false)
		require.NotEqual(t, got[0], got[1], text)
	}
	list := leakproof.MustRead(listText(t) + "\n[aggregate]\nfirst any_value\n")
	got := answers(list, "SELECT a.g, first(a.id), any_value(b.id) FROM t a JOIN d b ON a.g = b.g GROUP BY a.g ORDER BY 1", true)
	require.NotEqual(t, got[0], got[1])
}

// listText is the text of the list.
func listText(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("leakproof/leakproof.txt")
	require.NoError(t, err)
	return string(text)
}
