package auth

import (
	"time"

	"github.com/google/uuid"
)

// LiveSession is what a check of a token's session returns. The zero value means a
// session that has ended, was revoked or does not exist.
type LiveSession struct {
	// Until is the end of the session.
	Until time.Time
	// Org limits the session's tokens to one organisation; [uuid.Nil] means every
	// organisation of the user, and none.
	Org uuid.UUID
	// Program reports that the session belongs to an organisation's client, whose tokens
	// are not in the hands of the person.
	Program bool
}
