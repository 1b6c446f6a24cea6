package sandbox

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/workdir"
)

// NewTempDir makes an engine's directory for spilling below base.
func NewTempDir(base string) (*workdir.Dir, error) {
	dir, err := workdir.New(base, "lakewarden-engine-")
	if err != nil {
		return nil, err
	}
	if strings.Contains(dir.Path(), "%") {
		_ = dir.Remove() // it is empty
		return nil, fmt.Errorf("temporary directory %s: a percent sign in the path would be decoded by the delta extension", base)
	}
	return dir, nil
}
