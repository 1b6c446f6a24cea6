package kill_test

import (
	"testing"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Short names of what JSON bodies and tables consist of.
type (
	object = map[string]any
	list   = []any
)
