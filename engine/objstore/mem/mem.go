package mem

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the checksum that stores have of their objects
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Bucket is an objstore.Bucket in memory. The zero value is not usable.
type Bucket struct {
	mu      sync.RWMutex
	objects map[string]object
}

type object struct {
	content []byte
	modTime time.Time
}

var (
	_ objstore.Bucket = (*Bucket)(nil)
	_ objstore.Summer = (*Bucket)(nil)
)

// New returns an empty bucket.
func New() *Bucket { return &Bucket{objects: map[string]object{}} }

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.GetRange(ctx, name, 0, -1)
}

// GetRange implements objstore.Bucket.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	found, err := b.find(ctx, objstore.OpGet, name)
	if err != nil {
		return nil, err
	}
	start, end := objstore.Range(int64(len(found.content)), offset, length)
	return objstore.Body(ctx, bytes.NewReader(found.content[start:end]), io.NopCloser(nil)), nil
}

// Stat implements objstore.Bucket.
func (b *Bucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	found, err := b.find(ctx, objstore.OpStat, name)
	if err != nil {
		return objstore.Object{}, err
	}
	return found.describe(name), nil
}

// Sums implements objstore.Summer.
func (b *Bucket) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	found, err := b.find(ctx, objstore.OpStat, name)
	if err != nil {
		return objstore.Sums{}, err
	}
	return found.sums(), nil
}

// List implements objstore.Bucket. It lists the bucket's state at the start of the iteration.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if err := objstore.ValidPrefix(prefix); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		list := b.matching(prefix, opts)
		for i := 0; ; i++ {
			if err := ctx.Err(); err != nil {
				yield(objstore.Object{}, fmt.Errorf("list %q: %w", prefix, err))
				return
			}
			if i == len(list) || !yield(list[i], nil) {
				return
			}
		}
	}
}

// Put implements objstore.Bucket.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if err := check(ctx, objstore.OpPut, name); err != nil {
		return err
	}
	content, err := io.ReadAll(objstore.Exactly(ctx, body, size))
	if err != nil {
		return fmt.Errorf("put %q: %w", name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[name] = object{content: content, modTime: time.Now()}
	return nil
}

// PutIfAbsent implements objstore.Bucket.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := check(ctx, objstore.OpPutIfAbsent, name); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, exists := b.objects[name]; exists {
		return fmt.Errorf("put_if_absent %q: %w", name, objstore.ErrExists)
	}
	b.objects[name] = object{content: bytes.Clone(body), modTime: time.Now()}
	return nil
}

// Delete implements objstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := check(ctx, objstore.OpDelete, name); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, name)
	return nil
}

func check(ctx context.Context, op objstore.Op, name string) error {
	if err := objstore.ValidName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %q: %w", op, name, err)
	}
	return nil
}

func (b *Bucket) find(ctx context.Context, op objstore.Op, name string) (object, error) {
	if err := check(ctx, op, name); err != nil {
		return object{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	found, ok := b.objects[name]
	if !ok {
		return object{}, fmt.Errorf("%s %q: %w", op, name, objstore.ErrNotFound)
	}
	return found, nil
}

// matching returns the whole listing, sorted.
func (b *Bucket) matching(prefix string, opts objstore.ListOptions) []objstore.Object {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var list []objstore.Object
	folders := map[string]bool{}
	for name, found := range b.objects {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		entry := found.describe(name)
		if slash := strings.IndexByte(rest, '/'); opts.Shallow && slash >= 0 {
			entry = objstore.Object{Name: prefix + rest[:slash+1]}
			if folders[entry.Name] {
				continue
			}
			folders[entry.Name] = true
		}
		if entry.Name > opts.StartAfter {
			list = append(list, entry)
		}
	}
	slices.SortFunc(list, func(x, y objstore.Object) int { return strings.Compare(x.Name, y.Name) })
	return list
}

func (o object) describe(name string) objstore.Object {
	return objstore.Object{Name: name, Size: int64(len(o.content)), ModTime: o.modTime, Sums: o.sums()}
}

func (o object) sums() objstore.Sums {
	sum := md5.Sum(o.content) //nolint:gosec // see the import
	return objstore.Sums{MD5: sum[:]}
}
