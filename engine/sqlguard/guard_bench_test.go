package sqlguard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// statementOf returns an ordinary statement of about n bytes.
func statementOf(n int) string {
	var s strings.Builder
	s.WriteString("SELECT id")
	for i := 0; s.Len() < n-400; i++ {
		fmt.Fprintf(&s, ", CASE WHEN amount > %d AND status IN ('open', 'paid') THEN lower(note) || '%d' ELSE NULL END AS c%d", i, i, i)
	}
	s.WriteString(" FROM orders o JOIN customers c ON c.id = o.customer_id WHERE placed >= DATE '2024-01-01' AND country = 'FR'")
	return s.String()
}

// BenchmarkGuard measures Parse and Bind together: all that a statement costs
// before it runs.
func BenchmarkGuard(b *testing.B) {
	w := newWorld(b, shopSetup, shopPredicates)
	for _, size := range []int{200, 2 << 10, 64 << 10} {
		text := statementOf(size)
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := sqlguard.Parse(b.Context(), sharedParser(), text, sqlguard.Options{})
				require.NoError(b, err)
				_, err = q.Bind(b.Context(), sharedParser(), w.relations(b, q, true))
				require.NoError(b, err)
			}
		})
	}
}
