package refusal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

func TestNear(t *testing.T) {
	require.Equal(t, []string{"lower"}, refusal.Near("lowr", []string{"upper", "lower", "sum"}))
	require.Equal(t, []string{"date_trunc"}, refusal.Near("date_trun", []string{"date_trunc", "substr"}))
	require.Empty(t, refusal.Near("zzzzzz", []string{"upper", "lower"}))
	require.Len(t, refusal.Near("co1", []string{"col", "con", "cos", "cot"}), 3)
}
