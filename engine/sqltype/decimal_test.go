package sqltype_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string][4]string{ // exact, floor, ceiling, half away; "" fails
		"1.5":     {"150", "150", "150", "150"},
		"-1.50":   {"-150", "-150", "-150", "-150"},
		"+1":      {"100", "100", "100", "100"},
		".5":      {"50", "50", "50", "50"},
		"5.":      {"500", "500", "500", "500"},
		"0":       {"0", "0", "0", "0"},
		"-0":      {"0", "0", "0", "0"},
		"0e99":    {"0", "0", "0", "0"},
		"15E-1":   {"150", "150", "150", "150"},
		"1.5e+2":  {"15000", "15000", "15000", "15000"},
		"-1E-10":  {"", "-1", "0", "0"},
		"1E-10":   {"", "0", "1", "0"},
		"9E-3":    {"", "0", "1", "1"},
		"9E-4":    {"", "0", "1", "0"},
		"1.505":   {"", "150", "151", "151"},
		"-1.505":  {"", "-151", "-150", "-151"},
		"1.5049":  {"", "150", "151", "150"},
		"1.500":   {"150", "150", "150", "150"},
		"999.995": {"", "99999", "100000", "100000"}, "9999.995": {"", "999999", "", ""}, "-9999.991": {"", "", "-999999", "-999999"},
		"10000": {}, "1e4": {}, "1.2345e": {}, "": {}, "-": {}, ".": {}, "1 ": {}, "NaN": {}, "0x1": {}, "1_0": {}, "--1": {}, "+-1": {},
		"1/2": {}, "1.2.3": {}, "e1": {}, ".e1": {}, "1e1.5": {},
		"1e-999999999": {"", "0", "1", "0"}, "1e999999999": {}, "1e99999999999999999999": {}, "1e-99999999999999999999": {},
		strings.Repeat("9", 1001): {},
	} {
		for r, want := range want {
			n, ok := sqltype.ParseDecimal(text, 6, 2, sqltype.Rounding(r))
			require.Equal(t, want != "", ok, "%q %d", text, r)
			if ok {
				require.Equal(t, want, n.String(), "%q %d", text, r)
			}
		}
	}
}

// TestParseDecimalRounds compares all ways of rounding with rational numbers.
func TestParseDecimalRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,20}\.[0-9]{1,20}`).Draw(t, "number")
		exponent, scale := rapid.IntRange(-25, 25).Draw(t, "exponent"), rapid.IntRange(0, 20).Draw(t, "scale")
		precision := rapid.IntRange(20, 38).Draw(t, "precision")
		power := func(n int) *big.Rat {
			return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
		}
		exact, _ := new(big.Rat).SetString(fmt.Sprintf("%se%d", text, exponent))
		exact.Mul(exact, power(scale))
		floor := new(big.Int).Div(exact.Num(), exact.Denom()) // of Euclid: the denominator is positive
		ceiling := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(exact.Num()), exact.Denom()))
		nearest, _ := new(big.Int).SetString(exact.FloatString(0), 10)
		for r, want := range []*big.Int{nil, floor, ceiling, nearest} {
			if r == int(sqltype.Exact) && exact.IsInt() {
				want = exact.Num()
			}
			if want != nil && new(big.Rat).SetInt(new(big.Int).Abs(want)).Cmp(power(precision)) >= 0 {
				want = nil
			}
			got, ok := sqltype.ParseDecimal(fmt.Sprintf("%se%d", text, exponent), precision, scale, sqltype.Rounding(r))
			require.Equal(t, want != nil, ok, "%d", r)
			if ok {
				require.Zero(t, want.Cmp(got), "%d: %s instead of %s", r, got, want)
			}
		}
	})
}
