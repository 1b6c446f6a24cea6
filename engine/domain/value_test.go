package domain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/domain"
)

func TestCanonical(t *testing.T) {
	money := delta.Decimal{Precision: 5, Scale: 2}
	for _, c := range []struct {
		typ        delta.DataType
		text, want string // an empty want means that the text is refused
	}{
		{delta.String, " a ", " a "}, {delta.String, "042", "042"}, {delta.String, "", ""}, {delta.String, " \t\u00a0", ""},
		{delta.String, "a\x00b", ""}, {delta.String, "\xff", ""},
		{delta.Long, "042", "42"}, {delta.Long, "-0", "0"}, {delta.Long, "+7", "7"}, {delta.Long, "9223372036854775808", ""},
		{delta.Long, "1.0", ""}, {delta.Long, " 1", ""}, {delta.Long, "1_000", ""}, {delta.Byte, "127", "127"}, {delta.Byte, "128", ""},
		{delta.Short, "-32768", "-32768"}, {delta.Integer, "2147483648", ""},
		{money, "1.5", "1.50"}, {money, "-.5", "-0.50"}, {money, "001.", "1.00"}, {money, "1.500", "1.50"}, {money, "1.005", ""},
		{money, "-0.00", "0.00"}, {money, "999.99", "999.99"}, {money, "1000", ""}, {money, "1e2", ""}, {money, ".", ""}, {money, "--1", ""},
		{money, "+-1", ""}, {delta.Decimal{Precision: 2, Scale: 2}, "0.5", "0.50"}, {delta.Decimal{Precision: 2, Scale: 2}, "1", ""},
		{delta.Boolean, "TRUE", "true"}, {delta.Boolean, "0", ""},
		{delta.Date, "2024-02-29", "2024-02-29"}, {delta.Date, "2023-02-29", ""}, {delta.Date, "2024-2-9", ""},
		{delta.TimestampNTZ, "2024-01-31", "2024-01-31T00:00:00"}, {delta.TimestampNTZ, "2024-01-31 12:00:00.500", "2024-01-31T12:00:00.5"},
		{delta.TimestampNTZ, "2024-01-31T12:00:00Z", ""},
		{delta.Timestamp, "2024-01-31T12:00:00+02:00", "2024-01-31T10:00:00Z"}, {delta.Timestamp, "2024-01-31T12:00:00", ""},
		{delta.Double, "1e3", "1000"}, {delta.Double, "-0", "0"}, {delta.Double, "NaN", ""}, {delta.Double, "inf", ""},
		{delta.Double, "0x1p4", ""}, {delta.Float, "1e39", ""}, {delta.Float, "0.1", "0.1"},
		{delta.Binary, "a", ""}, {delta.Variant, "1", ""}, {delta.Array{Element: delta.Long}, "1", ""},
	} {
		got, err := domain.Canonical(c.typ, c.text)
		if c.want == "" {
			var refused *domain.ValueError
			require.ErrorAs(t, err, &refused, "%s of %q", c.typ, c.text)
			require.NotContains(t, refused.Reason, strings.TrimSpace(c.text)+"\"")
			continue
		}
		require.NoError(t, err, "%s of %q", c.typ, c.text)
		require.Equal(t, c.want, got, "%s of %q", c.typ, c.text)
		again, err := domain.Canonical(c.typ, got)
		require.NoError(t, err)
		require.Equal(t, got, again, "a canonical text is its own")
	}
}

func TestTypesWithDomains(t *testing.T) {
	for typ, want := range map[delta.DataType][2]bool{
		delta.String: {true, false}, delta.Boolean: {true, false}, delta.Long: {true, true}, delta.Date: {true, true},
		delta.Timestamp: {true, true}, delta.Double: {false, true}, delta.Float: {false, true}, delta.Decimal{Precision: 4}: {true, true},
		delta.Binary: {false, false}, delta.Variant: {false, false}, delta.Void: {false, false},
	} {
		require.Equal(t, want, [2]bool{domain.Listable(typ), domain.Bounded(typ)}, typ.String())
	}
	require.True(t, domain.Comparable(delta.Long, delta.Decimal{Precision: 4, Scale: 1}))
	require.True(t, domain.Comparable(delta.Date, delta.Date))
	require.False(t, domain.Comparable(delta.String, delta.Long))
	require.False(t, domain.Comparable(delta.Timestamp, delta.TimestampNTZ))
	require.False(t, domain.Comparable(delta.Double, delta.Double))
}

func TestCanonicalBounds(t *testing.T) {
	tenth := delta.Decimal{Precision: 3, Scale: 1}
	for _, c := range []struct {
		typ       delta.DataType
		min, max  string
		inclusive bool
		field     string // of the error
		refused   bool
	}{
		{delta.Long, "01", "1", true, "", false}, {delta.Long, "1", "1", false, "max", true}, {delta.Long, "1", "2", false, "max", true},
		{delta.Long, "1", "3", false, "", false}, {delta.Long, "2", "1", true, "max", true}, {delta.Long, "10", "9", true, "max", true},
		{delta.Long, "", "9", false, "", false}, {delta.Long, "", "", true, "", true}, {delta.Long, "x", "9", true, "min", true},
		{delta.Long, "1", "1.5", true, "max", true},
		{tenth, "1", "1.1", false, "max", true}, {tenth, "1", "1.2", false, "", false},
		{delta.Double, "0", "1e-300", false, "", false}, {delta.Double, "1", "1", false, "max", true},
		{delta.Date, "2024-01-01", "2024-01-02", false, "max", true}, {delta.Date, "2024-01-01", "2024-01-03", false, "", false},
		{delta.Timestamp, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00", true, "max", true},
		{delta.Timestamp, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000001Z", false, "max", true},
		{delta.TimestampNTZ, "2024-01-01", "2024-01-01T00:00:00.5", false, "", false},
	} {
		b, err := domain.CanonicalBounds(c.typ, domain.Bounds{Min: c.min, Max: c.max, Inclusive: c.inclusive})
		if !c.refused {
			require.NoError(t, err, c)
			if c.typ == delta.Long && c.min != "" {
				require.Equal(t, "1", b.Min)
			}
			continue
		}
		var refused *domain.BoundError
		require.ErrorAs(t, err, &refused, c)
		require.Equal(t, c.field, refused.Field, c)
	}
}
