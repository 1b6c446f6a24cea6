package apikey_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
)

var now = time.Date(2027, 1, 31, 12, 0, 0, 123456789, time.UTC)

func TestExpiryAccepts(t *testing.T) {
	day := 24 * time.Hour
	for in, want := range map[string]time.Time{
		"5m":               now.Add(5 * time.Minute),
		"300s":             now.Add(5 * time.Minute),
		"72h":              now.Add(72 * time.Hour),
		"1.5h":             now.Add(90 * time.Minute),
		"2h45m":            now.Add(165 * time.Minute),
		"8784h":            now.Add(366 * day),
		"1d":               now.Add(day),
		"030d":             now.Add(30 * day),
		"366d":             now.Add(366 * day),
		"52w":              now.Add(364 * day),
		"P90D":             now.Add(90 * day),
		"P2W":              now.Add(14 * day),
		"P1Y":              now.AddDate(1, 0, 0),
		"P3M":              now.AddDate(0, 3, 0),
		"P1M2DT3H4M5S":     now.AddDate(0, 1, 2).Add(3*time.Hour + 4*time.Minute + 5*time.Second),
		"PT12H":            now.Add(12 * time.Hour),
		"PT300S":           now.Add(5 * time.Minute),
		"P0Y0M30DT0H0M0S":  now.Add(30 * day),
		"527040m":          now.Add(366 * day),
		"31622400000000us": now.Add(366 * day),
	} {
		got, err := apikey.Expiry(now, &in, nil)
		require.NoError(t, err, in)
		require.Equal(t, want.Truncate(time.Microsecond), got, in)
	}
	at := "2027-06-30T23:59:59.5+02:00"
	got, err := apikey.Expiry(now, nil, &at)
	require.NoError(t, err)
	require.Equal(t, time.Date(2027, 6, 30, 21, 59, 59, 500_000_000, time.UTC), got)

	got, err = apikey.Expiry(now, nil, nil)
	require.NoError(t, err)
	require.Equal(t, now.Add(90*day).Truncate(time.Microsecond), got)
}

func TestExpiryRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "90", "d", "w", "-1d", "+1d", "1.5d", "1 d", "1D", "1d12h", "1y", "999999d", "d1",
		"P", "PT", "P1DT", "p90d", "P-1D", "-P1D", "P1.5D", "P1W1D", "P1D1Y", "1D", "P1H", "PT1D", "P 1D",
		"0s", "-72h", "299s", "4m59.999999s", "0d", "0w", "P0D", "367d", "53w", "8785h", "P2Y", "P99999Y", "P99999M",
		"PT999999999H", "PT999999999M", "PT999999999S", "99999d", "99999w", "P99999W",
		"2562047h47m16s", "9999999999999h", "1h\n", "１d", "never", "null", "72h; DROP TABLE",
	} {
		_, err := apikey.Expiry(now, &in, nil)
		requireField(t, err, "expires_in", in)
	}
	for _, at := range []string{
		"", "tomorrow", "2027-06-30", "2027-06-30T10:00:00", "1893456000", "2027-02-30T00:00:00Z",
		now.Format(time.RFC3339), now.Add(5*time.Minute - time.Second).Format(time.RFC3339Nano),
		now.Add(366*24*time.Hour + time.Second).Format(time.RFC3339Nano),
		"1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
	} {
		_, err := apikey.Expiry(now, nil, &at)
		requireField(t, err, "expires_at", at)
	}
	in, at := "30d", now.Add(time.Hour).Format(time.RFC3339)
	_, err := apikey.Expiry(now, &in, &at)
	requireField(t, err, "expires_at", "both")
}

func requireField(t *testing.T, err error, field, input string) {
	t.Helper()
	require.ErrorIs(t, err, apikey.ErrInvalidExpiry, "%q", input)
	var e *apikey.ExpiryError
	require.ErrorAs(t, err, &e)
	n := 0
	for f, message := range e.FieldProblems() {
		require.Equal(t, field, f)
		require.NotEmpty(t, message)
		n++
	}
	require.Equal(t, 1, n)
}
