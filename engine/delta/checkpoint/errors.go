package checkpoint

import "errors"

// ErrCorrupt: the file is not a valid checkpoint. Returned by [Read] and [DecodeLast].
// Not retried: the caller can use an older checkpoint or the commits instead.
var ErrCorrupt = errors.New("corrupt delta checkpoint")
