package file_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// outside is a root next to a directory that must stay out of reach.
func outside(t *testing.T) (bucket *file.Bucket, root, secret string) {
	parent := t.TempDir()
	root, secret = filepath.Join(parent, "root"), filepath.Join(parent, "secret")
	require.NoError(t, os.MkdirAll(root, 0o755))
	require.NoError(t, os.MkdirAll(secret, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(secret, "f"), []byte("secret"), 0o644))
	return mustNew(t, root), root, secret
}

func TestLinksToOutsideAreRefused(t *testing.T) {
	ctx := context.Background()
	bucket, root, secret := outside(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	require.NoError(t, os.Symlink(secret, filepath.Join(root, "abs")))
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "rel")))
	require.NoError(t, os.Symlink("../../secret", filepath.Join(root, "d", "up")))
	require.NoError(t, os.Symlink(filepath.Join(secret, "f"), filepath.Join(root, "file")))
	require.NoError(t, os.Symlink("d/up", filepath.Join(root, "twice")))
	for _, name := range []string{"abs/f", "rel/f", "d/up/f", "file", "twice/f"} {
		_, err := bucket.Get(ctx, name)
		require.ErrorIs(t, err, objstore.ErrDenied, name)
		_, err = bucket.GetRange(ctx, name, 0, 1)
		require.ErrorIs(t, err, objstore.ErrDenied, name)
		_, err = bucket.Stat(ctx, name)
		require.ErrorIs(t, err, objstore.ErrDenied, name)
		require.NotContains(t, err.Error(), secret)
	}
	for _, dir := range []string{"abs", "rel", "d/up", "twice"} {
		require.ErrorIs(t, bucket.Put(ctx, dir+"/new", strings.NewReader("x"), 1), objstore.ErrDenied, dir)
		require.ErrorIs(t, bucket.PutIfAbsent(ctx, dir+"/new", []byte("x")), objstore.ErrDenied, dir)
		require.ErrorIs(t, bucket.Delete(ctx, dir+"/f"), objstore.ErrDenied, dir)
		for _, err := range bucket.List(ctx, dir+"/", objstore.ListOptions{}) {
			require.ErrorIs(t, err, objstore.ErrDenied, dir)
		}
	}
	require.Empty(t, objstoretest.MustList(t, bucket, ""))
	require.Equal(t, []string{"f"}, namesIn(t, secret))

	// Writing to the link's own name replaces the link, not what it points to.
	objstoretest.MustPut(t, bucket, "file", "ours")
	require.Equal(t, "ours", objstoretest.MustGet(t, bucket, "file"))
	content, err := os.ReadFile(filepath.Join(secret, "f"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(content))
}

// TestSwappedLink replaces a folder by a link that leads outside while requests use it: no request
// follows the link.
func TestSwappedLink(t *testing.T) {
	ctx := context.Background()
	bucket, root, secret := outside(t)
	real, link, used := filepath.Join(root, "real"), filepath.Join(root, "link"), filepath.Join(root, "used")
	require.NoError(t, os.Mkdir(real, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(real, "f"), []byte("inside"), 0o644))
	require.NoError(t, os.Symlink(secret, link))
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(real, used)
				_ = os.Rename(used, real)
				_ = os.Rename(link, used)
				_ = os.Rename(used, link)
			}
		}
	})
	stopSwapper := sync.OnceFunc(func() { close(stop); swapper.Wait() })
	defer stopSwapper()
	for range 2000 {
		if body, err := bucket.Get(ctx, "used/f"); err == nil {
			content := make([]byte, 6)
			_, _ = body.Read(content)
			require.NoError(t, body.Close())
			require.Equal(t, "inside", string(content))
		}
	}
	for range 50 {
		_ = bucket.PutIfAbsent(ctx, "used/new", []byte("x"))
		_ = bucket.Delete(ctx, "used/new")
	}
	stopSwapper()
	require.Equal(t, []string{"f"}, namesIn(t, secret))
}

