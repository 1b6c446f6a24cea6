package catalog

import (
	"encoding/json"
	"time"
)

// WriteKey is the record of a request that changes rows under an idempotency key.
type WriteKey struct {
	// Fingerprint identifies the content of the request.
	Fingerprint string
	// Reply is nil until the request has succeeded.
	Reply json.RawMessage
	// ClaimedAt is the time of the earlier request with the key, or zero for the first.
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
