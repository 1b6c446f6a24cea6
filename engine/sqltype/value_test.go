package sqltype_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "-0", 0.1: "0.1", 1e-6: "0.000001", 9e-7: "9e-07", 1e20: "100000000000000000000", 1e21: "1e+21",
		math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`,
	} {
		require.Equal(t, want, string(sqltype.AppendFloat(nil, f, 64)))
	}
	require.Equal(t, `x"NaN"`, string(sqltype.AppendFloat([]byte("x"), math.NaN(), 64)))
	require.Equal(t, "0.1", string(sqltype.AppendFloat(nil, float64(float32(0.1)), 32)))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64().Draw(t, "f")
		got, err := strconv.ParseFloat(strings.Trim(string(sqltype.AppendFloat(nil, want, 64)), `"`), 64)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestFormatDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _ := new(big.Int).SetString(rapid.StringMatching(`-?[0-9]{1,38}`).Draw(t, "unscaled"), 10)
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		want := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
		require.Equal(t, want, sqltype.FormatDecimal(n, scale))
	})
}

func TestFromBigEndian(t *testing.T) {
	require.Zero(t, sqltype.FromBigEndian(nil).Sign())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		b := make([]byte, 8)
		for i := range b {
			b[i] = byte(n >> (56 - 8*i))
		}
		require.Equal(t, n, sqltype.FromBigEndian(b).Int64())
	})
}

func TestStrictTimes(t *testing.T) {
	format := func(parse func(string) (time.Time, bool), text string) string {
		at, ok := parse(text)
		if !ok {
			return "no"
		}
		require.Equal(t, time.UTC, at.Location())
		return sqltype.FormatTimestamp(at)
	}
	for _, c := range []struct{ text, date, timestamp, instant string }{
		{"2024-02-29", "2024-02-29 00:00:00", "2024-02-29 00:00:00", "no"},
		{"2024-02-29 01:02:03", "no", "2024-02-29 01:02:03", "no"},
		{"2024-02-29T01:02:03.120000", "no", "2024-02-29 01:02:03.12", "no"},
		{"9999-12-31 23:59:59.999999", "no", "9999-12-31 23:59:59.999999", "no"},
		{"2024-02-29 01:02:03Z", "no", "no", "2024-02-29 01:02:03"},
		{"2024-02-29T01:02:03.5+05:30", "no", "no", "2024-02-28 19:32:03.5"},
		{"2024-02-29 01:02:03-07", "no", "no", "2024-02-29 08:02:03"},
	} {
		require.Equal(t, c.date, format(sqltype.ParseDate, c.text), c.text)
		require.Equal(t, c.timestamp, format(sqltype.ParseTimestamp, c.text), c.text)
		require.Equal(t, c.instant, format(sqltype.ParseInstant, c.text), c.text)
	}
	for _, bad := range []string{
		"", "2024-2-29", "2023-02-29", "0000-01-01", "10000-01-01", "-0001-01-01", "2024-02-29 ", " 2024-02-29", "2024-02-29 01:02",
		"2024-02-29 1:02:03", "2024-02-29 1:02:03.5",
		"2024-02-29 24:00:00", "2024-02-29 01:02:60", "2024-02-29 01:02:03.", "2024-02-29 01:02:03,5", "2024-02-29 01:02:03.1234567",
		"2024-02-29t01:02:03", "2024-02-29_01:02:03",
		"2024-02-29Z", "2024-02-29 01:02:03 Z", "2024-02-29 01:02:03+7", "2024-02-29 01:02:03+0700", "2024-02-29 01:02:03+25:00", "infinity",
		"epoch", "2024-02-29 (BC)", "0000-01-01 00:00:00",
	} {
		for _, parse := range []func(string) (time.Time, bool){sqltype.ParseDate, sqltype.ParseTimestamp, sqltype.ParseInstant} {
			require.Equal(t, "no", format(parse, bad), bad)
		}
	}
}
