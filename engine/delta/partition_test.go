package delta_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
)

func decimalOf(precision, scale int) delta.Decimal {
	return delta.Decimal{Precision: precision, Scale: scale}
}

// TestPartitionValuesAreReadAsBySpark expects values that were derived by hand from the
// rules of Spark's cast of a string, in UTC and outside of ANSI mode, as text of DuckDB.
func TestPartitionValuesAreReadAsBySpark(t *testing.T) {
	for _, row := range []struct {
		of       delta.DataType
		in, want string
	}{
		{delta.Long, "-9223372036854775808", "-9223372036854775808"},
		{delta.Byte, "007", "7"},
		{delta.Byte, " +5\n", "5"},
		{delta.Long, "-0", "0"},
		{delta.Integer, "5.99", "5"},
		{delta.Integer, "-5.99", "-5"},
		{delta.Short, "5.", "5"},
		{decimalOf(5, 2), "-1.50", "-1.50"},
		{decimalOf(10, 2), "5", "5.00"},
		{decimalOf(10, 2), "+5.", "5.00"},
		{decimalOf(10, 2), ".5", "0.50"},
		{decimalOf(10, 2), "005.10", "5.10"},
		{decimalOf(10, 2), "5.1000", "5.10"},
		{decimalOf(10, 2), "1.255", "1.26"},
		{decimalOf(10, 2), "-1.255", "-1.26"},
		{decimalOf(10, 2), "1.2549999", "1.25"},
		{decimalOf(10, 2), "-0.004", "0.00"},
		{decimalOf(10, 2), "0.005", "0.01"},
		{decimalOf(10, 2), "5e-3", "0.01"},
		{decimalOf(10, 2), "1E-400", "0.00"},
		{decimalOf(3, 0), "998.5", "999"},
		{decimalOf(38, 18), "0E-18", "0.000000000000000000"},
		{decimalOf(38, 18), "-1.25E-7", "-0.000000125000000000"},
		{decimalOf(5, 2), "1.205e+2", "120.50"},
		{decimalOf(5, 2), "1E+2", "100.00"},
		{decimalOf(3, 3), "0.999", "0.999"},
		{decimalOf(38, 0), strings.Repeat("9", 38), strings.Repeat("9", 38)},
		{delta.Boolean, "TRUE", "true"},
		{delta.Boolean, " t", "true"},
		{delta.Boolean, "yes", "true"},
		{delta.Boolean, "1", "true"},
		{delta.Boolean, "N", "false"},
		{delta.Boolean, "0", "false"},
		{delta.Double, "NaN", "NaN"},
		{delta.Double, "nan", "NaN"},
		{delta.Double, "Infinity", "Infinity"},
		{delta.Double, "+inf", "Infinity"},
		{delta.Float, "-Inf", "-Infinity"},
		{delta.Double, "-0.0", "-0.0"},
		{delta.Double, "0", "0.0"},
		{delta.Double, "1.0E10", "1.0E10"},
		{delta.Double, "10000000000", "1.0E10"},
		{delta.Double, "1234567.5", "1234567.5"},
		{delta.Double, ".001", "0.001"},
		{delta.Double, "0.00099", "9.9E-4"},
		{delta.Double, "4.9E-324", "5.0E-324"},
		{delta.Double, "1e400", "Infinity"},
		{delta.Double, "-1e400", "-Infinity"},
		{delta.Double, "1e-400", "0.0"},
		{delta.Double, "1.5d", "1.5"},
		{delta.Float, "16777217", "1.6777216E7"},
		{delta.Float, "3.5e38", "Infinity"},
		{delta.Float, "0.1", "0.1"},
		{delta.Binary, "abc", `\x61\x62\x63`},
		{delta.Binary, "\x01\x00b", `\x01\x00\x62`},
		{delta.Binary, "ÿ", `\xC3\xBF`},
		{delta.Binary, " ", `\x20`},
		{delta.Date, "2024-01-02", "2024-01-02"},
		{delta.Date, "2024-1-2", "2024-01-02"},
		{delta.Date, "2024-02", "2024-02-01"},
		{delta.Date, "2024", "2024-01-01"},
		{delta.Date, "2024-02-29 23:59:59", "2024-02-29"},
		{delta.Date, "2024-02-29T", "2024-02-29"},
		{delta.Date, "0001-01-01", "0001-01-01"},
		{delta.Date, "0000-12-31", "0001-12-31 (BC)"},
		{delta.Date, "-0043-03-15", "0044-03-15 (BC)"},
		{delta.Date, "+12345-06-07", "12345-06-07"},
		{delta.Date, "12345-06-07", "12345-06-07"},
		{delta.Date, "+5881580-07-10", "5881580-07-10"},
		{delta.Timestamp, "2024-01-02 03:04:05.678+00", "2024-01-02 03:04:05.678+00"},
		{delta.Timestamp, "2024-01-02 03:04:05", "2024-01-02 03:04:05+00"},
		{delta.Timestamp, "2024-01-02T03:04:05.678000Z", "2024-01-02 03:04:05.678+00"},
		{delta.Timestamp, "2024-01-02 03:04:05+05:30", "2024-01-01 21:34:05+00"},
		{delta.Timestamp, "2024-01-02 03:04:05 UTC-1", "2024-01-02 04:04:05+00"},
		{delta.Timestamp, "2024-01-02T3:4", "2024-01-02 03:04:00+00"},
		{delta.Timestamp, "2024-01-02", "2024-01-02 00:00:00+00"},
		{delta.Timestamp, "2024-01-02 03:04:05.123456789", "2024-01-02 03:04:05.123456+00"},
		{delta.Timestamp, "0001-01-01 00:00:00", "0001-01-01 00:00:00+00"},
		{delta.Timestamp, "0001-01-01T00:30:00+01:00", "0001-12-31 (BC) 23:30:00+00"},
		{delta.Timestamp, "9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999+00"},
		{delta.Timestamp, "9999-12-31T23:30:00-01:00", "10000-01-01 00:30:00+00"},
		{delta.Timestamp, "+12345-06-07 01:02:03", "12345-06-07 01:02:03+00"},
		{delta.Timestamp, "+294247-01-10T04:00:54.775806Z", "294247-01-10 04:00:54.775806+00"},
		{delta.TimestampNTZ, "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.678901"},
		{delta.TimestampNTZ, "2024-01-02T03:04:05", "2024-01-02 03:04:05"},
		{delta.TimestampNTZ, "2024-01-02T03:04:05+02:00", "2024-01-02 03:04:05"},
		{delta.TimestampNTZ, "-0043-03-15 01:02:03", "0044-03-15 (BC) 01:02:03"},
		{delta.String, "a/b=c%é", "a/b=c%é"},
		{delta.String, " ", " "},
	} {
		got, err := delta.ParsePartitionValue(row.of, &row.in)
		require.NoError(t, err, "%s %q", row.of, row.in)
		require.Equal(t, row.want, *got, "%s %q", row.of, row.in)
	}
}

