package sqlguard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPredicatesSurviveThePrinter: every form of predicate that policies become
// can stand in a plain statement, and leaves the same rows as in a copy.
func TestPredicatesSurviveThePrinter(t *testing.T) {
	w := newTwoWorlds(t, 1)
	const text = "SELECT count(*), sum(id), max(v_s) FROM t WHERE v_i32 < 100 OR v_i32 IS NULL"
	for _, predicate := range []string{
		"TRUE", "FALSE", `"t"."v_b" = TRUE`, `"t"."v_b" = FALSE`, `"t"."v_b" IS NOT NULL`, `"t"."v_i8" = CAST(-5 AS TINYINT)`,
		`"t"."v_i64" >= CAST(9223372036854775807 AS BIGINT)`, `"t"."v_dec" <> CAST('1.5' AS DECIMAL(15,2))`, `"t"."v_d" > DATE '2020-01-05'`,
		`"t"."v_ts" < TIMESTAMP '2020-01-05 00:00:00.000'`, `"t"."v_tz" < TIMESTAMPTZ '2020-01-05 00:00:00.000+00'`,
		`"t"."v_s" = 'it''s'`, `"t"."v_s" IN ('a', 'day', 'ä€%_')`, `"t"."v_i32" NOT IN (CAST(1 AS INTEGER), CAST(2 AS INTEGER))`,
		`system.main.prefix("t"."v_s", 'da')`, `NOT (system.main.suffix("t"."v_s", 'y'))`, `system.main.contains("t"."v_s", ' ')`,
		`system.main.like_escape("t"."v_s", '%\%\_', '\')`, `system.main."~~"("t"."v_s", '%a%y')`, `NOT (system.main."~~"("t"."v_s", '%a%y'))`,
		`system.main.regexp_full_match("t"."v_s", '.*%_.*', 's')`, `NOT (system.main.regexp_full_match("t"."v_s", '.*%_.*', 's'))`,
		`(("t"."v_s" = 'day' AND "t"."v_b" = TRUE) OR ("t"."v_i32" > CAST(3 AS INTEGER) AND NOT ("t"."v_s" = 'x,y'))) AND ("t"."tenant" IS ` +
			`NULL OR "t"."tenant" <> 'c')`,
	} {
		q := parseFor(t, text)
		relations := w.relations(q, 1)
		relations[0].Predicate = predicate
		prepared, err := q.preparePlain(t.Context(), testParser(), relations, nil)
		require.NoError(t, err, predicate)
		require.NotNil(t, prepared, predicate)
		plan := prepared.Plan(relations, noArgs)
		q.opts.EngineVersion = ""
		copies, err := q.Bind(t.Context(), testParser(), relations)
		require.NoError(t, err)
		require.NotEmpty(t, copies.Barriers)
		require.Equal(t, w.answers(t, copies, 1), w.answers(t, plan, 1), predicate)
	}
}
