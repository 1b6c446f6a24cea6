package storage_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// silent is a catalog in which the replicas of all moves have been silent for long.
type silent struct{ catalog.Store }

func (s silent) TakeMoves(ctx context.Context, holder string, _ time.Time) ([]catalog.Move, error) {
	return s.Store.TakeMoves(ctx, holder, time.Now().Add(time.Hour))
}

// unaudited is an audit log that stores nothing.
type unaudited struct{}

func (unaudited) Record(catalog.AuditEntry) {}

// TestResumedMovesAreJudgedByTheirAuthor checks that a move that another replica takes over is made
// only if its author may still make it then, by role and policies.
func TestResumedMovesAreJudgedByTheirAuthor(t *testing.T) {
	hide := func(t *testing.T, l *opstest.Lake, made table.Created, _ catalog.UserID) {
		l.Policy(made, catalog.PolicyRows, "", `permit (principal in Role::"viewer", action, resource);`)
	}
	for name, c := range map[string]struct {
		role      catalog.Role
		meanwhile func(*testing.T, *opstest.Lake, table.Created, catalog.UserID)
		want      string // empty for a move that is made
	}{
		"nothing has changed":     {catalog.RoleBuilder, nil, ""},
		"rows are hidden now":     {catalog.RoleBuilder, hide, "table_partly_visible"},
		"an administrator's role": {catalog.RoleAdmin, hide, "table_partly_visible"}, // its credential is not known
		"a lower role": {catalog.RoleBuilder, func(t *testing.T, l *opstest.Lake, _ table.Created, author catalog.UserID) {
			_, err := l.Store.SetMemberRole(authz.System(t.Context(), "test"), l.Org.ID, author, catalog.RoleViewer)
			require.NoError(t, err)
		}, "denied"},
		"no member any more": {catalog.RoleBuilder, func(t *testing.T, l *opstest.Lake, _ table.Created, author catalog.UserID) {
			require.NoError(t, l.Store.RemoveMember(authz.System(t.Context(), "test"), l.Org.ID, author))
		}, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			made := l.Create("t", table.ColumnDefinition{Name: "n", Type: "long"})
			l.Insert("t", `[{"n": 1}]`)
			system := authz.System(t.Context(), "test")
			author := l.Caller(l.Member(c.role)).User
			source, err := l.Store.Table(system, catalog.SystemViewer(l.Org.ID), made.ID)
			require.NoError(t, err)
			from, to := catalog.Place{Config: l.Config.ID, Path: source.Path}, catalog.Place{Config: l.Config.ID, Path: "moved"}
			begun, err := l.Store.BeginMove(system, catalog.NewMove{ID: catalog.NewID[catalog.MoveID](), Org: l.Org.ID, User: author,
				Holder: "gone", Source: from, Target: to, Fingerprint: "f"})
			require.NoError(t, err)
			if c.meanwhile != nil {
				c.meanwhile(t, l, made, author)
			}
			moves := storage.NewMoves(storage.MoveOptions{
				Store: silent{l.Store}, Lake: l.Data, Tables: l.Tables, Leases: l.Writes.Leases, Audit: unaudited{}, Holder: "another",
				Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Refresh: func(catalog.StorageConfig) {},
				Oldest: func(current uint64) uint64 { return current }, Longest: time.Second,
				Describe: func(err error) catalog.OperationProblem {
					switch {
					case errors.Is(err, access.ErrPartlyVisible):
						return catalog.OperationProblem{Code: "table_partly_visible"}
					case errors.Is(err, catalog.ErrDenied):
						return catalog.OperationProblem{Code: "denied"}
					case errors.Is(err, catalog.ErrNotFound):
						return catalog.OperationProblem{Code: "not_found"}
					}
					return catalog.OperationProblem{Code: err.Error()}
				},
			})
			running, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				moves.Run(running)
			}()
			t.Cleanup(func() { stop(); <-done })
			var ended catalog.Move
			require.Eventually(t, func() bool {
				ended, err = l.Store.Move(system, l.Org.ID, begun.ID)
				require.NoError(t, err)
				return ended.State.Ended()
			}, time.Minute, 20*time.Millisecond)
			now, err := l.Store.Table(system, catalog.SystemViewer(l.Org.ID), made.ID)
			require.NoError(t, err)
			if c.want == "" {
				require.Equal(t, []any{catalog.MoveDone, "moved"}, []any{ended.State, now.Path})
				return
			}
			require.Equal(t, []any{catalog.MoveFailed, source.Path}, []any{ended.State, now.Path})
			require.Equal(t, c.want, ended.Problem.Code)
		})
	}
}
