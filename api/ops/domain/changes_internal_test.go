package domain

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// taken is a catalog in which another replica has every change. Other methods panic.
type taken struct{ catalog.Store }

func (taken) RenewValueChange(context.Context, catalog.ValueChangeID, string) error {
	return catalog.ErrNotFound
}

// TestChangesOfOtherReplicasAreNotWithdrawn: the other replica may have completed the change.
// Then the rows with the new text are right.
func TestChangesOfOtherReplicasAreNotWithdrawn(t *testing.T) {
	c := NewChanges(Service{Store: taken{}}, nil, slog.New(slog.DiscardHandler), "replica")
	change := catalog.ValueChange{Kind: catalog.ValueRename, From: "a", To: "b"}
	require.NoError(t, c.withdraw(t.Context(), caller.Identity{}, change))
}
