package sqlguard_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxParseBytes is what Parse may allocate for one statement, however hostile.
const maxParseBytes = 64 << 20

// wideRow is a subquery of n columns.
func wideRow(n int) string { return "(SELECT " + joined(n, "1 c#", ", ") + ")" }

// costly are statements that name much with little text: whole rows, structs that
// merge, and names that are looked up in many relations.
var costly = []struct{ name, text string }{
	{"whole rows", "SELECT [" + joined(4000, "t", ",") + "] FROM " + wideRow(8000) + " t"},
	{"whole rows of many lists", "SELECT " + joined(1500, "t", ",") + " FROM " + wideRow(9000) + " t"},
	{"whole rows in a call", "SELECT hash(" + joined(9000, "t", ",") + ") FROM " + wideRow(9000) + " t"},
	{"whole rows in conditions", "SELECT 1 FROM " + wideRow(9000) + " t WHERE " + joined(4000, "t IS NULL", " AND ")},
	{"whole rows in groups", "SELECT 1 FROM " + wideRow(9000) + " t GROUP BY " + joined(2000, "hash(t)", ",")},
	{"whole rows in orders", "SELECT 1 FROM " + wideRow(9000) + " t ORDER BY " + joined(4000, "t", ",")},
	{"whole rows in subqueries", "SELECT " + joined(2000, "(SELECT t)", ",") + " FROM " + wideRow(9000) + " t"},
	{"whole rows in COLUMNS", "SELECT [" + "COLUMNS(*), t] FROM " + wideRow(9000) + " t"},
	{"rows of two relations in turn", "SELECT [" + joined(2000, "t,u", ",") + "] FROM " + wideRow(4000) + " t, (SELECT " +
		joined(4000, "1 d#", ", ") + ") u"},
	{"rows of many relations", "SELECT [" + joined(30, "t#", ",") + "] FROM " + joined(30, "(SELECT "+joined(300, "1 x#", ", ")+") t#", ", ")},
	{"members of whole rows", "SELECT " + joined(2000, "t.*", ",") + " FROM (SELECT t FROM " + wideRow(9000) + " t)"},
	{"unnested rows", "SELECT " + joined(2000, "unnest(t)", ",") + " FROM " + wideRow(9000) + " t"},
	{"rows unnested wholly", "SELECT " + joined(2000, "unnest(t, recursive := true)", ",") + " FROM " + wideRow(9000) + " t"},
	{"unnested lists of rows", "SELECT unnest([t, COLUMNS(*)], recursive := true) FROM " + wideRow(9000) + " t"},
	{"structs in a list", "SELECT [{" + joined(6000, "'a#': 1", ",") + "}, " + joined(6000, "{'b#': 1}", ",") + "]"},
	{"structs in a UNION", "SELECT {" + joined(4000, "'a#': 1", ",") + "} x" + joined(60, " UNION ALL SELECT {'b#': 1}", "")},
	{"structs in VALUES", "VALUES ({" + joined(6000, "'a#': 1", ",") + "}), " + joined(6000, "({'b#': 1})", ",")},
	{"structs in a CASE", "SELECT CASE WHEN 1 = 2 THEN {" + joined(5000, "'a#': 1", ",") + "} " +
		joined(3000, "WHEN 1 = 2 THEN {'b#': 1}", " ") + " END"},
	{"structs of names", "SELECT 1 c0, " + joined(60, "{'a': c#, 'b': c#} AS c#+", ", ")},
	{"lists of structs of names", "SELECT [1] c0, " + joined(40, "[{'a': c#, 'b': c#}, {'a': c#, 'b': c#}] AS c#+", ", ")},
	{"merged structs of names", "SELECT 1 c0, 1 d0, " + joined(14, "{'a': c#, 'b': c#} AS c#+, {'a': d#, 'b': d#} AS d#+", ", ") + ", [" +
		joined(3000, "c14,d14", ",") + "]"},
	{"casts in COLUMNS", "SELECT COLUMNS(*)::STRUCT(" + joined(5000, "a# INT", ",") + ") FROM " + wideRow(6000)},
	{"casts in a list of COLUMNS", "SELECT len([COLUMNS(*)::STRUCT(" + joined(5000, "a# INT", ",") + ")]) FROM " + wideRow(6000)},
	{"structs in COLUMNS", "SELECT len([{" + joined(100, "'a#': COLUMNS(*)", ",") + "}]) FROM " + wideRow(9000)},
	{"terms in COLUMNS", "SELECT COLUMNS(*)" + strings.Repeat(" + 1", 200) + " FROM " + wideRow(9000)},
	{"arguments in COLUMNS", "SELECT concat(" + joined(1000, "COLUMNS(*)", ",") + ") FROM " + wideRow(9000)},
	{"unpacked in COLUMNS", "SELECT coalesce(COLUMNS(*), *COLUMNS(*)) FROM " + wideRow(9000)},
	{"packed COLUMNS", "SELECT " + joined(2000, "struct_pack(*COLUMNS(*))", ", ") + " FROM " + wideRow(9000)},
	{"rows without names", "SELECT " + joined(2000, "row(*COLUMNS(*))", ", ") + " FROM " + wideRow(9000)},
	{"excluded columns", "SELECT 1" + strings.Repeat(", * EXCLUDE (c1)", 4000) + " FROM " + wideRow(9000)},
	{"replaced columns", "SELECT " + joined(300, "* REPLACE ("+joined(30, "# AS c#", ", ")+")", ", ") + " FROM " + wideRow(9000)},
	{"renamed columns", "SELECT " + joined(300, "* RENAME ("+joined(30, "c# AS d#", ", ")+")", ", ") + " FROM " + wideRow(9000)},
	{"stars", "SELECT " + strings.Repeat("*, ", 9000) + "1 FROM " + wideRow(9000)},
	{"stars of no relation", "SELECT " + joined(4000, "z.*", ", ") + " FROM " + joined(30, "w t#", ", ")},
	{"columns of no relation", "SELECT " + joined(9000, "zz", ", ") + " FROM " + joined(30, "w t#", ", ")},
	{"columns of relations of one name", "SELECT " + joined(9000, "t.zz", ", ") + " FROM " + joined(30, "w t", ", ")},
	{"results named as columns", "SELECT " + joined(4500, "1 x#, x#", ", ") + " FROM " + joined(30, "w t#", ", ")},
	{"results named as many columns", "WITH c AS " + wideRow(3000) + " SELECT " + joined(3000, "1 c#, c#", ", ") + " FROM " +
		joined(30, "c t#", ", ")},
	{"many relations joined by name", "SELECT 1 FROM " + wideRow(9000) + " t NATURAL JOIN (" + joined(30, "w t#", " CROSS JOIN ") + ")"},
	{"many relations joined by USING", "SELECT 1 FROM " + wideRow(9000) + " t JOIN (" + joined(30, "w t#", " CROSS JOIN ") + ") USING (" +
		joined(9000, "c#", ", ") + ")"},
	{"natural joins in turn", "SELECT 1 FROM " + wideRow(9000) + " t" + joined(30, " NATURAL JOIN w t#", "")},
	{"aliases of a wide query", "WITH c AS " + wideRow(9000) + " SELECT 1 FROM " + joined(30, "c AS t#(x)", ", ")},
	{"references to a wide query", "WITH c AS " + wideRow(9000) + " SELECT " + joined(60, "(SELECT c FROM c)", ", ")},
	{"wide queries in WITH", chain(60, "SELECT "+joined(9000, "1 c#", ", "), "FROM #p", "SELECT 1 FROM #n")},
	{"wide unions", "WITH c AS " + wideRow(9000) + " FROM c" + strings.Repeat(" UNION ALL FROM c", 60)},
	{"wide unions by name", "WITH c AS " + wideRow(9000) + " FROM c" + strings.Repeat(" UNION ALL BY NAME FROM c", 60)},
	{"pivots", "WITH c AS " + wideRow(9000) + " SELECT 1 FROM " + joined(30, "(PIVOT c ON c0 IN (1) USING count(*)) t#", ", ")},
	{"names in deep scopes", "SELECT " + inside(60, "(SELECT ", joined(9000, "zz", "+1, ")[:20000]+"z", ")") + " FROM w"},
	{"names in nested subqueries", "SELECT 1 FROM w WHERE " + inside(60, "EXISTS (SELECT 1 WHERE ", joined(200, "z# > 1", " AND "), ")")},
	{"lambdas over rows", "SELECT " + joined(2000, "list_transform([t], lambda x: x)", ", ") + " FROM " + wideRow(9000) + " t"},
	{"names with many parts", "SELECT " + joined(200, "t"+strings.Repeat(".a", 200), ", ") + " FROM " + wideRow(9000) + " t"},
	{"rows as members", "SELECT {'a': t, 'b': t}" + strings.Repeat(", {'a': t, 'b': t}", 3000) + " FROM " + wideRow(9000) + " t"},
	{"windows over rows", "SELECT " + joined(1000, "count(*) OVER (PARTITION BY t)", ", ") + " FROM " + wideRow(9000) + " t"},
	{"rows in subqueries of WITH", "WITH c AS (SELECT t FROM " + wideRow(9000) + " t) SELECT " +
		joined(50, "(SELECT [c,c,c,c,c,c,c,c] FROM c)", ", ")},
	{"rows in VALUES", "FROM " + wideRow(9000) + " t, LATERAL (VALUES " + joined(9000, "(t)", ", ") + ") u"},
	{"subqueries in COLUMNS", "SELECT COLUMNS(*) + (SELECT max(x) FROM (SELECT " + joined(200, "# AS x#", ", ") + ", 1 AS x)) FROM " +
		wideRow(5000)},
	{"excluded names in COLUMNS", "SELECT COLUMNS(*) + coalesce(*COLUMNS(* EXCLUDE (" + joined(4000, "c#", ", ") + "))) FROM " +
		wideRow(9000)},
	{"recursions", "WITH RECURSIVE c AS (SELECT * FROM " + wideRow(9000) + " UNION ALL SELECT [" + joined(3000, "c", ", ") +
		"] FROM c) FROM c"},
	{"long names", "SELECT " + joined(900, strings.Repeat("x", 240)+"#", ", ") + " FROM w"},
	{"short names", "SELECT " + joined(6, "["+strings.Repeat("c,", 9900)+"c]", ", ") + " FROM w"},
	{"constants in lists", "SELECT " + joined(13, "["+strings.Repeat("1,", 9600)+"1]", ", ")},
	{"names in lists", "SELECT " + joined(13, "["+strings.Repeat("a,", 9600)+"a]", ", ") + " FROM w"},
	{"structs in COLUMNS next to long lists", "SELECT len([{" + joined(100, "'a#': COLUMNS(*)", ",") + "}]), " +
		joined(8, "["+strings.Repeat("a,", 9600)+"a]", ", ") + " FROM " + wideRow(9000)},
	{"merged structs next to long lists", "SELECT " + joined(6, "["+strings.Repeat("a,", 9600)+"a]", ", ") + ", [{" +
		joined(6000, "'a#': 1", ",") + "}, " + joined(3000, "{'b#': 1}", ",") + "] FROM w"},
	{"members next to long lists", "SELECT " + joined(8, "["+strings.Repeat("a,", 9600)+"a]", ", ") + ", " +
		joined(900, "unnest(t, recursive := true)", ", ") + " FROM " + wideRow(7000) + " t"},
	{"lists of lists", "SELECT " + joined(4000, "[[[[[1]]]]]", ", ")},
	{"calls", "SELECT " + joined(9900, "abs(c#)", ", ") + " FROM w"},
	{"conditions", "SELECT 1 FROM w WHERE " + joined(9000, "c# = d#", " AND ")},
	{"long list", "SELECT 1 IN (" + numbers(9900) + ")"},
	{"long lists", "SELECT " + joined(10, "1 IN ("+numbers(4500)+")", ", ")},
	{"long select list", "SELECT " + joined(9900, "c# + 1 AS d#", ", ") + " FROM w"},
}

// TestPlanSizeIsCheap: finding out how large a plan would be takes little itself,
// because the server does it outside of every limit of the engine.
func TestPlanSizeIsCheap(t *testing.T) {
	parse(t, "SELECT 1") //nolint:errcheck // starts the parser
	for _, c := range costly {
		t.Run(c.name, func(t *testing.T) {
			require.Less(t, len(c.text), 256<<10)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parse(t, c.text)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB of text, %d MiB, %v", len(c.text)>>10, allocated>>20, err)
			require.LessOrEqual(t, allocated, uint64(maxParseBytes), "%v", err)
		})
	}
}
