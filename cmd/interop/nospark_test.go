//go:build !interop

package interop

import (
	"testing"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// thorough: every engine writes after every step; otherwise they take turns.
const thorough = false

// spark is for runs with the build tag interop.
func spark(*testing.T, s3test.Server) []judge { return nil }