// TestInvalidPartitionValuesAreRefused refuses texts that Spark reads as NULL and, in the
// last rows, texts whose meaning depends on the current day or on rules of time zones.
func TestInvalidPartitionValuesAreRefused(t *testing.T) {
	for _, row := range []struct {
		of delta.DataType
		in string
	}{
		{delta.Byte, "128"}, {delta.Long, "x"}, {delta.Long, "1e3"}, {delta.Long, "1.x"}, {delta.Long, "9223372036854775808"}, {delta.Long, " "},
		{delta.Long, "1_0"},
		{delta.Boolean, "2"}, {delta.Boolean, "tru"},
		{delta.Date, "2024-13-01"}, {delta.Date, "2023-02-29"}, {delta.Date, "2024-01-00"}, {delta.Date, "24-01-01"}, {delta.Date, "2024-01-02x"},
		{delta.Date, "+5881581-01-01"}, {delta.Date, "12345678-01-01"},
		{delta.Date, "infinity"}, {delta.Date, "2024/01/02"},
		{delta.Timestamp, "yesterday"}, {delta.Timestamp, "2024-01-02 24:00:00"}, {delta.Timestamp, "2024-01-02 03:04:60"},
		{delta.Timestamp, "2024-01-02 03:04:05+19:00"},
		{delta.Timestamp, "+294247-01-10T04:00:54.775807Z"}, {delta.Timestamp, "+294248-01-01 00:00:00"},
		{delta.Timestamp, "-290309-01-01 00:00:00"}, {delta.Timestamp, "1234567-01-01 00:00:00"},
		{delta.TimestampNTZ, "2024-01-02 03:04:05+x"},
		{decimalOf(3, 1), "1e2"}, {decimalOf(3, 1), "99.95"}, {decimalOf(3, 1), "1e999999999999"}, {decimalOf(3, 1), "1e"},
		{decimalOf(3, 1), "e1"}, {decimalOf(3, 1), ".e1"},
		{decimalOf(3, 1), "-e1"}, {decimalOf(3, 1), "123.4"}, {decimalOf(3, 1), "0x1"}, {decimalOf(3, 1), "NaN"}, {decimalOf(3, 1), "."},
		{decimalOf(3, 1), "1" + strings.Repeat("0", 2000)},
		{delta.Double, "x"}, {delta.Double, "1,5"}, {delta.Double, "1e"}, {delta.Double, "."}, {delta.Double, "0x1p3"}, {delta.Double, "1_0"},
		{delta.Float, "infin"},
		{delta.String, "\xff"}, {delta.Variant, "1"}, {delta.Array{Element: delta.Long}, "[1]"},
		{delta.Timestamp, "03:04:05"}, {delta.Timestamp, "T03:04:05"}, {delta.Timestamp, "2024-01-02 03:04:05 Europe/Berlin"},
	} {
		_, err := delta.ParsePartitionValue(row.of, &row.in)
		require.ErrorIs(t, err, delta.ErrInvalidValue, "%s %q", row.of, row.in)
		require.Equal(t, "partition value of type "+row.of.String()+": invalid value", err.Error(), "the value stays out of the error")
	}
}

