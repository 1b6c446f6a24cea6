package ops

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// ErrNeedsIsolation: the engine would read the log of a remote table itself, and
// runs in this process. Its log reader ends the process when a statement stops
// early (it frees connections outside of its runtime), which only a process of
// its own may suffer. Serve with isolation, or keep the table in a form that our
// own lists of files can read: 409.
var ErrNeedsIsolation error = &failure{"isolation_required", "reading this table needs isolation"}

// survives refuses a plan that could end the server.
func (o *Queries) survives(plan *sqlguard.Plan) error {
	if o.Isolated {
		return nil
	}
	for _, b := range plan.Barriers {
		if readsRemoteLog(b.Source) {
			return ErrNeedsIsolation
		}
	}
	for _, src := range plan.Sources {
		if readsRemoteLog(src) {
			return ErrNeedsIsolation
		}
	}
	return nil
}

func readsRemoteLog(src engine.Source) bool {
	return src.Files == nil && strings.Contains(src.Location, "://")
}
