package objstoretest

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

func testPut(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	large := strings.Repeat("0123456789abcdef", 5<<16) // 5 MiB
	for _, content := range []string{"first", "", large, "a later and longer first"} {
		MustPut(t, bucket, "a/b/c", content)
		require.True(t, content == MustGet(t, bucket, "a/b/c"), "content of %d bytes", len(content))
		object, err := bucket.Stat(ctx, "a/b/c")
		require.NoError(t, err)
		require.Equal(t, "a/b/c", object.Name)
		require.EqualValues(t, len(content), object.Size)
		require.WithinDuration(t, time.Now(), object.ModTime, 24*time.Hour)
	}
	require.Equal(t, []string{"a/b/c"}, MustList(t, bucket, ""))

	// A reader sees the content that it opened.
	open, err := bucket.Get(ctx, "a/b/c")
	require.NoError(t, err)
	MustPut(t, bucket, "a/b/c", "replaced")
	require.Equal(t, "a later and longer first", mustRead(t, open, nil))
	require.Equal(t, "replaced", MustGet(t, bucket, "a/b/c"))
}

// testPutSize: a body of the wrong length leaves no trace.
func testPutSize(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	MustPut(t, bucket, "kept", "old")
	broken := errors.New("broken body")
	for _, test := range []struct {
		name string
		body io.Reader
		size int64
		want error
	}{
		{"short", strings.NewReader("12345"), 6, objstore.ErrSize},
		{"long", strings.NewReader("12345"), 4, objstore.ErrSize},
		{"not empty", strings.NewReader("12345"), 0, objstore.ErrSize},
		{"negative", strings.NewReader(""), -1, objstore.ErrSize},
		{"broken", io.MultiReader(strings.NewReader("123"), brokenReader{broken}), 6, broken},
	} {
		for _, name := range []string{"kept", "folder/new"} {
			require.ErrorIs(t, bucket.Put(ctx, name, test.body, test.size), test.want, "%s %s", test.name, name)
		}
	}
	require.Equal(t, "old", MustGet(t, bucket, "kept"))
	require.Equal(t, []string{"kept"}, MustList(t, bucket, ""))
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func testPutIfAbsent(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	body := []byte("first")
	require.NoError(t, bucket.PutIfAbsent(ctx, "log/0.json", body))
	body[0] = 'X' // the store must have a copy
	err := bucket.PutIfAbsent(ctx, "log/0.json", []byte("second"))
	require.ErrorIs(t, err, objstore.ErrExists)
	require.NotErrorIs(t, err, objstore.ErrUnknown)
	require.Equal(t, "first", MustGet(t, bucket, "log/0.json"))

	MustPut(t, bucket, "log/1.json", "put")
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, "log/1.json", []byte("lost")), objstore.ErrExists)
	require.Equal(t, "put", MustGet(t, bucket, "log/1.json"))

	require.NoError(t, bucket.PutIfAbsent(ctx, "log/2.json", nil), "an empty object")
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, "log/2.json", nil), objstore.ErrExists)
	require.Empty(t, MustGet(t, bucket, "log/2.json"))

	require.NoError(t, bucket.Delete(ctx, "log/0.json"))
	require.NoError(t, bucket.PutIfAbsent(ctx, "log/0.json", []byte("again")))
	require.Equal(t, "again", MustGet(t, bucket, "log/0.json"))
}

func testMissing(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	MustPut(t, bucket, "folder/object", "x")
	for _, name := range []string{"missing", "folder", "folder/missing", "fold", "folder/object/below"} {
		_, err := bucket.Get(ctx, name)
		require.ErrorIs(t, err, objstore.ErrNotFound, name)
		_, err = bucket.GetRange(ctx, name, 0, 0)
		require.ErrorIs(t, err, objstore.ErrNotFound, name)
		_, err = bucket.Stat(ctx, name)
		require.ErrorIs(t, err, objstore.ErrNotFound, name)
		require.NoError(t, bucket.Delete(ctx, name), name)
	}
	require.Equal(t, []string{"folder/object"}, MustList(t, bucket, ""))
	require.Empty(t, MustList(t, bucket, "missing/"))
	require.Empty(t, MustList(t, bucket, "folder/object/"))
}

