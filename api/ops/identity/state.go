package identity

import (
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth/session"
)

// ErrState is returned for the callback of a sign-in or link that was not started, is over,
// or was replaced by a later one, and for that of a sign-in of another browser: 400. Start
// again.
var ErrState = fault.New("invalid_state", "not started by this browser, or over")

// StateLife is the time that a person has to come back from a provider.
const StateLife = 10 * time.Minute

// stateError replaces the error of a missing state.
func stateError(err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return ErrState
	}
	return err
}
