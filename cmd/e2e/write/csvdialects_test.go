package write_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestCSVBodiesOfSpreadsheetsAreLoaded sends bodies with a line that declares the delimiter, with
// lines before the header, with comments and with grouped digits, to the routes that take CSV.
func TestCSVBodiesOfSpreadsheetsAreLoaded(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"), harness.Col("price", "decimal(12,2)"))
	send := func(route, query, body string) harness.Reply {
		return s.Admin.Call("POST", path+route+query, body, "Content-Type", "text/csv")
	}
	for _, c := range []struct{ route, query, body string }{
		{"/rows", "", "sep=;\r\nid;name;price\r\n1;a,b;1.5\r\n"},
		{"/rows", "?csv_delimiter=%3B", "\uFEFFsep=;\nid;name;price\n2;b;1.5\n"},
		{"/rows", "?csv_header=absent", "sep=|\n3|c|2\n"},
		{"/rows", "?csv_skip=2", "Prices\n\"of\nid,name,price\n4,d,3\n"},
		{"/rows", "?csv_skip=1&csv_comment=%23", "sep=;\nPrices\n# of 2024\nid;name;price\n5;e;4\n#6;f;4\n\"6\";\"#f\";5\n# end"},
		{"/rows", "?csv_thousands=,", "id,name,price\n\"7\",g,\"1,234,567.50\"\n8,\"1,234\",12\n"},
		{"/rows", "?csv_thousands=.&csv_decimal=comma&csv_delimiter=%3B", "id;name;price\n1.009;h;-1.234,5\n"},
		{"/rows", "?csv_thousands=%C2%A0&csv_delimiter=%3B", "id;name;price\n1010;i;9\u00a0999.99\n"},
		{"/rows", "?csv_null=NA&csv_null_in=typed", "id,name,price\n11,NA,NA\n"},
		{"/rows/merge", "?on=id&csv_comment=%23&csv_skip=1", "Changes\nid,name,price\n#1,x,0\n2,\"#b\",2\n"},
	} {
		r := send(c.route, c.query, c.body)
		require.Equal(t, 200, r.Status, "%s: %s", c.query, r.Body)
	}
	r := s.Admin.Call("POST", path+"/rows/merge?on=id", compressed(t, "gzip", "sep=;\nid;name\n3;c;\n"), "Content-Type", "text/csv",
		"Content-Encoding", "gzip")
	require.Equal(t, 422, r.Status, "%s", r.Body)
	r = s.Admin.Call("POST", path+"/rows/merge?on=id", compressed(t, "gzip", "sep=;\nid;name\n3;C\n"), "Content-Type", "text/csv",
		"Content-Encoding", "gzip")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, list{
		list{1.0, "a,b", "1.50"}, list{2.0, "#b", "2.00"}, list{3.0, "C", "2.00"}, list{4.0, "d", "3.00"}, list{5.0, "e", "4.00"},
		list{6.0, "#f", "5.00"}, list{7.0, "g", "1234567.50"}, list{8.0, "1,234", "12.00"}, list{11.0, "NA", nil},
		list{1009.0, "h", "-1234.50"}, list{1010.0, "i", "9999.99"},
	}, s.Admin.Rows("SELECT id, name, price::VARCHAR FROM "+s.Schema+".t ORDER BY id"))

	for query, want := range map[string]string{
		"csv_skip=-1":                          "csv_skip: expected number >= 0",
		"csv_skip=10001":                       "csv_skip: expected number <= 10000",
		"csv_skip=x":                           "csv_skip: invalid integer",
		"csv_comment=%23%23":                   "csv_comment: must be one ASCII character, and no line end",
		"csv_comment=,":                        "csv_comment: must not be the delimiter",
		"csv_comment=%22":                      "csv_comment: must not be the quote",
		"csv_comment=%23&csv_null=%23N/A":      "csv_null: must not begin with the character of comments",
		"csv_thousands=x":                      "csv_thousands: must be a comma, a point, an apostrophe, an underscore or a space",
		"csv_thousands=.":                      "csv_thousands: must not be the decimal separator",
		"csv_thousands=,&csv_decimal=comma":    "csv_thousands: must not be the decimal separator",
		"csv_thousands='&csv_quote='":          "csv_thousands: must not be the quote",
		"csv_null_in=text":                     "csv_null_in: expected value to be one of \"all, typed\"",
		"csv_delimiter=|":                      "csv_delimiter: contradicts the first line of the body, which declares another delimiter",
		"csv_thousands=,&csv_columns=id,price": "rows[0].price: expected a number with at most 10 digits before and 2 after the point",
	} {
		details, _ := told(send("/rows", "?"+query, "sep=;\nid;price\n8;1,23\n"), t, 422)
		require.Equal(t, []string{want}, details, query)
	}
	details, _ := told(s.Admin.Call("POST", path+"/rows?csv_skip=1", `{"id":8}`, "Content-Type", "application/x-ndjson"), t, 422)
	require.Equal(t, []string{"csv_skip: is for text/csv only"}, details)
	details, _ = told(send("/rows", "?csv_skip=9", "id\n8\n"), t, 400)
	require.Equal(t, []string{"body: body is no CSV: line 3 (byte 5): has fewer lines than csv_skip"}, details)
	code, _ := send("/rows", "?csv_delimiter=|", "sep=;\nid;price\n8;1\n").Problem(t, 422)
	require.Equal(t, "invalid_field", code)

	// Another dialect is another request.
	repeat := func(query string) harness.Reply {
		return s.Admin.Call("POST", path+"/rows"+query, "id,name\n20,a\n", "Content-Type", "text/csv", "Idempotency-Key", "k")
	}
	require.Equal(t, 200, repeat("").Status)
	require.Equal(t, 200, repeat("?csv_skip=0").Status)
	for _, query := range []string{"?csv_comment=%23", "?csv_thousands=,", "?csv_null_in=typed"} {
		code, _ := repeat(query).Problem(t, 422)
		require.Equal(t, "idempotency_key_reused", code, query)
	}
}