// TestPartitionValuesAreWritten checks that values printed by DuckDB are written in a form
// that every reader knows, and are read back unchanged.
func TestPartitionValuesAreWritten(t *testing.T) {
	for _, row := range []struct {
		of       delta.DataType
		in, want string
	}{
		{delta.Long, "-9223372036854775808", "-9223372036854775808"},
		{decimalOf(5, 2), "-1.50", "-1.50"},
		{delta.Boolean, "true", "true"},
		{delta.Double, "nan", "NaN"},
		{delta.Double, "-inf", "-Infinity"},
		{delta.Double, "1e+300", "1.0E300"},
		{delta.Double, "-0.0", "-0.0"},
		{delta.Float, "1e-45", "1.0E-45"},
		{delta.Binary, `\x01\x00b\xC3\xBF`, "\x01\x00bÿ"},
		{delta.Binary, `a\x5Cx`, `a\x`},
		{delta.Date, "2024-01-02", "2024-01-02"},
		{delta.Date, "12345-01-02", "+12345-01-02"},
		{delta.Date, "0001-01-02 (BC)", "0000-01-02"},
		{delta.Date, "0044-03-15 (BC)", "-0043-03-15"},
		{delta.Timestamp, "2024-01-02 03:04:05.678+00", "2024-01-02T03:04:05.678000Z"},
		{delta.Timestamp, "2024-01-02 03:04:05+05:30", "2024-01-01T21:34:05.000000Z"},
		{delta.Timestamp, "12345-01-02 03:04:05.5+00", "+12345-01-02T03:04:05.500000Z"},
		{delta.Timestamp, "0044-03-15 (BC) 01:02:03+00", "-0043-03-15T01:02:03.000000Z"},
		{delta.TimestampNTZ, "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.678901"},
		{delta.TimestampNTZ, "12345-01-02 03:04:05", "+12345-01-02 03:04:05"},
		{delta.String, "a/b=c%é", "a/b=c%é"},
	} {
		got, err := delta.PartitionValue(row.of, &row.in)
		require.NoError(t, err, "%s %q", row.of, row.in)
		require.Equal(t, row.want, *got)
		_, err = delta.ParsePartitionValue(row.of, got)
		require.NoError(t, err, row.in)
	}
	empty := ""
	for _, null := range []*string{nil, &empty} {
		got, err := delta.PartitionValue(delta.String, null)
		require.NoError(t, err)
		require.Nil(t, got)
	}
	for _, row := range []struct {
		of delta.DataType
		in string
	}{{delta.Binary, `\xFF`}, {delta.Binary, `\xG0`}, {delta.Binary, `\x1`}, {delta.Date, "infinity"}, {delta.Timestamp, "-infinity"}} {
		_, err := delta.PartitionValue(row.of, &row.in)
		require.ErrorIs(t, err, delta.ErrInvalidValue, row.in)
	}
}

