package duckdb_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSandboxHolds(t *testing.T) {
	require.NoError(t, newEngine(t).Probe(context.Background()))
}
