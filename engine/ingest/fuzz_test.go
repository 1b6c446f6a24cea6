package ingest_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// FuzzJSON: what is taken is JSON for another decoder too, with as many rows and
// the same members.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"rows":[{"a":1,"b":"x"},[2,null,[],{},"1.5","v"]],"on":["a"]}`,
		`{"rows":[{"l":[{"x":"\u00e9","y":"NaN"}],"m":{"k":1}}]} `, `{"rows":[],"rows":[]}`, `{"on":{"a":[1e5]}}`, `[`, "\uFEFF{}",
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		staged, err := ingest.Stage(t.Context(), bytes.NewReader(body), ingest.Request{
			Format: staging.JSON, Columns: hostileTable, Dir: dir, Limits: staging.Limits{Bytes: 1 << 16}})
		if err != nil {
			requireEmpty(t, dir)
			requireOurs(t, err)
			return
		}
		defer os.Remove(filepath.Join(dir, staged.File))
		var whole map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(bytes.TrimPrefix(body, []byte("\uFEFF")), &whole))
		var rows []json.RawMessage
		require.NoError(t, json.Unmarshal(whole["rows"], &rows))
		require.EqualValues(t, len(rows), staged.Rows)
		require.Len(t, whole, len(staged.Members)+1)
		require.Len(t, readFile(t, filepath.Join(dir, staged.File)), len(rows))
	})
}

// FuzzNDJSON: texts come out as another decoder reads them.
func FuzzNDJSON(f *testing.F) {
	for _, seed := range []string{`{"b":"x"}` + "\n" + `{"b":null}`, `["\ud83d\ude00"]`, `{"B":"\\\""} {"b":""}`,
		`{"b":"x","b":"y"}`, `{"c":1}`, `{`} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		staged, err := ingest.Stage(t.Context(), bytes.NewReader(body), ingest.Request{
			Format: staging.NDJSON, Columns: columns("b", "VARCHAR"), Dir: dir})
		if err != nil {
			requireEmpty(t, dir)
			requireOurs(t, err)
			return
		}
		defer os.Remove(filepath.Join(dir, staged.File))
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
		for _, row := range readFile(t, filepath.Join(dir, staged.File)) {
			var want any
			require.NoError(t, decoder.Decode(&want))
			switch want := want.(type) {
			case map[string]any:
				var value any
				for _, v := range want {
					value = v
				}
				require.Equal(t, value, row[0])
			case []any:
				require.Equal(t, want[0], row[0])
			default:
				require.Fail(t, "not a row")
			}
		}
		require.ErrorIs(t, decoder.Decode(new(any)), io.EOF)
	})
}

// FuzzCSV: records are those of another reader, where that one is as strict.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,x\n", "b\r\n\"x\"\"y\n\"\r\n", "b\n\n\"\"\n", "a;b", "b\n\"", "\uFEFFb\nx", "b\nx\"y"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		staged, err := ingest.Stage(t.Context(), bytes.NewReader(body), ingest.Request{
			Format: staging.CSV, Columns: columns("a", "VARCHAR", "b", "VARCHAR"), Dir: dir})
		if err != nil {
			requireEmpty(t, dir)
			requireOurs(t, err)
			return
		}
		defer os.Remove(filepath.Join(dir, staged.File))
		got := readFile(t, filepath.Join(dir, staged.File))
		reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
		records, err := reader.ReadAll()
		if err != nil || bytes.HasPrefix(body, []byte("\n")) || bytes.HasPrefix(body, []byte("\r\n")) {
			return // it is stricter about a header that is empty
		}
		if len(records[0]) < 2 {
			return // it leaves out empty lines, which are rows of one column
		}
		require.Len(t, got, len(records)-1)
		for i, row := range got {
			for c := range records[0] {
				at := c
				if !strings.EqualFold(records[0][0], "a") {
					at = 1 - c
				}
				text, _ := row[at].(string)
				// The other reader also makes one line feed of two characters in quotes.
				require.Equal(t, records[i+1][c], strings.ReplaceAll(text, "\r\n", "\n"))
			}
		}
	})
}

// FuzzArrow: no stream panics or keeps memory.
func FuzzArrow(f *testing.F) {
	for _, seed := range hostileSeeds(f) {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := attempt(t, dir, staging.Arrow, body); err != nil {
			requireOurs(t, err)
		}
	})
}

// requireOurs wants an error that callers can tell apart.
func requireOurs(tb testing.TB, err error) {
	tb.Helper()
	var syntax *staging.SyntaxError
	var rows *staging.RowsError
	for _, is := range []error{staging.ErrTruncated, staging.ErrTooLarge, staging.ErrTooDeep, staging.ErrNoRows} {
		if errors.Is(err, is) {
			return
		}
	}
	require.True(tb, errors.As(err, &syntax) || errors.As(err, &rows), "%T %v", err, err)
}