func testDelete(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	MustPut(t, bucket, "t/a/1", "x")
	MustPut(t, bucket, "t/a/2", "y")
	require.NoError(t, bucket.Delete(ctx, "t/a/1"))
	require.NoError(t, bucket.Delete(ctx, "t/a/1"), "twice")
	require.Equal(t, []string{"t/a/2"}, MustList(t, bucket, ""))
	require.NoError(t, bucket.Delete(ctx, "t/a/2"))
	require.Empty(t, MustList(t, bucket, ""))
	require.Empty(t, mustNames(t, bucket, "", objstore.ListOptions{Shallow: true}), "no folder stays behind")
	MustPut(t, bucket, "t/a/1", "again")
	require.Equal(t, "again", MustGet(t, bucket, "t/a/1"))
}

func testRanges(t *testing.T, bucket objstore.Bucket, _ Config) {
	const content = "0123456789"
	MustPut(t, bucket, "o", content)
	MustPut(t, bucket, "empty", "")
	offsets := []int64{0, 1, 4, 9, 10, 11, math.MaxInt64, -1, -4, -10, -11, math.MinInt64}
	lengths := []int64{0, 1, 4, 10, 11, math.MaxInt64, -1, math.MinInt64}
	for _, offset := range offsets {
		for _, length := range lengths {
			for name, whole := range map[string]string{"o": content, "empty": ""} {
				body, err := bucket.GetRange(context.Background(), name, offset, length)
				require.NoError(t, err, "%s offset %d length %d", name, offset, length)
				require.Equal(t, slowRange(whole, offset, length), mustRead(t, body, nil), "%s offset %d length %d", name, offset, length)
			}
		}
	}
}

// slowRange decides for each byte separately whether it is in the range.
func slowRange(content string, offset, length int64) string {
	first := float64(offset)
	if offset < 0 {
		first = math.Max(0, float64(len(content))+first)
	}
	var out strings.Builder
	for i := range len(content) {
		at := float64(i)
		if at >= first && (length < 0 || at < first+float64(length)) {
			out.WriteByte(content[i])
		}
	}
	return out.String()
}

// nastyNames are valid and collide with escaping, sorting and hiding rules.
var nastyNames = []string{
	"plain", "with space", " lead", "trail ", "a%41", "a%2Fb", "100%", "é", "e\u0301", "日本/語",
	"x=1/y=a b/part-0.parquet", "x=%20/y", "_delta_log/00000000000000000000.json", ".hidden/.file",
	"...", "..a", "a..", "q?x=1&y", "hash#1", "plus+", "star*", "semi;colon", `back\slash`, `quo"te`, "it's",
	"<tag>&amp;", "~tilde", "[b]", "{c}", "$HOME", "`x`", "|", ":", "@", ",", "-rf", "con/aux", "\U0001F600",
}

func testNames(t *testing.T, bucket objstore.Bucket, config Config) {
	ctx := context.Background()
	var names []string
	for _, name := range nastyNames {
		if strings.ContainsAny(name, config.Without) {
			require.ErrorIs(t, bucket.PutIfAbsent(ctx, name, nil), objstore.ErrInvalidName, name)
			_, err := bucket.Stat(ctx, name)
			require.ErrorIs(t, err, objstore.ErrInvalidName, name)
			continue
		}
		names = append(names, name)
	}
	if config.MaxSegment > 0 {
		names = append(names, strings.Repeat("s", config.MaxSegment))
		tooLong := strings.Repeat("s", config.MaxSegment+1)
		require.ErrorIs(t, bucket.PutIfAbsent(ctx, tooLong, nil), objstore.ErrInvalidName)
		require.ErrorIs(t, bucket.Put(ctx, tooLong+"/x", strings.NewReader(""), 0), objstore.ErrInvalidName)
	}
	for i, name := range names {
		if i%2 == 0 {
			MustPut(t, bucket, name, "content of "+name)
		} else {
			require.NoError(t, bucket.PutIfAbsent(ctx, name, []byte("content of "+name)), name)
		}
	}
	for _, name := range names {
		require.Equal(t, "content of "+name, MustGet(t, bucket, name), name)
		require.ErrorIs(t, bucket.PutIfAbsent(ctx, name, nil), objstore.ErrExists, name)
		object, err := bucket.Stat(ctx, name)
		require.NoError(t, err, name)
		require.EqualValues(t, len("content of "+name), object.Size)
		require.Equal(t, []string{name}, MustList(t, bucket, name), "an exact prefix")
	}
	slices.Sort(names)
	require.Equal(t, names, MustList(t, bucket, ""))
	for _, name := range names {
		require.NoError(t, bucket.Delete(ctx, name), name)
	}
	require.Empty(t, MustList(t, bucket, ""))
}

