package objstoretest_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// mutants are stores with one defect each, and the test of the suite that has
// to see it.
var mutants = map[string]struct {
	caughtBy string
	bucket   objstore.Bucket
}{
	"ignores the condition": {"PutIfAbsent", &mutant{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
		return b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body)))
	}}},
	"looks before it writes": {"RacePutIfAbsent", &mutant{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
		if _, err := b.Stat(context.Background(), name); err == nil {
			return objstore.ErrExists
		}
		for range 1000 {
			runtime.Gosched()
		}
		return b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body)))
	}}},
	"tells a loser that it won": {"RacePutIfAbsent", &mutant{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
		_ = b.PutIfAbsent(context.Background(), name, body)
		return nil
	}}},
	"writes in parts": {"RacePut", &mutant{put: func(b objstore.Bucket, name string, body []byte) error {
		half := bytes.NewReader(body[:len(body)/2])
		if err := b.Put(context.Background(), name, half, half.Size()); err != nil {
			return err
		}
		return b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body)))
	}}},
	"trusts the size": {"PutSize", &mutant{put: func(b objstore.Bucket, name string, body []byte) error {
		return b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body)))
	}}},
	"sorts folders without their slash": {"List", &mutant{list: func(objects []objstore.Object) {
		for i := 1; i < len(objects); i++ {
			if strings.HasSuffix(objects[i].Name, "/") && strings.HasPrefix(objects[i-1].Name, strings.TrimSuffix(objects[i].Name, "/")) {
				objects[i-1], objects[i] = objects[i], objects[i-1]
			}
		}
	}}},
	"lists no sizes": {"List", &mutant{list: func(objects []objstore.Object) {
		for i := range objects {
			objects[i].Size = 0
		}
	}}},
	"fails to delete the missing": {"Delete", &mutant{remove: func(b objstore.Bucket, name string) error {
		if _, err := b.Stat(context.Background(), name); err != nil {
			return err
		}
		return b.Delete(context.Background(), name)
	}}},
	"deletes nothing": {"Delete", &mutant{remove: func(objstore.Bucket, string) error { return nil }}},
}

const envMutant = "LAKEWARDEN_OBJSTORETEST_MUTANT"

// TestSuiteCatches runs each mutant in a process of its own, where it may fail.
func TestSuiteCatches(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), self, "-test.run", "^TestMutant$/^"+m.caughtBy+"$")
			command.Env = append(os.Environ(), envMutant+"="+name)
			output, err := command.CombinedOutput()
			require.Error(t, err, "the suite let it pass")
			require.Contains(t, string(output), "--- FAIL: TestMutant/"+m.caughtBy)
		})
	}
}

// TestMutant is the child of TestSuiteCatches. By itself it runs the suite on a
// mutant without a defect, which has to pass.
func TestMutant(t *testing.T) {
	chosen := &mutant{}
	if m, ok := mutants[os.Getenv(envMutant)]; ok {
		chosen = m.bucket.(*mutant)
	}
	objstoretest.Run(t, func(*testing.T) objstore.Bucket {
		fresh := *chosen
		fresh.Bucket = mem.New()
		return &fresh
	}, objstoretest.Config{})
}

type mutant struct {
	objstore.Bucket
	put         func(objstore.Bucket, string, []byte) error
	putIfAbsent func(objstore.Bucket, string, []byte) error
	remove      func(objstore.Bucket, string) error
	list        func([]objstore.Object)
}

func (m *mutant) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if m.put == nil || ctx.Err() != nil || objstore.ValidName(name) != nil {
		return m.Bucket.Put(ctx, name, body, size)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return m.put(m.Bucket, name, content)
}

func (m *mutant) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if m.putIfAbsent == nil {
		return m.Bucket.PutIfAbsent(ctx, name, body)
	}
	return m.putIfAbsent(m.Bucket, name, body)
}

func (m *mutant) Delete(ctx context.Context, name string) error {
	if m.remove == nil {
		return m.Bucket.Delete(ctx, name)
	}
	return m.remove(m.Bucket, name)
}

func (m *mutant) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	if m.list == nil {
		return m.Bucket.List(ctx, prefix, opts)
	}
	return func(yield func(objstore.Object, error) bool) {
		var objects []objstore.Object
		for object, err := range m.Bucket.List(ctx, prefix, opts) {
			if err != nil {
				yield(object, err)
				return
			}
			objects = append(objects, object)
		}
		m.list(objects)
		for _, object := range objects {
			if !yield(object, nil) {
				return
			}
		}
	}
}
