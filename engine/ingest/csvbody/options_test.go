package csvbody_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

func TestOptionsBecomeADialect(t *testing.T) {
	d, err := csvbody.Options{}.Dialect()
	require.NoError(t, err)
	require.Equal(t, csvbody.Dialect{Quote: '"'}, d)
	require.Empty(t, d.Words())
	d, err = csvbody.Options{
		Delimiter: ";", Quote: "'", Null: "NA", Header: "absent", Encoding: "utf-16", Decimal: "comma", DateFormat: "%d.%m.%Y",
		TimestampFormat: "%d.%m.%Y %H:%M", Columns: `a,,"b,""c",""`,
	}.Dialect()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "", `b,"c`, ""}, d.Columns)
	require.Equal(t, []string{"csv", ";'", "NA", "true", "encoding", "utf-16", "comma", "date", "%d.%m.%Y", "timestamp", "%d.%m.%Y %H:%M",
		"columns", `a,,"b,""c",`}, d.Words())
	require.True(t, d.NoHeader && d.DecimalComma)

	d, err = csvbody.Options{NullIn: "typed", Skip: "10000", Comment: "#", Thousands: "\u202f"}.Dialect()
	require.NoError(t, err)
	require.Equal(t, csvbody.Dialect{Quote: '"', NullTyped: true, Skip: 10000, Comment: '#', Thousands: "\u202f"}, d)
	require.Equal(t, []string{"skip", "10000", "comment", "#", "thousands", "\u202f", "null", "typed"}, d.Words())
	d, err = csvbody.Options{NullIn: "all", Skip: "0", Thousands: ".", Decimal: "comma"}.Dialect()
	require.NoError(t, err)
	require.Equal(t, []string{"comma", "thousands", "."}, d.Words())

	const noThousands = "csv_thousands must be a comma, a point, an apostrophe, an underscore or a space"
	for _, text := range []string{"x", ",,", "0", "-", "\"", "\t", "\xa0"} {
		_, err := csvbody.Options{Thousands: text}.Dialect()
		require.EqualError(t, err, noThousands, "%q", text)
	}
	for _, text := range []string{"-1", "10001", "1.5", "+1", "x", "99999999999999999999"} {
		_, err := csvbody.Options{Skip: text}.Dialect()
		require.EqualError(t, err, "csv_skip must be a whole number from 0 to 10000", "%q", text)
	}
	for want, o := range map[string]csvbody.Options{
		"csv_null_in must be all or typed":                            {NullIn: "text"},
		"csv_comment must be one ASCII character, and no line end":    {Comment: "//"},
		"csv_comment must not be the delimiter":                       {Comment: ","},
		"csv_comment must not be the quote":                           {Comment: "'", Quote: "'"},
		"csv_null must not begin with the character of comments":      {Comment: "#", Null: "#N/A"},
		"csv_thousands must not be the decimal separator":             {Thousands: "."},
		"csv_thousands must not be the quote":                         {Thousands: "'", Quote: "'"},
		"csv_delimiter must be one ASCII character, and no line end":  {Delimiter: "ab"},
		"csv_quote must be one ASCII character, and no line end":      {Quote: "\x00"},
		"csv_quote must not be the delimiter":                         {Quote: ","},
		"csv_null must hold no delimiter, quote or line end":          {Null: "a,b"},
		"csv_header must be absent or present":                        {Header: "maybe"},
		"csv_encoding must be utf-8, latin-1, windows-1252 or utf-16": {Encoding: "utf-7"},
		"csv_decimal must be point or comma":                          {Decimal: ","},
		"csv_date_format must not have a time":                        {DateFormat: "%Y-%m-%d %H"},
		"csv_timestamp_format must have one of %Y and %y":             {TimestampFormat: "%H"},
		"csv_columns must be one CSV record of column names":          {Columns: "a\nb"},
		"csv_columns must name a column":                              {Columns: ",\"\""},
	} {
		_, err := o.Dialect()
		require.EqualError(t, err, want)
	}
	_, err = csvbody.Options{Columns: `a,"b`}.Dialect()
	require.EqualError(t, err, "csv_columns must be one CSV record of column names")

	var o csvbody.Options
	for name := range o.All() {
		require.True(t, o.Set(name, name))
	}
	for name, text := range o.All() {
		require.Equal(t, name, text, "every option can be set")
	}
	require.False(t, o.Set("csv_other", "x"))
}