func testInvalidNames(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	MustPut(t, bucket, "a/b", "x")
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "./a", "../a", "a/./b", "a/../b", "a/..", "a/.", "a/b/../../..",
		"nul\x00", "line\nfeed", "del\x7f", "bad\xff", strings.Repeat("a/", 600) + "b",
	} {
		_, err := bucket.Get(ctx, name)
		require.ErrorIs(t, err, objstore.ErrInvalidName, "%q", name)
		_, err = bucket.GetRange(ctx, name, 0, 1)
		require.ErrorIs(t, err, objstore.ErrInvalidName, "%q", name)
		_, err = bucket.Stat(ctx, name)
		require.ErrorIs(t, err, objstore.ErrInvalidName, "%q", name)
		require.ErrorIs(t, bucket.Put(ctx, name, strings.NewReader(""), 0), objstore.ErrInvalidName, "%q", name)
		require.ErrorIs(t, bucket.PutIfAbsent(ctx, name, nil), objstore.ErrInvalidName, "%q", name)
		require.ErrorIs(t, bucket.Delete(ctx, name), objstore.ErrInvalidName, "%q", name)
	}
	require.Equal(t, []string{"a/b"}, MustList(t, bucket, ""))
}

func testFolderAndObject(t *testing.T, bucket objstore.Bucket, config Config) {
	ctx := context.Background()
	MustPut(t, bucket, "object", "x")
	MustPut(t, bucket, "folder/object", "y")
	for _, name := range []string{"object/below", "object/far/below", "folder"} {
		put := bucket.Put(ctx, name, strings.NewReader("p"), 1)
		create := bucket.PutIfAbsent(ctx, name, []byte("c"))
		if config.Folders {
			require.ErrorIs(t, put, objstore.ErrInvalidName, name)
			require.ErrorIs(t, create, objstore.ErrInvalidName, name)
			continue
		}
		require.NoError(t, put, name)
		require.ErrorIs(t, create, objstore.ErrExists, name)
		require.Equal(t, "p", MustGet(t, bucket, name))
	}
	require.Equal(t, "x", MustGet(t, bucket, "object"))
	require.Equal(t, "y", MustGet(t, bucket, "folder/object"))
}

func testCancelled(t *testing.T, bucket objstore.Bucket, _ Config) {
	MustPut(t, bucket, "a/kept", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := bucket.Get(ctx, "a/kept")
	require.ErrorIs(t, err, context.Canceled)
	_, err = bucket.GetRange(ctx, "a/kept", 0, 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = bucket.Stat(ctx, "a/kept")
	require.ErrorIs(t, err, context.Canceled)
	for _, write := range []error{
		bucket.Put(ctx, "a/new", strings.NewReader("y"), 1),
		bucket.PutIfAbsent(ctx, "a/new", []byte("y")),
		bucket.Delete(ctx, "a/kept"),
	} {
		require.ErrorIs(t, write, context.Canceled)
		require.NotErrorIs(t, write, objstore.ErrUnknown, "nothing was sent")
	}
	for _, prefix := range []string{"", "a/", "missing/"} {
		errs := 0
		for object, err := range bucket.List(ctx, prefix, objstore.ListOptions{}) {
			require.ErrorIs(t, err, context.Canceled, "%q %v", prefix, object)
			errs++
		}
		require.Equal(t, 1, errs, prefix)
	}
	require.Equal(t, []string{"a/kept"}, MustList(t, bucket, ""))
}
