package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// TestEveryTypeArrives checks that the parent accepts the rows of every type.
func TestEveryTypeArrives(t *testing.T) {
	s := open(t, newEngine(t, bareOptions()), "a")
	for _, value := range []string{
		"NULL", "true", "1::UTINYINT", "1::HUGEINT", "1.5::FLOAT", "1.5::DECIMAL(4,1)", "1.5::DECIMAL(30,1)", "'a'::BLOB", "'101'::BIT",
		"uuid()", "INTERVAL 1 DAY", "DATE '2024-01-01'", "TIME '01:02:03'", "TIMESTAMP '2024-01-01'", "TIMESTAMP_NS '2024-01-01'",
		"'x'::ENUM('x', 'y')", "['x', NULL]::ENUM('x', 'y')[]", "{'a': 'x'::ENUM('x'), 'b': 'z'::ENUM('z')}", "union_value(a := 1)",
		"[union_value(a := 'x')]", "[1, 2]::INTEGER[2]", "MAP {'k': [1]}", "[[[[1]]]]", "repeat('long', 100)",
	} {
		t.Run(value, func(t *testing.T) {
			rows := enginetest.Rows(t, s, engine.Statement{SQL: "SELECT " + value + " FROM range(3)"})
			require.Len(t, rows, 3)
		})
	}
}
