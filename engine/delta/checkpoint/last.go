package checkpoint

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Last is the content of `_last_checkpoint`, a hint at the newest checkpoint that may
// be outdated.
type Last struct {
	Version int64 `json:"version"`
	// Size is the number of actions.
	Size          int64  `json:"size"`
	Parts         *int   `json:"parts,omitempty"`
	SizeInBytes   *int64 `json:"sizeInBytes,omitempty"`
	NumOfAddFiles *int64 `json:"numOfAddFiles,omitempty"`
}

// EncodeLast encodes the hint.
func EncodeLast(l Last) ([]byte, error) { return json.Marshal(l) }

// DecodeLast decodes the hint. The error is [ErrCorrupt]; callers can continue without
// the hint.
func DecodeLast(body []byte) (Last, error) {
	l := Last{Version: -1}
	if err := json.Unmarshal(body, &l); err != nil || l.Version < 0 {
		return Last{}, fmt.Errorf("last checkpoint hint: %w", ErrCorrupt)
	}
	return l, nil
}