func TestLinksInside(t *testing.T) {
	bucket, root, _ := outside(t)
	objstoretest.MustPut(t, bucket, "d/f", "content")
	require.NoError(t, os.Mkdir(filepath.Join(root, "e"), 0o755))
	require.NoError(t, os.Symlink("../d/f", filepath.Join(root, "e", "to-file")))
	require.NoError(t, os.Symlink("../d", filepath.Join(root, "e", "to-folder")))
	require.NoError(t, os.Symlink(".", filepath.Join(root, "d", "loop")))
	require.NoError(t, os.Symlink("self", filepath.Join(root, "self")))
	require.NoError(t, os.Symlink("missing", filepath.Join(root, "dangling")))
	require.Equal(t, "content", objstoretest.MustGet(t, bucket, "e/to-file"))
	require.Equal(t, "content", objstoretest.MustGet(t, bucket, "e/to-folder/f"))
	require.Equal(t, []string{"d/f", "e/to-file"}, objstoretest.MustList(t, bucket, ""))
	_, err := bucket.Get(context.Background(), "self")
	require.ErrorIs(t, err, objstore.ErrDenied)
	_, err = bucket.Get(context.Background(), "dangling")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	require.ErrorIs(t, bucket.PutIfAbsent(context.Background(), "dangling", nil), objstore.ErrExists)
}

// TestForeignEntries: entries in the folder that are not regular files are not objects, and no
// operation hangs on them.
func TestForeignEntries(t *testing.T) {
	ctx := context.Background()
	bucket, root, _ := outside(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "line\nfeed"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "latin\xe9"), nil, 0o644))
	_, err := bucket.Get(ctx, "pipe")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	_, err = bucket.Stat(ctx, "pipe")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	require.Empty(t, objstoretest.MustList(t, bucket, ""))
}

func TestMissingRoot(t *testing.T) {
	ctx := context.Background()
	bucket, root, _ := outside(t)
	_, err := file.New(filepath.Join(root, "missing"))
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o644))
	_, err = file.New(filepath.Join(root, "f"))
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	_, err = file.Create(filepath.Join(root, "f", "below"))
	require.ErrorIs(t, err, objstore.ErrInvalidName)

	// A root that goes away is a store that is down, not an empty one.
	require.NoError(t, os.Rename(root, root+".away"))
	_, err = bucket.Get(ctx, "f")
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.NotErrorIs(t, err, objstore.ErrNotFound)
	require.ErrorIs(t, bucket.Put(ctx, "g", strings.NewReader(""), 0), objstore.ErrUnavailable)
	require.ErrorIs(t, bucket.Delete(ctx, "f"), objstore.ErrUnavailable)
	calls := 0
	for _, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		require.ErrorIs(t, err, objstore.ErrUnavailable)
		calls++
	}
	require.Equal(t, 1, calls)
	_, err = os.Stat(root)
	require.ErrorIs(t, err, fs.ErrNotExist, "nothing made it again")

	created, err := file.Create(filepath.Join(root, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "a", "b"), created.Root())
	objstoretest.MustPut(t, created, "x", "y")
	_, err = bucket.Get(ctx, "a/b/x")
	require.ErrorIs(t, err, objstore.ErrUnavailable, "another directory has its name now")
	for _, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		require.ErrorIs(t, err, objstore.ErrUnavailable)
	}
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.Rename(root+".away", root))
	require.NoError(t, bucket.Put(ctx, "g", strings.NewReader(""), 0))
}

func TestTemporaryFiles(t *testing.T) {
	ctx := context.Background()
	bucket, root, _ := outside(t)
	objstoretest.MustPut(t, bucket, "d/object", "x")
	for range 3 {
		_ = bucket.PutIfAbsent(ctx, "d/object", []byte("loses"))
		_ = bucket.Put(ctx, "d/other", strings.NewReader("short"), 100)
	}
	require.Equal(t, []string{"object"}, namesIn(t, filepath.Join(root, "d")), "every outcome cleans up")

	const temp = ".lakewarden-tmp-0123456789abcdef"
	for _, dir := range []string{"", "d", "e"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, dir, temp), []byte("half"), 0o644))
	}
	require.Equal(t, []string{"d/object"}, objstoretest.MustList(t, bucket, ""))
	_, err := bucket.Get(ctx, "d/"+temp)
	require.ErrorIs(t, err, objstore.ErrInvalidName)
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, temp+"/x", nil), objstore.ErrInvalidName)

	now := time.Now()
	require.NoError(t, os.Chtimes(filepath.Join(root, "d", temp), now, now.Add(-2*time.Hour)))
	removed, err := objstore.DiscardUploads(ctx, bucket, now.Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, removed, "the younger ones may be in use")
	removed, err = objstore.DiscardUploads(ctx, bucket, now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.Equal(t, "x", objstoretest.MustGet(t, bucket, "d/object"))
	require.Equal(t, []string{"object"}, namesIn(t, filepath.Join(root, "d")))
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
