package objstoretest

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Config states how a provider may differ. The zero value is an object store without folders.
type Config struct {
	// Folders reports that folders are real, so that a name cannot be both an object and a folder
	// of others; trying gives ErrInvalidName.
	Folders bool
	// MaxSegment is the maximum length of a segment of a name in bytes; 0 means that only the
	// length of the whole name is limited.
	MaxSegment int
	// Without are characters that names cannot have; trying gives ErrInvalidName.
	Without string
	// Uploads is the size in bytes from which a running write is listed as an upload; 0 is never.
	Uploads int64
	// Copies reports that the store copies objects itself.
	Copies bool
	// Sums reports that the store has checksums of its objects, at least of small ones.
	Sums bool
	// Writers is the number of writers in each race; 0 is 16.
	Writers int
	// Bodies limits the suite to what depends on how bodies are sent. It is for a second run,
	// with a store that sends them in small parts.
	Bodies bool
}

// Run runs the suite. open returns an empty bucket and registers its clean-up.
func Run(t *testing.T, open func(t *testing.T) objstore.Bucket, config Config) {
	if config.Writers == 0 {
		config.Writers = 16
	}
	type test struct {
		name string
		run  func(t *testing.T, bucket objstore.Bucket, config Config)
	}
	tests := []test{
		{"Put", testPut},
		{"PutSize", testPutSize},
		{"PutIfAbsent", testPutIfAbsent},
		{"Missing", testMissing},
		{"Delete", testDelete},
		{"Ranges", testRanges},
		{"Uploads", testUploads},
		{"Copy", testCopy},
		{"Sums", testSums},
		{"Cancelled", testCancelled},
		{"RacePutIfAbsent", testRacePutIfAbsent},
		{"RacePut", testRacePut},
		{"RaceDelete", testRaceDelete},
	}
	if !config.Bodies {
		tests = append(tests,
			test{"Names", testNames},
			test{"InvalidNames", testInvalidNames},
			test{"FolderAndObject", testFolderAndObject},
			test{"List", testList},
			test{"ListStops", testListStops},
			test{"ListInvalidPrefix", testListInvalidPrefix})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t), config) })
	}
}

// Below returns the bucket below a folder, beside objects that must never be seen.
func Below(tb testing.TB, bucket objstore.Bucket) objstore.Bucket {
	tb.Helper()
	for _, name := range []string{"a", "x/a", "x/y.a", "x/y!/a", "x/y0", "x/yy/a", "z"} {
		MustPut(tb, bucket, name, "outside")
	}
	return objstore.Prefix(bucket, "x/y")
}

// MustPut writes an object.
func MustPut(tb testing.TB, bucket objstore.Bucket, name, content string) {
	tb.Helper()
	require.NoError(tb, bucket.Put(context.Background(), name, bytes.NewReader([]byte(content)), int64(len(content))))
}

// MustGet reads an object.
func MustGet(tb testing.TB, bucket objstore.Bucket, name string) string {
	tb.Helper()
	body, err := bucket.Get(context.Background(), name)
	return mustRead(tb, body, err)
}

// MustList lists the names below a prefix.
func MustList(tb testing.TB, bucket objstore.Bucket, prefix string) []string {
	tb.Helper()
	return mustNames(tb, bucket, prefix, objstore.ListOptions{})
}

func mustNames(tb testing.TB, bucket objstore.Bucket, prefix string, opts objstore.ListOptions) []string {
	tb.Helper()
	names := []string{}
	for object, err := range bucket.List(context.Background(), prefix, opts) {
		require.NoError(tb, err)
		names = append(names, object.Name)
	}
	return names
}

func mustRead(tb testing.TB, body io.ReadCloser, err error) string {
	tb.Helper()
	require.NoError(tb, err)
	content, err := io.ReadAll(body)
	require.NoError(tb, err)
	require.NoError(tb, body.Close())
	return string(content)
}
