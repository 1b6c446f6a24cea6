package constraint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
)

// likeLetters holds the letters of texts and patterns.
const likeLetters = "aAéÉß!%_."

func likeText(r *rapid.T, label string, most int) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune(likeLetters)), 0, most, -1).Draw(r, label)
}

// TestPatternsMatchAsInTheEngine compares checks with LIKE with the engine's own
// answer to the same condition.
func TestPatternsMatchAsInTheEngine(t *testing.T) {
	s, schema := scope(t), columns(t, "name", "string", "note", "string")
	rapid.Check(t, func(r *rapid.T) {
		operator := rapid.SampledFrom([]string{"LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"}).Draw(r, "operator")
		pattern := engine.QuoteString(likeText(r, "pattern", 8))
		if rapid.Bool().Draw(r, "long") {
			pattern = engine.QuoteString(likeText(r, "tail", 3) + strings.Repeat("%_a", 60) + "%")
		}
		if rapid.IntRange(0, 3).Draw(r, "computed") == 0 {
			pattern = "note"
		}
		condition := "name " + operator + " " + pattern
		escape := ""
		if !strings.HasSuffix(operator, "ILIKE") {
			escape = rapid.SampledFrom([]string{"", "!", "%", "_", "a"}).Draw(r, "escape")
			condition += " ESCAPE " + engine.QuoteString(escape)
		}
		check, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, condition)
		if err != nil {
			require.ErrorContains(r, err, "ends with its escape character")
			return
		}
		rows := []string{"(NULL, 'a')", "('a', NULL)"}
		for range 20 {
			text, other := likeText(r, "text", 12), likeText(r, "other", 6)
			if strings.Count(other, "%") > 3 || escape != "" && strings.HasSuffix(other, escape) {
				other = "%b" // the engine's answer would be an error, or no check's
			}
			rows = append(rows, "("+engine.QuoteString(text)+", "+engine.QuoteString(other)+")")
		}
		where := func(condition string) constraint.Relation {
			return constraint.Relation{From: "(SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(name, note) WHERE " + condition + ")"}
		}
		count := func(rule constraint.Rule, rows constraint.Relation) int64 {
			n, err := s.CountBroken(t.Context(), rule, rows)
			require.NoError(r, err, condition)
			return n
		}
		fulfilled, other := where("coalesce(TRY("+condition+"), false)"), where("NOT coalesce(TRY("+condition+"), false)")
		rule := constraint.CheckRule("c", check)
		require.Zero(r, count(rule, fulfilled), "%s of %v", condition, rows)
		require.Equal(r, count(constraint.RowFilter("false"), other), count(rule, other), "%s of %v", condition, rows)
	})
}

// TestManyWildcardsTakeLinearTime checks patterns for which backtracking to every wildcard
// would take years.
func TestManyWildcardsTakeLinearTime(t *testing.T) {
	s, schema := scope(t), columns(t, "name", "string", "note", "string")
	text := "repeat('a', 5000)"
	for condition, broken := range map[string]int64{
		"name LIKE '" + strings.Repeat("%a", 12) + "%b'":             1,
		"name LIKE '" + strings.Repeat("%a", 12) + "!%b' ESCAPE '!'": 1,
		"name LIKE '" + strings.Repeat("%a_", 12) + "b'":             1,
		"name LIKE '" + strings.Repeat("%_", 400) + "b'":             1,
		"name LIKE '" + strings.Repeat("%a_", 300) + "'":             0,
		"name NOT LIKE '" + strings.Repeat("%a_", 12) + "b'":         0,
		"name ILIKE '" + strings.Repeat("%A_", 12) + "b'":            1,
		"name ILIKE '" + strings.Repeat("%A", 12) + "b'":             1,
		"name LIKE note":                                                 1, // too long for such a pattern
		"name NOT LIKE note ESCAPE '!'":                                  1,
		"coalesce(name LIKE note, true)":                                 1,
		"NOT coalesce(name LIKE note, false)":                            1,
		"(name LIKE note) IS NULL":                                       1,
		"name = 'a' OR coalesce(name LIKE note || '!' ESCAPE '!', true)": 1,
		"name ILIKE note || 'b'":                                         1,
		"name LIKE left(note, 0) || '%' OR name LIKE left(note, 1)":      1,
		"left(name, 900) LIKE left(note, 0) || 'a%'":                     0,
		"left(name, 40) LIKE left(note, 6) || '%' AND length(name) > 1":  0,
	} {
		n, err := s.CountBroken(t.Context(), check(t, schema, "c", condition),
			constraint.Relation{From: "(SELECT " + text + " AS name, repeat('%a', 12) AS note)"})
		require.NoError(t, err, condition)
		require.Equal(t, broken, n, condition)
	}
}

// TestUnusablePatternsAreRefused checks that patterns that are too long or malformed are
// refused with a reason, also those of constraints in the log.
func TestUnusablePatternsAreRefused(t *testing.T) {
	schema := columns(t, "name", "string", "note", "string")
	for text, reason := range map[string]string{
		"name LIKE '" + strings.Repeat("a", 1001) + "'":  "the pattern of LIKE is longer than 1000 bytes",
		"name ILIKE '" + strings.Repeat("a", 1001) + "'": "the pattern of LIKE is longer than 1000 bytes",
		"name LIKE '%a!' ESCAPE '!'":                     "the pattern of LIKE ends with its escape character",
		"name LIKE 'a' ESCAPE 'ab'":                      "the ESCAPE of LIKE is not a constant of one ASCII character",
		"name LIKE 'a' ESCAPE 'é'":                       "the ESCAPE of LIKE is not a constant of one ASCII character",
		"name LIKE 'a' ESCAPE note":                      "the ESCAPE of LIKE is not a constant of one ASCII character",
		strings.Repeat("name LIKE '_' OR ", 32) +
			"name LIKE note": "it has more than 32 calls of LIKE whose pattern has _ or ESCAPE or is not constant",
		strings.Repeat("name LIKE 'a%' OR ", 32) + "name LIKE note":     "",
		strings.Repeat("name LIKE '_' OR ", 31) + "name NOT LIKE '%_a'": "",
	} {
		_, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
		if reason == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, reason, text)
	}
	s := created(t, schema, map[string]string{"delta.constraints.long": "name LIKE '" + strings.Repeat("_", 1001) + "'"})
	_, err := constraint.Of(s)
	require.ErrorContains(t, err, "CHECK constraint long")
	require.ErrorContains(t, err, "the pattern of LIKE is longer than 1000 bytes")
	s = created(t, schema, map[string]string{"delta.constraints.wild": "name LIKE '" + strings.Repeat("%_a", 99) + "'"})
	_, err = constraint.Of(s)
	require.NoError(t, err, "a table with such a constraint can be written to")
}
