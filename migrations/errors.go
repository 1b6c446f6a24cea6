package migrations

import "errors"

var (
	// ErrUnknownSchema is returned by [Apply] and [Check] if the database has a
	// migration that this binary does not know, because a newer release has
	// migrated it. The server must not start; install that release.
	ErrUnknownSchema = errors.New("database schema is newer than this program")
	// ErrPending is returned by [Check] when migrations are missing. Run
	// [Apply], then check again.
	ErrPending = errors.New("database schema is older than this program")
)
