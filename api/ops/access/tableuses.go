package access

import (
	"context"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// UseInterval is the time for which a recorded use of a table in a sandbox covers further
// ones. A table was used up to that long after its recorded use.
const UseInterval = time.Hour

// tableUses holds the recorded uses of tables in sandboxes.
type tableUses struct {
	mu sync.Mutex
	at map[catalog.TableID]time.Time
}

// due reports whether a use has to be recorded, and that it will be.
func (u *tableUses) due(table catalog.TableID, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.at[table]) < UseInterval {
		return false
	}
	if len(u.at) >= maxRemembered {
		clear(u.at)
	}
	u.at[table] = now
	return true
}

func (u *tableUses) forget(table catalog.TableID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.at, table)
}

// used records a use of a table in a sandbox, where tables that nobody uses are dropped.
func (o Tables) used(ctx context.Context, t catalog.LocatedTable) error {
	if !t.StorageConfig.Sandbox || !o.memory.uses.due(t.ID, time.Now()) {
		return nil
	}
	err := o.store.UseTable(authz.System(ctx, "use of a table"), t.ID)
	if err != nil {
		o.memory.uses.forget(t.ID)
	}
	return err
}
