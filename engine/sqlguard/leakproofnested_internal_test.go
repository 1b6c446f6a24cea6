package sqlguard

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbers writes random expressions of numbers: what stands beside what decides
// their types, literals most of all.
type numbers struct{ pieces }

var literals = []string{"0", "1", "7", "100", "127", "128", "-128", "300", "32767", "32768", "-32768", "40000", "2147483647", "2147483648",
	"3000000000",
	"0.5", "1.5", "99.99", "0.001", "12345678901.5", "NULL"}

func (r numbers) expression(depth int) string {
	if depth == 0 || r.IntN(8) == 0 {
		if r.IntN(2) == 0 {
			return r.one(literals...)
		}
		return r.one(slices.Concat(ofKind("integer"), ofKind("decimal"))...)
	}
	a, b, c := r.expression(depth-1), r.expression(depth-1), r.expression(depth-1)
	switch r.IntN(9) {
	case 0:
		return "coalesce(" + a + ", " + b + ", " + c + ")"
	case 1:
		return "CASE WHEN v_b THEN " + a + " WHEN x_b THEN " + b + " ELSE " + c + " END"
	case 2:
		return "CASE WHEN v_b THEN " + a + " ELSE " + b + " END"
	case 3:
		return "(" + a + " % " + strconv.Itoa(1+r.IntN(1000)) + ")"
	case 4:
		return "CAST(" + a + " AS " + r.one("SMALLINT", "INTEGER", "BIGINT", "DOUBLE") + ")"
	}
	return "(" + a + " " + r.one("+", "-", "*") + " " + b + ")"
}

// TestNestedNumbersCannotFail computes random arithmetic that is said to be
// unable to fail over all rows, those of extreme values included.
func TestNestedNumbersCannotFail(t *testing.T) {
	w := newTwoWorlds(t, 1)
	r := numbers{pieces{rand.New(rand.NewPCG(1, 5))}} //nolint:gosec // the same expressions every time
	var counts []string
	for range 6000 {
		e := r.expression(3)
		if _, fallible, err := proveExpression(t, e); err == nil && !fallible && strings.Contains(e, "_") {
			counts = append(counts, "count("+e+")")
		}
	}
	require.Greater(t, len(counts), 500)
	w.requireNoFailure(t, counts)
}
