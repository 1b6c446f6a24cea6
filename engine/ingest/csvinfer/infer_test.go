package csvinfer_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/csvinfer"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// sqlTypes are the types in SQL of columns that load a file.
var sqlTypes = map[string]string{
	"string": "VARCHAR", "boolean": "BOOLEAN", "long": "BIGINT", "double": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE",
	"timestamp_ntz": "TIMESTAMP",
}

// load stages a file as the result of its inference says, and returns the number of rows.
func load(tb testing.TB, dir, text string, in *csvinfer.Inferred) int64 {
	tb.Helper()
	var columns []engine.Column
	for _, c := range in.Columns {
		name := c.Type.Delta()
		if sql, ok := sqlTypes[name]; ok {
			name = sql
		}
		columns = append(columns, engine.Column{Name: c.Name, Type: sqltype.MustParse(name), Nullable: c.Nullable})
	}
	dialect, err := in.Options.Dialect()
	require.NoError(tb, err)
	staged, err := ingest.Stage(tb.Context(), strings.NewReader(text), ingest.Request{
		Format: staging.CSV, CSV: dialect, Columns: columns, Dir: dir,
	})
	var rows *staging.RowsError
	if errors.As(err, &rows) {
		require.NoError(tb, err, "%v\n%v\n%q", rows.Problems, in, text)
	}
	require.NoError(tb, err, "%q", text)
	require.NoError(tb, os.Remove(filepath.Join(dir, staged.File)))
	return staged.Rows
}

// TestAFileWithoutProblemsLoads infers random files and loads those without problems.
func TestAFileWithoutProblemsLoads(t *testing.T) {
	dir := t.TempDir()
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "NA", "true", "FALSE", "0", "007", "-0", "+1", "1.", ".5", "-1.50", "1,5", "1e3", "1E+400", "NaN", "inf",
			"9223372036854775808", "2024-02-29", "2023-02-29", "1.2.2024", "13/01/2024", "01/13/2024", "2024-05-06 07:08", "2024-05-06T07:08:09Z",
			"2024-05-06 07:08:09.5", "2024-05-06 07:08:09+02", "1,234", "1,234.50", "-1,234,567", "1.234,5", "1'234", "1 234 567.5", "N/A", "-",
			"#x", "sep=;", " x", "ä", "'", `"`, "a\nb", "\r\n", "\x00"}),
		rapid.StringMatching(`-?[0-9]{1,25}([.,][0-9]{1,20})?`), rapid.StringMatching(`[0-3][0-9][./][01][0-9][./]20[0-9]{2}`),
		rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,7})?(Z|[-+]0[0-9]:00)?)?)?`),
		rapid.String(),
	)
	loaded := 0
	rapid.Check(t, func(rt *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(rt, "delimiter")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")
		columns, rows := rapid.IntRange(1, 4).Draw(rt, "columns"), rapid.IntRange(0, 6).Draw(rt, "rows")
		pools := make([][]string, columns)
		for i := range pools {
			pools[i] = rapid.SliceOfN(value, 1, 3).Draw(rt, "pool")
		}
		var b strings.Builder
		for row := range rows + 1 {
			for i := range columns {
				if i > 0 {
					b.WriteString(delimiter)
				}
				text := rapid.SampledFrom(pools[i]).Draw(rt, "value")
				if row == 0 {
					text = rapid.SampledFrom([]string{"id", "ID", "a b", "", "ö,", `q"`, text}).Draw(rt, "name")
				}
				if strings.ContainsAny(text, "\"\r\n"+delimiter) || rapid.IntRange(0, 5).Draw(rt, "quote") == 0 {
					text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
				}
				b.WriteString(text)
			}
			b.WriteString(end)
		}
		given := csvbody.Options{Delimiter: delimiter, Header: rapid.SampledFrom([]string{"", "absent"}).Draw(rt, "header"),
			Null: rapid.SampledFrom([]string{"", "NA"}).Draw(rt, "null"), NullIn: rapid.SampledFrom([]string{"", "typed"}).Draw(rt, "in"),
			Thousands: rapid.SampledFrom([]string{"", "", ",", "'"}).Draw(rt, "thousands"),
			Decimal:   rapid.SampledFrom([]string{"", "comma"}).Draw(rt, "decimal")}
		if given.Thousands == "," {
			given.Decimal = ""
		}
		text := b.String()
		in, err := csvinfer.Infer(t.Context(), strings.NewReader(text), csvinfer.Request{Given: given})
		var option *csvbody.OptionError
		if errors.As(err, &option) && strings.HasPrefix(text, "sep=") {
			return
		}
		require.NoError(rt, err, "%q", text)
		if onlyGuesses(in) {
			loaded++
			require.Equal(rt, in.Rows, load(t, dir, text, in), "%q", text)
		}
	})
	require.Positive(t, loaded)
}

