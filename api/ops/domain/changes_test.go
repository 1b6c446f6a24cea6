package domain_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/domain"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// silent is a catalog in which the holders of all changes have been silent for long.
type silent struct{ catalog.Store }

func (s silent) TakeValueChanges(ctx context.Context, holder string, _ time.Time) ([]catalog.ValueChange, error) {
	return s.Store.TakeValueChanges(ctx, holder, time.Now().Add(time.Hour))
}

// TestResumedChangesAreJudgedByTheirAuthor checks that a change of a value that another replica
// takes over is made only if its author may still make it then, by role and policies.
func TestResumedChangesAreJudgedByTheirAuthor(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*testing.T, *opstest.Lake, table.Created, catalog.UserID)
		want      string
	}{
		"nothing has changed": {nil, "new"},
		"rows are hidden now": {func(_ *testing.T, l *opstest.Lake, made table.Created, _ catalog.UserID) {
			l.Policy(made, catalog.PolicyRows, "", `permit (principal in Role::"viewer", action, resource);`)
		}, "old"},
		"a lower role": {func(t *testing.T, l *opstest.Lake, _ table.Created, author catalog.UserID) {
			_, err := l.Store.SetMemberRole(authz.System(t.Context(), "test"), l.Org.ID, author, catalog.RoleViewer)
			require.NoError(t, err)
		}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			made := l.Create("t", table.ColumnDefinition{Name: "c", Type: "string"})
			l.Insert("t", `[{"c": "old"}]`)
			system := authz.System(t.Context(), "test")
			author := l.Caller(l.Member(catalog.RoleBuilder)).User
			set, err := l.Store.SetColumnDomain(system, catalog.SystemViewer(l.Org.ID), made.ID, catalog.ColumnDomainAt{Column: "c"},
				catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}, Values: []catalog.NewDomainValue{{Value: "old"}}},
				l.Org.Owner)
			require.NoError(t, err)
			values := func() []catalog.DomainValue {
				found, err := l.Store.DomainValues(system, l.Org.ID, set.Domain.ID)
				require.NoError(t, err)
				return found.Values
			}
			target := catalog.DomainTarget{Org: l.Org.ID, Viewer: catalog.SystemViewer(l.Org.ID), Table: made.ID, Domain: set.Domain.ID}
			_, err = l.Store.BeginValueChange(system, target, catalog.ValueChange{Kind: catalog.ValueRename, Value: values()[0].ID, To: "new",
				By: author, Holder: "gone"})
			require.NoError(t, err)
			if c.meanwhile != nil {
				c.meanwhile(t, l, made, author)
			}
			store, log := silent{l.Store}, slog.New(slog.DiscardHandler)
			audit := caller.NewAuditor(system, l.Store, log)
			t.Cleanup(audit.Close)
			domains := domain.Service{Store: store, Tables: l.Tables, Queries: l.Queries, Writes: l.Writes, Confirmed: l.Queries.Confirmed}
			err = domain.NewChanges(domains, audit, log, "another").Resume(t.Context())
			if c.want == "new" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, catalog.ErrDenied)
			}
			require.Len(t, values(), 1)
			require.Equal(t, c.want, values()[0].Value)
			left, err := store.TakeValueChanges(system, "nobody", time.Now())
			require.NoError(t, err)
			require.Empty(t, left, "the change has ended")
		})
	}
}
