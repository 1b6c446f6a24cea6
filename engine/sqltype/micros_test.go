package sqltype_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestParseMicros(t *testing.T) {
	for text, want := range map[string][3]bool{ // without, with, optional offset
		"2024-02-29 12:34:56":                 {true, false, true},
		"2024-02-29T12:34:56":                 {true, false, true},
		"2024-02-29t12:34:56z":                {false, true, true},
		"2024-02-29T12:34:56.123456Z":         {false, true, true},
		"2024-02-29T12:34:56.1+05:30":         {false, true, true},
		"2024-02-29T12:34:56.123456000-05:30": {false, true, true},
		"2024-02-29 12:34:56.123456001":       {},
		"2024-02-29T12:34:56.Z":               {}, "2024-02-29T12:34:56.": {}, "2024-02-29T12:34:56,5": {}, "2024-02-29T12:34:56+05": {},
		"2024-02-29T12:34:56+24:00": {}, "2024-02-29T12:34:56+05:60": {}, "2024-02-29T12:34:56 Z": {}, "2023-02-29T12:34:56": {},
		"0000-01-01T00:00:00": {}, "2024-02-29T24:00:00": {}, "2024-02-29T12:60:00": {}, "2024-02-29T12:00:60": {}, "2024-02-29": {},
		"2024-02-29_12:34:56": {}, "2024-2-29 12:34:56.1": {}, "": {}, "12024-02-29T12:34:56": {}, "2024-00-01 00:00:00": {},
	} {
		for mode, want := range want {
			_, ok := sqltype.ParseMicros(text, sqltype.Offset(mode))
			require.Equal(t, want, ok, "%q %d", text, mode)
		}
	}
}

// TestParseMicrosAgainstTime compares timestamps and dates with the standard library's.
func TestParseMicrosAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "micros")).UTC()
		layout := rapid.SampledFrom([]string{"2006-01-02T15:04:05.000000", "2006-01-02 15:04:05.999999", "2006-01-02t15:04:05.000000000"}).Draw(t, "layout")
		got, ok := sqltype.ParseMicros(at.Format(layout), sqltype.WithoutOffset)
		require.True(t, ok)
		require.Equal(t, at.UnixMicro(), got)
		days, ok := sqltype.ParseDays(at.Format(time.DateOnly))
		require.True(t, ok)
		require.Equal(t, at.Truncate(24*time.Hour).Unix(), int64(days)*86400)
		if offset := rapid.IntRange(-23*60, 23*60).Draw(t, "offset"); at.Year() > 1 && at.Year() < 9999 {
			local := at.In(time.FixedZone("", offset*60))
			got, ok = sqltype.ParseMicros(local.Format(layout+"Z07:00"), sqltype.WithOffset)
			require.True(t, ok)
			require.Equal(t, at.UnixMicro(), got)
		}
		text := rapid.StringMatching(`[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]`).Draw(t, "date")
		want, err := time.Parse(time.DateOnly, text)
		days, ok = sqltype.ParseDays(text)
		require.Equal(t, err == nil && !strings.HasPrefix(text, "0000"), ok, text)
		if ok {
			require.Equal(t, want.Unix(), int64(days)*86400)
		}
	})
}
