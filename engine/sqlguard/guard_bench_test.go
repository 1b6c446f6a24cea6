package sqlguard_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// StatementOf returns an ordinary statement of about n bytes.
func statementOf(n int) string {
	var s strings.Builder
	s.WriteString("SELECT id")
	for i := 0; s.Len() < n-400; i++ {
		fmt.Fprintf(&s, ", CASE WHEN amount > %d AND status IN ('open', 'paid') THEN lower(note) || '%d' ELSE NULL END AS c%d", i, i, i)
	}
	s.WriteString(" FROM orders o JOIN customers c ON c.id = o.customer_id WHERE placed >= DATE '2024-01-01' AND country = 'FR'")
	return s.String()
}

// refusedOf returns a statement of about n bytes that is refused for its last
// term only.
func refusedOf(n int) string {
	var s strings.Builder
	s.WriteString("SELECT count(*) FROM region WHERE ")
	for i := 0; s.Len() < n-80; i++ {
		fmt.Fprintf(&s, "(r_name = 'EUROPE' AND length(r_comment) > %d) OR ", i)
	}
	return s.String() + "no_such_function(r_name)"
}

// BenchmarkRefuse measures the refusal of a statement, and what of it is the
// engine's own parser.
func BenchmarkRefuse(b *testing.B) {
	for _, size := range []int{2 << 10, 64 << 10} {
		text := refusedOf(size)
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := sqlguard.Parse(b.Context(), sharedParser(), text, sqlguard.Options{})
				require.NotEmpty(b, codeOf(err))
			}
		})
		b.Run(fmt.Sprintf("%dB/engine", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree, err := sharedParser().Serialize(b.Context(), text)
				require.NoError(b, err)
				b.ReportMetric(float64(len(tree)), "tree-bytes")
			}
		})
	}
}

// BenchmarkParse measures the validation of a statement.
func BenchmarkParse(b *testing.B) {
	bench(b, func(text string, _ *world) {
		_, err := sqlguard.Parse(b.Context(), sharedParser(), text, sqlguard.Options{})
		require.NoError(b, err)
	})
}

// BenchmarkParseAndBind measures all that a statement costs before it runs:
// validation, printing, and parsing what was printed.
func BenchmarkParseAndBind(b *testing.B) {
	bench(b, func(text string, w *world) {
		q, err := sqlguard.Parse(b.Context(), sharedParser(), text, sqlguard.Options{})
		require.NoError(b, err)
		_, err = q.Bind(b.Context(), sharedParser(), w.relations(b, q, true))
		require.NoError(b, err)
	})
}

func bench(b *testing.B, run func(text string, w *world)) {
	b.Helper()
	w := newWorld(b, shopSetup, shopPredicates)
	for _, size := range []int{200, 2 << 10, 64 << 10} {
		text := statementOf(size)
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			before, runs := cpu(b), 0
			for ; b.Loop(); runs++ {
				run(text, w)
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(runs), "cpu-ms/op")
		})
	}
}

// cpu is the processor time of this process: unlike the clock it does not count
// what else runs on the machine.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
