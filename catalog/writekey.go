package catalog

import (
	"encoding/json"
	"time"
)

// WriteKey is what is kept of a request that changes rows under an idempotency
// key.
type WriteKey struct {
	// Fingerprint says what was asked for.
	Fingerprint string
	// Reply is nil until the request has succeeded.
	Reply json.RawMessage
	// ClaimedAt is when an earlier request came with the key; zero for the first.
	ClaimedAt time.Time
}

// ValidateWriteKey returns nil or [FieldErrors] for the hash of an idempotency key
// and a fingerprint.
func ValidateWriteKey(key, fingerprint string) error {
	var e FieldErrors
	e.text("key", key, 1, 128)
	e.text("fingerprint", fingerprint, 1, 128)
	return e.Err()
}

// ValidateWriteReply returns nil or [FieldErrors].
func ValidateWriteReply(reply json.RawMessage) error {
	var e FieldErrors
	e.object("reply", reply, 4096)
	return e.Err()
}
