package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// TestAttacksOnTheSandbox: the guard refuses every attack on the engine's sandbox, or
// finds nothing in it but names of tables, which resolve through the catalog.
func TestAttacksOnTheSandbox(t *testing.T) {
	for _, sql := range sandbox.Attacks("/outside") {
		t.Run(sql, func(t *testing.T) {
			query, err := sqlguard.Parse(t.Context(), sharedParser(), sql, sqlguard.Options{})
			if err == nil {
				require.NotEmpty(t, query.Tables())
				return
			}
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
		})
	}
}
