package contentcoding_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

func gzipped(tb testing.TB, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func zstandard(tb testing.TB, text string, options ...zstd.EOption) []byte {
	tb.Helper()
	w, err := zstd.NewWriter(nil, options...)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, w.Close()) }()
	return w.EncodeAll([]byte(text), nil)
}

func read(body io.Reader, coding contentcoding.Coding) (string, error) {
	r := contentcoding.NewReader(body, coding)
	text, err := io.ReadAll(r)
	return string(text), errors.Join(err, r.Close())
}

func TestBodiesAreDecompressed(t *testing.T) {
	const text = "id,name\n1,a\n"
	for name, body := range map[contentcoding.Coding][]byte{
		"": []byte(text), "gzip": gzipped(t, text), "zstd": zstandard(t, text),
	} {
		got, err := read(iotest.OneByteReader(bytes.NewReader(body)), name)
		require.NoError(t, err)
		require.Equal(t, text, got)
		if name != "" {
			require.Equal(t, name, contentcoding.Detect(body))
			got, err = read(bytes.NewReader(append(body, body...)), name)
			require.NoError(t, err, "members and frames follow one another")
			require.Equal(t, text+text, got)
			_, err = read(bytes.NewReader(nil), name)
			require.ErrorIs(t, err, staging.ErrTruncated)
			for n := 1; n < len(body); n++ {
				var syntax *staging.SyntaxError
				_, err := read(bytes.NewReader(body[:n]), name)
				require.ErrorAs(t, err, &syntax, "%s: %d bytes", name, n)
				require.Equal(t, "the compressed data is cut off", syntax.Text)
				require.EqualValues(t, n, syntax.Offset)
			}
			for _, damaged := range [][]byte{[]byte(text), append(bytes.Clone(body), "more"...), append(bytes.Clone(body[:4]), text...)} {
				var syntax *staging.SyntaxError
				_, err := read(bytes.NewReader(damaged), name)
				require.ErrorAs(t, err, &syntax, "%s: %q", name, damaged)
			}
		}
		broken := errors.New("broken")
		_, err = read(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(broken)), name)
		require.ErrorIs(t, err, broken, "the error of the body is that of the reader")
	}
	got, err := read(bytes.NewReader(gzipped(t, "")), contentcoding.Gzip)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestWindowsAreBounded(t *testing.T) {
	var huge bytes.Buffer
	w, err := zstd.NewWriter(&huge, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 65<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = read(&huge, contentcoding.Zstd)
	var syntax *staging.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, "its window is larger than 8 MiB", syntax.Text)
}

func TestCodingsAreNamed(t *testing.T) {
	for name, want := range map[string]contentcoding.Coding{
		"": "", "identity": "", "gzip": "gzip", " GZIP ": "gzip", "x-gzip": "gzip", "zstd": "zstd", "ZStd": "zstd",
	} {
		got, err := contentcoding.Parse(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, name := range []string{"br", "deflate", "compress", "gzip, gzip", "gzip,", "gzip;q=1", strings.Repeat("x", 1<<16)} {
		_, err := contentcoding.Parse(name)
		require.ErrorIs(t, err, contentcoding.ErrUnknown, name)
	}
	require.Equal(t, contentcoding.Identity, contentcoding.Detect([]byte("id,")))
	require.Equal(t, contentcoding.Identity, contentcoding.Detect(nil))
}