// onlyGuesses reports whether every problem is a guess, which does not make a load fail.
func onlyGuesses(in *csvinfer.Inferred) bool {
	return in.Total == int64(len(in.Problems)) && !slices.ContainsFunc(in.Problems, func(p csvinfer.Problem) bool {
		return !strings.Contains(p.Message, " taken for ")
	})
}

// TestCommentsThatMayBeRowsAreProblems checks comments beyond the beginning of a file.
func TestCommentsThatMayBeRowsAreProblems(t *testing.T) {
	text := "# c\na,b\n1,x\n#2,y\n#3,\"\n#z\"\n"
	req := csvinfer.Request{Proposed: csvinfer.Proposal{Lead: csvinfer.Lead{Comment: "#"}}}
	in, err := csvinfer.Infer(t.Context(), strings.NewReader(text), req)
	require.NoError(t, err)
	const message = "the line is taken for a comment, but may be a row: set csv_comment"
	guess := csvinfer.Problem{Line: 1, Message: "lines that begin with # are taken for comments: set csv_comment (number of lines: 4)"}
	require.Equal(t, []csvinfer.Problem{guess, {Line: 4, Message: message}, {Line: 5, Message: message}}, in.Problems)
	require.EqualValues(t, 1, in.Rows)
	in, err = csvinfer.Infer(t.Context(), strings.NewReader("# c\na,b\n"+strings.Repeat("1\n", 200)), req)
	require.NoError(t, err)
	require.Len(t, in.Problems, 100)
	require.EqualValues(t, 201, in.Total)
	require.Equal(t, "lines that begin with # are taken for comments: set csv_comment (number of lines: 1)", in.Problems[0].Message,
		"a guess is seen, however many problems there are")
	req.Given.Comment = "#"
	in, err = csvinfer.Infer(t.Context(), strings.NewReader(text), req)
	require.NoError(t, err)
	require.Empty(t, in.Problems, "the caller says so")
	req = csvinfer.Request{Given: csvbody.Options{Null: "#N/A"}, Proposed: csvinfer.Proposal{Lead: csvinfer.Lead{Comment: "#"}}}
	in, err = csvinfer.Infer(t.Context(), strings.NewReader("a,b\n1,#N/A\n"), req)
	require.NoError(t, err)
	require.Empty(t, in.Options.Comment, "a guess gives way to what the caller says")
}

// TestGivenTextsForNull checks that a given text for NULL means NULL in all columns, or only in
// those that are not text, as the caller has chosen.
func TestGivenTextsForNull(t *testing.T) {
	const text = "s,n,m\nmissing,missing,\"missing\"\nx,1,2\nmissing,2,3\nx,3,4\n"
	infer := func(in string) *csvinfer.Inferred {
		out, err := csvinfer.Infer(t.Context(), strings.NewReader(text), csvinfer.Request{Given: csvbody.Options{Null: "missing", NullIn: in}})
		require.NoError(t, err)
		require.Empty(t, out.Problems)
		require.EqualValues(t, 4, load(t, t.TempDir(), text, out))
		require.Equal(t, "missing", out.Options.Null)
		return out
	}
	long, word := csvinfer.Type{Kind: csvinfer.Long}, csvinfer.Type{}
	require.Equal(t, []csvinfer.Column{
		{Name: "s", Type: word, Nullable: true, Values: []csvinfer.ValueCount{{Value: "x", Count: 2}}}, {Name: "n", Type: long, Nullable: true},
		{Name: "m", Type: word},
	}, infer("all").Columns)
	out := infer("typed")
	require.Equal(t, "typed", out.Options.NullIn)
	require.Equal(t, []csvinfer.Column{
		{Name: "s", Type: word, Values: []csvinfer.ValueCount{{Value: "missing", Count: 2}, {Value: "x", Count: 2}}},
		{Name: "n", Type: long, Nullable: true}, {Name: "m", Type: word},
	}, out.Columns)
}

