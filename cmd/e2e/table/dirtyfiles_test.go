package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// dirtyFile is a file with the rows that a person would read from it.
type dirtyFile struct {
	content string
	// types are Arrow's names of the columns' types; rows are the values as text in SQL.
	types []string
	rows  list
	// query is that of the load; problems are the messages.
	query    string
	problems []string
}

// dirtyFiles are files as spreadsheets, reports and statistics programs write them.
var dirtyFiles = map[string]dirtyFile{
	"declared delimiter": {"sep=;\r\nid;name\r\n1;a,b\r\n2;c\r\n", []string{"int64", "utf8"},
		list{list{"1", "a,b"}, list{"2", "c"}}, "csv_delimiter=%3B", nil},
	"declared delimiter that occurs once": {"sep=|\nid,x\n1,y\n2,z\n", []string{"utf8"},
		list{list{"1,y"}, list{"2,z"}}, "csv_columns=id_x&csv_delimiter=%7C", nil},
	"title and blank line": {"Quarterly report\n\nid,amount,day\n1,2.50,2024-01-31\n2,3.75,2024-02-29\n",
		[]string{"int64", "decimal128(3,2)", "date32"}, list{list{"1", "2.50", "2024-01-31"}, list{"2", "3.75", "2024-02-29"}}, "csv_skip=2",
		[]string{"the lines before line 3 are not taken for rows: set csv_skip"}},
	"title without blank line": {"Quarterly report\nid,name\n1,a\n2,b\n", []string{"int64", "utf8"},
		list{list{"1", "a"}, list{"2", "b"}}, "csv_skip=1", []string{"the lines before line 2 are not taken for rows: set csv_skip"}},
	"padded title of a spreadsheet": {
		"Report 2024;;;\r\nBerlin;;;\r\n;;;\r\nid;name;price;day\r\n1;a;1,5;31.01.2024\r\n2;b;2,5;28.02.2024\r\n",
		[]string{"int64", "utf8", "decimal128(2,1)", "date32"},
		list{list{"1", "a", "1.5", "2024-01-31"}, list{"2", "b", "2.5", "2024-02-28"}},
		"csv_date_format=%25d.%25m.%25Y&csv_decimal=comma&csv_delimiter=%3B&csv_skip=3",
		[]string{"the lines before line 4 are not taken for rows: set csv_skip"}},
	"title in quotes, with delimiters and a line end": {"\"Sales, by\"\n\nid,name,n\n1,\"x\ny\",4\n2,z,5\n",
		[]string{"int64", "utf8", "int64"},
		list{list{"1", "x\ny", "4"}, list{"2", "z", "5"}}, "csv_skip=2",
		[]string{"the lines before line 3 are not taken for rows: set csv_skip"}},
	"keys and values before the table": {
		"station,Oslo\nfrom,2024-01-01\nunit,mm\n\nday,hour,rain,wind\n2024-01-01,0,1.5,2\n2024-01-01,1,0.0,3\n",
		[]string{"date32", "int64", "decimal128(2,1)", "int64"},
		list{list{"2024-01-01", "0", "1.5", "2"}, list{"2024-01-01", "1", "0.0", "3"}}, "csv_skip=4",
		[]string{"the lines before line 5 are not taken for rows: set csv_skip"}},
	"declared delimiter and title": {"sep=;\nReport\n\nid;n\n1;2\n", []string{"int64", "int64"}, list{list{"1", "2"}},
		"csv_delimiter=%3B&csv_skip=2", []string{"the lines before line 4 are not taken for rows: set csv_skip"}},
	"comments": {"# made by a sensor\n# at 10:00, 11:00, 12:00\nid,v\n1,2.5\n# restarted\n2,3.5\n# end\n",
		[]string{"int64", "decimal128(2,1)"},
		list{list{"1", "2.5"}, list{"2", "3.5"}}, "csv_comment=%23",
		[]string{"lines that begin with # are taken for comments: set csv_comment (number of lines: 4)"}},
	"comments with quotes, and a marked value in quotes": {"# it's \"5 o'clock\nid,v\n1,\"#a\"\n\"#2\",\"b\n#c\"\n",
		[]string{"utf8", "utf8"},
		list{list{"#2", "b\n#c"}, list{"1", "#a"}}, "csv_comment=%23",
		[]string{"lines that begin with # are taken for comments: set csv_comment (number of lines: 1)"}},
	"a header with a mark": {"##format v4\n##source x\n#CHROM\tPOS\tID\n1\t100\ta\n2\t200\tb\n", []string{"int64", "int64", "utf8"},
		list{list{"1", "100", "a"}, list{"2", "200", "b"}}, "csv_delimiter=%09&csv_skip=2",
		[]string{"the lines before line 3 are not taken for rows: set csv_skip"}},
	"rows with a mark": {"tag,n\n#a,1\n#b,2\nc,3\n",
		[]string{"utf8", "int64"}, list{list{"#a", "1"}, list{"#b", "2"}, list{"c", "3"}}, "", nil},
	"a column with marks": {"tag\n#a\n#b\n", []string{"utf8"}, list{list{"#a"}, list{"#b"}}, "", nil},

	"grouped digits": {"id,amount,units\n1,\"1,234.50\",\"1,000\"\n2,12.25,999\n3,\"-1,234,567.00\",\"12,500\"\n",
		[]string{"int64", "decimal128(9,2)", "int64"},
		list{list{"1", "1234.50", "1000"}, list{"2", "12.25", "999"}, list{"3", "-1234567.00", "12500"}}, "csv_thousands=%2C",
		[]string{", is taken for the separator of thousands in the column units: set csv_thousands"}},
	"grouped digits with points": {"id;amount\n1;1.234,50\n2;12,25\n3;-1.234.567,00\n", []string{"int64", "decimal128(9,2)"},
		list{list{"1", "1234.50"}, list{"2", "12.25"}, list{"3", "-1234567.00"}}, "csv_decimal=comma&csv_delimiter=%3B&csv_thousands=.", nil},
	"grouped digits of Switzerland": {"id;amount\n1;1'234.50\n2;12.25\n", []string{"int64", "decimal128(6,2)"},
		list{list{"1", "1234.50"}, list{"2", "12.25"}}, "csv_delimiter=%3B&csv_thousands=%27", nil},
	"grouped digits with spaces": {"id;amount\n1;1\u00a0234,50\n2;12,25\n", []string{"int64", "decimal128(6,2)"},
		list{list{"1", "1234.50"}, list{"2", "12.25"}}, "csv_decimal=comma&csv_delimiter=%3B&csv_thousands=%C2%A0", nil},
	"a comma that may be either": {"id,n\n1,\"1,234\"\n2,\"5,678\"\n", []string{"int64", "utf8"},
		list{list{"1", "1,234"}, list{"2", "5,678"}}, "", nil},
	"codes in groups": {"id;org\n1;123 456 789\n2;987 654 321\n", []string{"int64", "utf8"},
		list{list{"1", "123 456 789"}, list{"2", "987 654 321"}}, "csv_delimiter=%3B", nil},
	"digits in other groups": {"id,n\n1,\"12,34,567\"\n2,\"1,234,567\"\n", []string{"int64", "utf8"},
		list{list{"1", "12,34,567"}, list{"2", "1,234,567"}}, "", nil},
	"groups without fractions": {"id,n\n1,\"9,223,372,036,854,775,807\"\n2,\"12,345\"\n3,6\n",
		[]string{"int64", "int64"}, list{list{"1", "9223372036854775807"}, list{"2", "12345"}, list{"3", "6"}}, "csv_thousands=%2C",
		[]string{", is taken for the separator of thousands in the column n: set csv_thousands"}},
	"lists": {"id,l\n1,\"101,102,103\"\n2,\"104,105\"\n", []string{"int64", "utf8"},
		list{list{"1", "101,102,103"}, list{"2", "104,105"}}, "", nil},
	"addresses": {"id;a\n1;10.100.200.300\n2;192.168.100.200\n", []string{"int64", "utf8"},
		list{list{"1", "10.100.200.300"}, list{"2", "192.168.100.200"}}, "csv_delimiter=%3B", nil},
	"phone numbers": {"id;p\n1;30 123 456\n2;1 800 123 456\n", []string{"int64", "utf8"},
		list{list{"1", "30 123 456"}, list{"2", "1 800 123 456"}}, "csv_delimiter=%3B", nil},
	"versions": {"id;v\n1;1.100.200\n2;2.100.300\n", []string{"int64", "utf8"}, list{list{"1", "1.100.200"}, list{"2", "2.100.300"}},
		"csv_delimiter=%3B", nil},

	"NA of R": {"\"\",\"dep\",\"day\",\"late\"\n\"1\",517,2013-01-01,TRUE\n\"2\",NA,NA,NA\n",
		[]string{"int64", "int64", "date32", "bool"},
		list{list{"1", "517", "2013-01-01", "true"}, list{"2", nil, nil, nil}}, "csv_columns=column1%2Cdep%2Cday%2Clate&csv_null=NA",
		[]string{"NA is taken for NULL in the column day, of which all other values are date32: set csv_null",
			"NA is taken for NULL in the column dep, of which all other values are int64: set csv_null",
			"NA is taken for NULL in the column late, of which all other values are bool: set csv_null"}},
	"NA that is a text": {"country,n\nNA,1\nDE,NA\nNA,2\n",
		[]string{"utf8", "int64"}, list{list{"DE", nil}, list{"NA", "1"}, list{"NA", "2"}},
		"csv_null=NA&csv_null_in=typed", []string{"NA is taken for NULL in the column n, of which all other values are int64: set csv_null"}},
	"NA in quotes": {"id,n\n1,\"NA\"\n2,NA\n3,4\n",
		[]string{"int64", "utf8"}, list{list{"1", "NA"}, list{"2", "NA"}, list{"3", "4"}}, "", nil},
	"only NA": {"id,n\n1,NA\n2,NA\n", []string{"int64", "utf8"}, list{list{"1", "NA"}, list{"2", "NA"}}, "", nil},
	"two texts": {"id,n\n1,NA\n2,-\n3,4\n",
		[]string{"int64", "utf8"}, list{list{"1", "NA"}, list{"2", "-"}, list{"3", "4"}}, "", nil},
	"NULL of databases": {"id,at\n1,NULL\n2,2024-05-06 07:08:09\n", []string{"int64", "timestamp[us]"},
		list{list{"1", nil}, list{"2", "2024-05-06 07:08:09"}}, "csv_null=NULL",
		[]string{"NULL is taken for NULL in the column at, of which all other values are timestamp[us]: set csv_null"}},
	"backslash": {"id\tn\n1\t\\N\n2\t1.5\n", []string{"int64", "decimal128(2,1)"}, list{list{"1", nil}, list{"2", "1.5"}},
		"csv_delimiter=%09&csv_null=%5CN",
		[]string{`\N is taken for NULL in the column n, of which all other values are decimal128(2,1): set csv_null`}},
	"dash": {"id;n\n1;-\n2;-1,5\n", []string{"int64", "decimal128(2,1)"}, list{list{"1", nil}, list{"2", "-1.5"}},
		"csv_decimal=comma&csv_delimiter=%3B&csv_null=-",
		[]string{"- is taken for NULL in the column n, of which all other values are decimal128(2,1): set csv_null"}},
	"all at once": {"sep=;\nReport;;\n;;\nid;amount;day\n# first\n1;1.234,50;31.12.2024\n2;N/A;N/A\n",
		[]string{"int64", "decimal128(6,2)", "date32"},
		list{list{"1", "1234.50", "2024-12-31"}, list{"2", nil, nil}},
		"csv_comment=%23&csv_date_format=%25d.%25m.%25Y&csv_decimal=comma&csv_delimiter=%3B&csv_null=N%2FA&csv_skip=2&csv_thousands=.",
		[]string{"lines that begin with # are taken for comments: set csv_comment (number of lines: 1)",
			"the lines before line 4 are not taken for rows: set csv_skip",
			"N/A is taken for NULL in the column amount, of which all other values are decimal128(6,2): set csv_null",
			"N/A is taken for NULL in the column day, of which all other values are date32: set csv_null"}},
	"short first rows": {"a,b\nfoo,x,1\nbar,y,2\n", nil, nil, "",
		[]string{"3 fields; the first line has 2", "3 fields; the first line has 2"}},
}

