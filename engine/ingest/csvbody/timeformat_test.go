package csvbody_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

func TestTimeFormats(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"%Y-%m-%d", "2024-05-06", "2024-05-06"},
		{"%Y-%m-%d", "2024-5-6", "2024-05-06"},
		{"%Y-%m-%d", "24-05-06", ""}, {"%Y-%m-%d", "2024-05-06 ", ""}, {"%Y-%m-%d", "2024-13-06", ""}, {"%Y-%m-%d", "2023-02-29", ""},
		{"%d/%m/%y", "31/12/68", "2068-12-31"}, {"%d/%m/%y", "1/1/69", "1969-01-01"}, {"%d/%m/%y", "1/1/1969", ""},
		{"%-d.%-m.%Y", "6.5.2024", "2024-05-06"},
		{"%d %b %Y", "6 mAy 2024", "2024-05-06"}, {"%B %d, %Y", "September 9, 2024", "2024-09-09"}, {"%B %d, %Y", "Sep 9, 2024", ""},
		{"%a, %d %b %Y", "Mon, 06 May 2024", "2024-05-06"}, {"%a, %d %b %Y", "Tue, 06 May 2024", ""},
		{"%A %d.%m.%Y", "Wednesday 31.12.1969", "1969-12-31"}, {"%A %d.%m.%Y", "thursday 01.01.1970", "1970-01-01"},
		{"%Y%m%d", "20240506", "2024-05-06"}, {"%Y/%j", "2024/366", "2024-12-31"}, {"%Y/%j", "2023/366", ""}, {"%Y/%j", "2023/0", ""},
		{"100%% %Y-%m-%d", "100% 2024-05-06", "2024-05-06"},
	} {
		f, err := csvbody.ParseTimeFormat(c.format)
		require.NoError(t, err, c.format)
		days, ok := f.Date([]byte(c.text))
		require.Equal(t, c.want != "", ok, "%s: %s", c.format, c.text)
		if ok {
			require.Equal(t, c.want, time.Unix(int64(days)*86400, 0).UTC().Format(time.DateOnly), "%s: %s", c.format, c.text)
		}
	}
	const layout = "2006-01-02T15:04:05.999999Z"
	for _, c := range []struct{ format, text, want string }{
		{"%d.%m.%Y %H:%M", "06.05.2024 7:08", "2024-05-06T07:08:00Z"}, {"%d.%m.%Y %H:%M", "06.05.2024 24:00", ""},
		{"%m/%d/%Y %I:%M:%S %p", "05/06/2024 12:00:01 AM", "2024-05-06T00:00:01Z"},
		{"%m/%d/%Y %I:%M:%S %p", "05/06/2024 12:00:01 pm", "2024-05-06T12:00:01Z"},
		{"%m/%d/%Y %I:%M:%S %p", "05/06/2024 1:00:01 PM", "2024-05-06T13:00:01Z"},
		{"%m/%d/%Y %I:%M:%S %p", "05/06/2024 13:00:01 PM", ""}, {"%m/%d/%Y %I:%M:%S %p", "05/06/2024 0:00:01 PM", ""},
		{"%Y-%m-%d %H:%M:%S.%f", "1969-12-31 23:59:59.5", "1969-12-31T23:59:59.5Z"},
		{"%Y-%m-%d %H:%M:%S.%f", "2024-05-06 07:08:09.1234560", "2024-05-06T07:08:09.123456Z"},
		{"%Y-%m-%d %H:%M:%S.%f", "2024-05-06 07:08:09.1234567", ""}, {"%Y-%m-%d %H:%M:%S.%f", "2024-05-06 07:08:09.", ""},
		{"%Y-%m-%d %H:%M:%S,%g", "2024-05-06 07:08:09,012", "2024-05-06T07:08:09.012Z"},
		{"%Y-%m-%d %H:%M:%S,%g", "2024-05-06 07:08:09,12", ""}, {"%Y-%m-%d %H:%M:%S", "2024-05-06 07:08:60", ""},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09+02", "2024-05-06T05:08:09Z"},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09-0130", "2024-05-06T08:38:09Z"},
		{"%Y-%m-%d %H:%M:%S %z", "2024-05-06 07:08:09 +05:30", "2024-05-06T01:38:09Z"},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09Z", "2024-05-06T07:08:09Z"},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09", ""}, {"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09+2", ""},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09+02:", ""}, {"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09+24", ""},
		{"%Y-%m-%d %H:%M:%S%z", "2024-05-06 07:08:09+02:60", ""}, {"%Y-%m-%d", "2024-05-06", "2024-05-06T00:00:00Z"},
	} {
		f, err := csvbody.ParseTimeFormat(c.format)
		require.NoError(t, err, c.format)
		micros, ok := f.Timestamp([]byte(c.text))
		require.Equal(t, c.want != "", ok, "%s: %s", c.format, c.text)
		if ok {
			require.Equal(t, c.want, time.UnixMicro(micros).UTC().Format(layout), "%s: %s", c.format, c.text)
		}
	}
}

func TestTimeFormatsThatLeaveSomethingOpen(t *testing.T) {
	for _, text := range []string{
		"", "%", "%Y", "%Y-%m", "%m-%d", "%Y-%y-%m-%d", "%Y-%m-%b-%d", "%Y-%j-%d", "%Y-%m-%d %I:%M", "%Y-%m-%d %H %p", "%Y-%m-%d %M",
		"%Y-%m-%d %H:%S", "%Y-%m-%d %H:%M.%f", "%Y-%m-%d %z", "%Y-%m-%d %H %H", "%Y-%m-%d %Q", "%Y-%m-%d %-y", "%Y-%m-%d %-", "%c", "%s",
		"%Y-%m-%d\n", "%Y-%m-%d %a %A",
	} {
		_, err := csvbody.ParseTimeFormat(text)
		require.Error(t, err, text)
	}
}

// TestTimeFormatsReadWhatGoWrites compares the formats with those of package time.
func TestTimeFormatsReadWhatGoWrites(t *testing.T) {
	forms := map[string]string{
		"%Y-%m-%dT%H:%M:%S.%f%z":        "2006-01-02T15:04:05.000000Z0700",
		"%a %B %-d %Y %I:%M:%S.%g %p":   "Mon January 2 2006 03:04:05.000 PM",
		"%d/%b/%Y:%-H:%-M:%-S,%f %z":    "02/Jan/2006:15:4:5,000000 -07:00",
		"%Y%j%H%M%S":                    "2006002150405",
		"%A, %-d. %-m. %Y, %-I.%M%p %z": "Monday, 2. 1. 2006, 3.04PM -0700",
	}
	rapid.Check(t, func(rt *rapid.T) {
		micros := rapid.Int64Range(-62135596800000000+86400e6, 253402300799999999-86400e6).Draw(rt, "micros")
		zone := rapid.IntRange(-14*60, 14*60).Draw(rt, "minutes")
		for format, layout := range forms {
			f, err := csvbody.ParseTimeFormat(format)
			require.NoError(rt, err)
			at := time.UnixMicro(micros).UTC()
			if f.HasOffset() {
				at = at.In(time.FixedZone("", zone*60))
			}
			text := at.Format(layout)
			want, err := time.Parse(layout, text)
			require.NoError(rt, err)
			got, ok := f.Timestamp([]byte(text))
			require.True(rt, ok, "%s: %s", format, text)
			require.Equal(rt, want.UnixMicro(), got, "%s: %s", format, text)
		}
	})
}