// TestRegularFilesHaveNoLead checks that no comments and no lines before the header are found if all
// records have the same number of fields and the first record has no empty field.
func TestRegularFilesHaveNoLead(t *testing.T) {
	value := rapid.OneOf(rapid.SampledFrom([]string{"", "#", "# x", "#1", "1", "NA", "a b", "2024-01-01", "x\ny", "it's"}), rapid.String())
	path := filepath.Join(t.TempDir(), "sample")
	rapid.Check(t, func(rt *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(rt, "delimiter")
		columns, rows := rapid.IntRange(1, 4).Draw(rt, "columns"), rapid.IntRange(0, 6).Draw(rt, "rows")
		var b strings.Builder
		for row := range rows + 1 {
			for i := range columns {
				if i > 0 {
					b.WriteString(delimiter)
				}
				text := value.Draw(rt, "value")
				if row == 0 {
					text = rapid.StringMatching(`#?[a-z]+`).Draw(rt, "name")
				}
				if strings.ContainsAny(text, "\"\r\n"+delimiter) {
					text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
				}
				b.WriteString(text)
			}
			b.WriteString("\n")
		}
		text := b.String()
		lead, err := csvinfer.Sample(strings.NewReader(text), csvbody.UTF8, csvbody.Options{Delimiter: delimiter}, path)
		require.NoError(rt, err)
		require.Zero(rt, lead.Skip, "%q", text)
		require.Empty(rt, lead.Comment, "%q", text)
		sample, err := os.ReadFile(path)
		require.NoError(rt, err)
		require.Equal(rt, strings.TrimPrefix(text, "\uFEFF"), string(sample))
	})
}

// TestLinesAroundTables checks that the lines around a table are found, or none if it is uncertain.
func TestLinesAroundTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample")
	for text, want := range map[string]csvinfer.Lead{
		"sep=;\r\na;b\n1;2\n":                  {Line: "a;b", Delimiter: ";"},
		"Title\n\na,b\nx,y\n":                  {Line: "a,b", Skip: 2},
		"Title\na,b\nx,y\n":                    {Line: "Title"},        // the second line may be a row
		"Title\na,b\n1,y\n":                    {Line: "a,b", Skip: 1}, // the names are no numbers
		"Title\n\n1,y\n2,x\n":                  {Line: "Title"},        // no header
		"Title\n\na,b\nx,y\nz\n":               {Line: "Title"},        // a short row
		"a,b\nx,y\nTotal\n":                    {Line: "a,b"},
		"k,v\n\na,b,c,d\n1,2,3,4\n":            {Line: "a,b,c,d", Skip: 2},
		"k,v\n\na,b,c\n1,2,3\n":                {Line: "a,b,c", Skip: 2},
		"k,v\na,b,c\n1,2,3\n":                  {Line: "k,v"},
		"\n\na,b\n1,2\n":                       {Line: "a,b", Skip: 2},
		"# x\na,b\n1,2\n":                      {Line: "a,b", Comment: "#"},
		"# x\n\na,b\n1,2\n":                    {Line: "a,b", Skip: 2},
		"# x\n\na,b\n1,2\n#\n":                 {Line: "a,b", Skip: 2, Comment: "#"},
		"Title\n# x\na,b\n1,2\n":               {Line: "a,b", Skip: 2},
		"# x, y\na,b\n1,2\n":                   {Line: "# x, y"}, // as many fields as a row
		"#a,b\n1,2\n":                          {Line: "#a,b"},
		"# x\n#a,b\n1,2\n":                     {Line: "#a,b", Skip: 1},
		"a,b\n#x,1\n#y,2\n# z\n":               {Line: "a,b"}, // two of them may be rows
		"a,b\n1,\"\n# x\"\n":                   {Line: "a,b"}, // within quotes
		"# \"x\na,b\n1,2\n":                    {Line: "a,b", Comment: "#"},
		"a,b\n#x,\"1\n2\",\n3,4\n":             {Line: "a,b"},
		"a,b\n#,,\"1\n2\"\n3,4\n":              {Line: "a,b"}, // the field in quotes may be of a row
		"T\n\na,b\n1,\"x \"\"y, z\"\", \n\"\n": {Line: "a,b", Skip: 2},
		"#x\n#y\n":                             {Line: "#x"},
		"Report,,\n,,\nid,v,w\n1,2,3\n":        {Line: "id,v,w", Skip: 2},
		"id,,\n1,2,3\n4,5,6\n":                 {Line: "id,,"},
		"T\n\na,b\n" + strings.Repeat("\"x\",\""+strings.Repeat("y\n", 9_000)+"\"\n", 20): {Line: "a,b", Skip: 2},
		strings.Repeat("x\n", 1500) + "a,b\n1,2\n":                                        {Line: "x"},
	} {
		lead, err := csvinfer.Sample(strings.NewReader(text), csvbody.UTF8, csvbody.Options{}, path)
		require.NoError(t, err)
		require.Equal(t, want, lead, "%.40q", text)
	}
}