// TestDirtyFilesAreReadAsPeopleReadThem checks that files are inferred, and loaded as the reply says,
// with the rows that a person would read, and that the reply has the guesses.
func TestDirtyFilesAreReadAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	n := 0
	for name, c := range dirtyFiles {
		n++
		table := fmt.Sprintf("dirty_%d", n)
		r := s.Admin.Infer(harness.Upload{Name: "t.csv", Content: c.content, Fields: []string{"schema", s.Schema, "name", table}})
		require.Equal(t, 200, r.Status, "%s: %s", name, r.Body)
		got := r.JSON(t)
		var problems, types, texts []string
		for _, p := range got["problems"].(list) {
			problems = append(problems, p.(object)["message"].(string))
		}
		require.ElementsMatch(t, c.problems, problems, name)
		if c.rows == nil {
			continue
		}
		for _, f := range got["schema"].(object)["fields"].(list) {
			types = append(types, f.(object)["type"].(string))
			texts = append(texts, `"`+f.(object)["name"].(string)+`"::VARCHAR`)
		}
		require.Equal(t, c.types, types, name)
		require.Equal(t, c.query, got["load"].(object)["query"], name)
		require.EqualValues(t, len(c.rows), load(s, got, c.content), name)
		require.Equal(t, c.rows, s.Admin.Rows("SELECT "+strings.Join(texts, ", ")+" FROM "+s.Schema+"."+table+" ORDER BY ALL"), name)
	}
}

