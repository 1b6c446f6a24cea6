package checkpoint

import "errors"

// ErrCorrupt: the file is not a checkpoint. Returned by [Read]; not retried.
// The caller may fall back to an older checkpoint or to the commits.
var ErrCorrupt = errors.New("corrupt delta checkpoint")
