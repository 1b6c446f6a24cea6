package sqlguard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// TestBatchesTellNothing: how a long answer is cut into batches follows from the
// rows that the caller sees, with one thread and with two.
func TestBatchesTellNothing(t *testing.T) {
	many := func(wild bool) map[string][]dataFile {
		if !wild {
			return map[string][]dataFile{"t": {{sql: visible(0, 30000)}}, "d": {{sql: visible(0, 9)}}}
		}
		var files []dataFile
		for i := range 10 {
			files = append(files, dataFile{sql: unionAll(hidden(0, 977*i, true), visible(3000*i, 3000*i+1500), hidden(0, 5000, true),
				visible(3000*i+1500, 3000*i+3000)),
				options: fmt.Sprintf(", ROW_GROUP_SIZE %d", 2048*(1+i%3))})
		}
		return map[string][]dataFile{"t": files, "d": {{sql: unionAll(visible(0, 9), hidden(0, 100000, false))}}}
	}
	for _, threads := range []int{1, 2} {
		w := worldsOf(t, threads, many)
		for _, text := range []string{
			"SELECT id, v_s, v_dec FROM t ORDER BY v_i32",
			"SELECT id, v_s FROM t ORDER BY v_s LIMIT 9000 OFFSET 10",
			"SELECT id, count(*), sum(v_dec * v_i8) FROM t GROUP BY id",
			"SELECT DISTINCT v_i64, v_d FROM t",
			"SELECT a.id, b.id AS other FROM t a JOIN d b ON a.g = b.g WHERE a.v_b ORDER BY 2 DESC",
			"SELECT v_s, count(*) FROM t GROUP BY v_s ORDER BY 2",
			"SELECT avg(v_dec), avg(v_i64), sum(v_dec) / sum(v_i8), min(v_ts), count(DISTINCT v_i64) FROM t",
			"SELECT g, avg(v_dec), avg(x_dec), avg(v_wide) FROM t GROUP BY g",
		} {
			plain, differs, detail := w.differ(t, leakproof.Default, text)
			require.True(t, plain, detail)
			require.False(t, differs, detail)
		}
	}
}