// TestAllFormsOfAPartitionValueAreReadAlike prints drawn values with Go's own printers in
// the forms that Spark reads, and checks that each form is read as the value.
func TestAllFormsOfAPartitionValueAreReadAlike(t *testing.T) {
	read := func(rt *rapid.T, of delta.DataType, text string) string {
		got, err := delta.ParsePartitionValue(of, &text)
		require.NoError(rt, err, "%s %q", of, text)
		return *got
	}
	rapid.Check(t, func(rt *rapid.T) {
		padding := rapid.SampledFrom([]string{"", " ", "\t", "\n"})
		pad := func(text string) string { return padding.Draw(rt, "before") + text + padding.Draw(rt, "after") }

		f := math.Float64frombits(rapid.Uint64().Draw(rt, "double"))
		form := rapid.SampledFrom([]byte{'e', 'E', 'g', 'G', 'f'}).Draw(rt, "form")
		again, err := strconv.ParseFloat(read(rt, delta.Double, pad(strconv.FormatFloat(f, form, -1, 64))), 64)
		require.NoError(rt, err)
		require.True(rt, math.Float64bits(f) == math.Float64bits(again) || math.IsNaN(f) && math.IsNaN(again), "%v %v", f, again)

		scale := rapid.IntRange(0, 38).Draw(rt, "scale")
		n, _ := new(big.Int).SetString(rapid.StringMatching(`-?[0-9]{1,38}`).Draw(rt, "digits"), 10)
		shift := rapid.IntRange(-60, 60).Draw(rt, "exponent")
		// n at the scale, with its point moved to the right and an exponent that undoes it.
		text := fmt.Sprintf("%de%d", n, -scale)
		if shift > 0 {
			text = fmt.Sprintf("%d%se%d", n, strings.Repeat("0", shift), -scale-shift)
		}
		got, ok := new(big.Rat).SetString(read(rt, decimalOf(38, scale), pad(text)))
		require.True(rt, ok)
		want := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		require.Zero(rt, want.Cmp(got), "%s: %s", text, got)

		at := time.UnixMicro(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(rt, "micros"))
		if offset := rapid.IntRange(-18*60, 18*60).Draw(rt, "offset"); at.Year() > 1 && at.Year() < 9999 {
			at = at.In(time.FixedZone("", offset*60))
		}
		stamp := at.Format(rapid.SampledFrom([]string{"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.000000Z07:00",
			"2006-1-2 15:4:5.000000000-0700"}).Draw(rt, "layout"))
		back, err := time.Parse("2006-01-02 15:04:05.999999999-07", read(rt, delta.Timestamp, pad(stamp)))
		require.NoError(rt, err)
		require.True(rt, at.Equal(back), "%s: %s", stamp, back)
		local, err := time.Parse("2006-01-02 15:04:05.999999999", read(rt, delta.TimestampNTZ, pad(stamp)))
		require.NoError(rt, err)
		_, offset := at.Zone()
		require.True(rt, at.Add(time.Duration(offset)*time.Second).UTC().Equal(local), "%s: %s", stamp, local)
	})
}

// TestPartitionValuesSurviveARoundTrip draws texts and checks that a value that was read
// and written is read as the same value again.
func TestPartitionValuesSurviveARoundTrip(t *testing.T) {
	types := []delta.DataType{
		delta.String, delta.Binary, delta.Byte, delta.Short, delta.Integer, delta.Long, delta.Float, delta.Double, delta.Boolean,
		delta.Date, delta.Timestamp, delta.TimestampNTZ, decimalOf(10, 2), decimalOf(38, 38), decimalOf(5, 0),
	}
	texts := rapid.OneOf(rapid.String(), rapid.StringMatching(`[+-]?[0-9]{1,7}(\.[0-9]{0,3})?([eE][+-]?[0-9]{1,3})?`),
		rapid.StringMatching(`[+-]?[0-9]{4,7}(-[01]?[0-9](-[0-3]?[0-9]([ T][0-2]?[0-9]:[0-5]?[0-9](:[0-5][0-9](\.[0-9]{0,`+
			`9})?)?(Z|[+-][01]?[0-9](:[0-5][0-9])?)?)?)?)?`))
	rapid.Check(t, func(rt *rapid.T) {
		of, text := rapid.SampledFrom(types).Draw(rt, "type"), texts.Draw(rt, "text")
		value, err := delta.ParsePartitionValue(of, &text)
		if err != nil {
			require.ErrorIs(rt, err, delta.ErrInvalidValue)
			return
		}
		log, err := delta.PartitionValue(of, value)
		require.NoError(rt, err)
		again, err := delta.ParsePartitionValue(of, log)
		require.NoError(rt, err)
		require.Equal(rt, value, again, "%s %q", of, text)
	})
}