// endless is a text that never ends.
type endless struct{ text string }

func (e endless) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	return n, nil
}

// watched samples the live memory while it is read.
type watched struct {
	io.Reader
	read, peak uint64
}

func (w *watched) sample() {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	w.peak = max(w.peak, now.HeapAlloc)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if before := w.read / (8 << 20); (w.read+uint64(n))/(8<<20) > before {
		w.sample()
	}
	w.read += uint64(n)
	return n, err
}

// allocated returns the memory that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryIsBounded(t *testing.T) {
	const gigabytes = 2 << 30
	require.Less(t, allocated(func() {
		body := io.MultiReader(strings.NewReader("a,b\n1,\"x\ny\"\n1,"), io.LimitReader(endless{"x"}, gigabytes))
		_, err := csvinfer.Infer(t.Context(), body, csvinfer.Request{})
		require.EqualError(t, err, "body is no CSV: line 4: a line is longer than 16777216 bytes")
	}), uint64(128<<20))
	require.Less(t, allocated(func() {
		_, err := csvinfer.Infer(t.Context(), io.LimitReader(endless{"a,"}, gigabytes), csvinfer.Request{})
		require.EqualError(t, err, "body is no CSV: line 1 (byte 0): a record has more than 20000 fields")
	}), uint64(128<<20))
	// Many columns of long values that all differ.
	var text strings.Builder
	text.WriteString(strings.Repeat("c,", 9_999) + "c\n")
	for n := range 20 {
		text.WriteString(strings.Repeat(fmt.Sprintf("%0500d,", n), 9_999) + "x\n")
	}
	body := &watched{Reader: strings.NewReader(text.String())}
	body.sample()
	first := body.peak
	in, err := csvinfer.Infer(t.Context(), body, csvinfer.Request{})
	require.NoError(t, err)
	require.Len(t, in.Columns, 10_000)
	require.Less(t, body.peak-first, uint64(96<<20))
	dir := t.TempDir()
	require.Less(t, allocated(func() {
		_, err := csvinfer.Spool(t.Context(), io.LimitReader(endless{"x"}, gigabytes), "", dir, 1<<20)
		require.ErrorIs(t, err, staging.ErrTooLarge)
	}), uint64(8<<20))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestEncodingsAreDetected(t *testing.T) {
	long := strings.Repeat("plain ascii text, ", 20_000)
	for _, c := range []struct {
		text string
		want csvbody.Encoding
	}{
		{"a,b\n", csvbody.UTF8}, {"ä,b\n", csvbody.UTF8}, {long + "ä", csvbody.UTF8}, {long + "\xe4", csvbody.Windows1252},
		{long + "\x81", csvbody.Latin1}, {"äöü\xff", csvbody.UTF8}, {"a\xc3", csvbody.Windows1252}, {"\xff\xfea\x00", csvbody.UTF16},
		{"\xfe\xff\x00a", csvbody.UTF16}, {"a\x00,\x00b\x00", csvbody.UTF16}, {"\x00a\x00,\x00b", csvbody.UTF16},
	} {
		dir := t.TempDir()
		for _, body := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			s, err := csvinfer.Spool(t.Context(), body, "", dir, 0)
			require.NoError(t, err)
			got, err := s.Encoding("")
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%.20q", c.text)
			stored, err := os.ReadFile(filepath.Join(dir, s.File))
			require.NoError(t, err)
			require.Equal(t, c.text, string(stored))
			require.EqualValues(t, len(c.text), s.Bytes)
			got, err = s.Encoding(csvbody.Latin1)
			if c.want != csvbody.UTF16 {
				require.NoError(t, err)
				require.Equal(t, csvbody.Latin1, got)
			}
		}
	}
	s, err := csvinfer.Spool(t.Context(), strings.NewReader("PAR1\n\x15\x04\x00"), "", t.TempDir(), 0)
	require.NoError(t, err)
	_, err = s.Encoding("")
	require.EqualError(t, err, "body is no CSV: line 2 (byte 7): a zero byte: the file is not text")
}

func TestSamplesAreWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample")
	lead, err := csvinfer.Sample(strings.NewReader("\uFEFFa,b\n1,2"), csvbody.UTF8, csvbody.Options{}, path)
	require.NoError(t, err)
	require.Equal(t, csvinfer.Lead{Line: "a,b"}, lead)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a,b\n1,2", string(text))

	lead, err = csvinfer.Sample(endless{"a,b\n"}, csvbody.Windows1252, csvbody.Options{}, path)
	require.NoError(t, err)
	require.Equal(t, "a,b", lead.Line)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, info.Size())

	lead, err = csvinfer.Sample(endless{"x"}, csvbody.UTF8, csvbody.Options{}, path)
	require.NoError(t, err)
	require.Empty(t, lead)
	_, err = csvinfer.Sample(iotest.ErrReader(os.ErrClosed), csvbody.UTF8, csvbody.Options{}, path)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestNamesThatTablesCanHave(t *testing.T) {
	header := "a,A, a ,a_2,,x=(y);z,\u202etext," + strings.Repeat("ä", 200) + ",\xff\n"
	in, err := csvinfer.Infer(t.Context(), strings.NewReader(header), csvinfer.Request{})
	require.NoError(t, err)
	var names []string
	for _, c := range in.Columns {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"a", "A_2", "a_3", "a_2_2", "column5", "x_y_z", "text", strings.Repeat("ä", 120), "_"}, names)
	require.Equal(t, strings.Join(names, ","), in.Options.Columns)

	var wide strings.Builder
	for i := range 2000 {
		wide.WriteString("a name " + strconv.Itoa(i) + ",")
	}
	in, err = csvinfer.Infer(t.Context(), strings.NewReader(wide.String()+"x\n"), csvinfer.Request{})
	require.NoError(t, err)
	require.Equal(t, []csvinfer.Problem{{Line: 1, Message: "the names of the columns are too long for csv_columns: shorten them, " +
		"without characters that tables do not allow"}}, in.Problems)
}

// TestDoubtfulFiles: what is uncertain is a problem, and no type changes a value.
func TestDoubtfulFiles(t *testing.T) {
	for _, c := range []struct {
		text     string
		types    []csvinfer.Kind
		nullable []bool
		problems int
	}{
		{"n\n135217135789158401\n1e3\n", []csvinfer.Kind{csvinfer.Text}, []bool{false}, 0},
		{"n\n9007199254740992\n1e3\n", []csvinfer.Kind{csvinfer.Double}, []bool{false}, 0},
		{"n\n9007199254740993\nNaN\n", []csvinfer.Kind{csvinfer.Text}, []bool{false}, 0},
		{"1,2\n3,4\r\n", []csvinfer.Kind{csvinfer.Long, csvinfer.Long}, []bool{false, false}, 1},
		{"id,2019\n3,4\n", []csvinfer.Kind{csvinfer.Long, csvinfer.Long}, []bool{false, false}, 0},
		{"n,s\n\"\",\"\"\n\"4\",x\n", []csvinfer.Kind{csvinfer.Long, csvinfer.Text}, []bool{true, false}, 0},
	} {
		in, err := csvinfer.Infer(t.Context(), strings.NewReader(c.text), csvinfer.Request{})
		require.NoError(t, err)
		for i, column := range in.Columns {
			require.Equal(t, c.types[i], column.Type.Kind, "%q", c.text)
			require.Equal(t, c.nullable[i], column.Nullable, "%q", c.text)
		}
		require.Len(t, in.Problems, c.problems, "%q: %v", c.text, in.Problems)
		if c.problems == 0 {
			load(t, t.TempDir(), c.text, in)
		}
	}
	big := "\x00n\x00,\x00s\x00\n\x007\x00,\x00x"
	in, err := csvinfer.Infer(t.Context(), strings.NewReader(big), csvinfer.Request{Encoding: csvbody.UTF16})
	require.NoError(t, err)
	require.Equal(t, []string{"n", "s"}, []string{in.Columns[0].Name, in.Columns[1].Name})
	require.EqualValues(t, 1, load(t, t.TempDir(), big, in))
	_, err = csvinfer.Infer(t.Context(), strings.NewReader("1,2\n3,4\n"), csvinfer.Request{Given: csvbody.Options{Header: "present"}})
	require.NoError(t, err)
}
