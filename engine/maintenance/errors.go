package maintenance

import "errors"

// ErrRetention: a vacuum asks for less retention than the table promises, and
// does not insist. 422 with field retention_hours.
var ErrRetention = errors.New("retention is shorter than the table's")
