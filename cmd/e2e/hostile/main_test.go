package hostile_test

import (
	"testing"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
)

// TestMain lets the servers of the tests accept the certificate of Azurite.
func TestMain(m *testing.M) { harness.Main(m, azuretest.Trust) }

// Short names of what JSON bodies and tables consist of.
type (
	object = map[string]any
	column = harness.Column
)
