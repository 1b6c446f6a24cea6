package admin_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Policies that were stored before their types were checked show nothing and hide rows, and both
// the start of the server and a simulation list them.
func TestStoredPoliciesOfAnotherType(t *testing.T) {
	l := opstest.New(t)
	first := l.Create("first", table.ColumnDefinition{Name: "n", Type: "long", Nullable: true})
	second := l.Create("second", table.ColumnDefinition{Name: "n", Type: "long", Nullable: true})
	third := l.Create("third", table.ColumnDefinition{Name: "n", Type: "long", Nullable: true})
	for _, name := range []string{"first", "second", "third"} {
		l.Insert(name, `[{"n":1},{"n":5}]`)
	}
	l.Policy(first, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource.n == "5" };`)
	l.Policy(second, catalog.PolicyRows, "", `permit (principal, action, resource);`)
	l.Policy(second, catalog.PolicyRows, "", `forbid (principal, action, resource) when { resource.n == "5" };`)
	l.Policy(third, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource.n == 5 };`)

	var log bytes.Buffer
	policies := admin.Policies{Store: l.Store, Lake: l.Data}
	require.NoError(t, policies.ReportUndecidable(authz.System(t.Context(), "test"), slog.New(slog.NewTextHandler(&log, nil))))
	require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
	require.Contains(t, log.String(), string(first.DeltaID))
	require.Contains(t, log.String(), string(second.DeltaID))

	simulation := admin.Simulation{Store: l.Store, Lake: l.Data, Tables: l.Tables, Queries: l.Queries}
	for name, want := range map[string]struct {
		rows     int64
		warnings int
	}{"first": {0, 1}, "second": {0, 1}, "third": {1, 0}} {
		ctx := l.Member(catalog.RoleAdmin)
		seen, err := simulation.Run(ctx, l.Org.ID, admin.SimulationInput{
			TableFQN: "lake." + l.Config.Schema() + "." + name, Role: "viewer",
		})
		require.NoError(t, err)
		require.Equal(t, want.rows, seen.VisibleRows, name)
		require.Len(t, seen.Warnings, want.warnings, name)
		for _, w := range seen.Warnings {
			require.Equal(t, "wrong_type", w.Code)
			require.Equal(t, "n", w.Column)
		}
	}
}