// TestGuessesAboutFilesCanBeSettled checks that given options replace guesses, and that invalid ones
// are refused.
func TestGuessesAboutFilesCanBeSettled(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	const content = "Report\n\nid,n,m\n1,NA,\"1,234.5\"\n# c\n2,4,NA\n"
	infer := func(fields ...string) object {
		r := s.Admin.Infer(harness.Upload{Name: "t.csv", Content: content, Fields: fields})
		require.Equal(t, 200, r.Status, "%s", r.Body)
		return r.JSON(t)
	}
	got := infer("csv_skip", "2", "csv_comment", "#", "csv_null", "NA", "csv_null_in", "typed", "csv_thousands", ",")
	require.Empty(t, got["problems"])
	require.EqualValues(t, 2, got["rowCount"])
	require.Equal(t, "csv_comment=%23&csv_null=NA&csv_null_in=typed&csv_skip=2&csv_thousands=%2C", got["load"].(object)["query"])
	dialect := got["dialect"].(object)
	for name, want := range (object{"skip": 2.0, "comment": "#", "nullText": "NA", "nullIn": "typed", "thousands": ","}) {
		require.Equal(t, want, dialect[name], name)
	}
	got = infer("csv_skip", "0", "csv_comment", "~", "csv_null", "?", "csv_thousands", "_")
	require.EqualValues(t, 5, got["rowCount"], "what is named is not guessed: %v", got)
	require.NotZero(t, got["problemCount"])

	for _, c := range []struct{ content, option, value, field, message string }{
		{content, "csv_skip", "x", "csv_skip", "must be a whole number from 0 to 10000"},
		{content, "csv_comment", "//", "csv_comment", "must be one ASCII character, and no line end"},
		{content, "csv_thousands", ".", "csv_thousands", "must not be the decimal separator"},
		{content, "csv_null_in", "x", "csv_null_in", "must be all or typed"},
		{"sep=;\na;b\n", "csv_delimiter", ",", "csv_delimiter", "contradicts the first line of the body, which declares another delimiter"},
	} {
		r := s.Admin.Infer(harness.Upload{Name: "t.csv", Content: c.content, Fields: []string{c.option, c.value}})
		code, _ := r.Problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Equal(t, map[string]string{c.field: c.message}, r.Details(t))
	}
	r := s.Admin.Infer(harness.Upload{Name: "t.csv", Content: "a\n1\n", Fields: []string{"csv_skip", "9"}})
	code, fields := r.Problem(t, 400)
	require.Equal(t, "invalid_body", code)
	require.Equal(t, []string{"file"}, fields)
}
