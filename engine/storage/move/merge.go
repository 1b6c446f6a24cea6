package move

import (
	"context"
	"iter"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// pair is a name that one of two buckets has, or both.
type pair struct {
	name string
	// first and second describe the object of each bucket that has it.
	first, second     objstore.Object
	inFirst, inSecond bool
}

// alike reports whether both buckets have the object, in the same size.
func (p pair) alike() bool { return p.inFirst && p.inSecond && p.first.Size == p.second.Size }

// differs reports whether the source's listing has checksums of the object and the target's does not
// confirm them.
func (p pair) differs() bool {
	equal, _ := p.first.Sums.Compare(p.second.Sums)
	return p.first.Sums.Known() && !equal
}

// pairs merges the listings of two buckets below a prefix, in byte order of the names. It omits the
// names up to startAfter. Both listings run ahead of the consumer.
func pairs(ctx context.Context, first, second objstore.Bucket, prefix, startAfter string) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		opts := objstore.ListOptions{StartAfter: startAfter}
		a, b := list(ctx, first, prefix, opts), list(ctx, second, prefix, opts)
		defer b.wait()
		defer a.wait()
		defer cancel()
		a.next()
		b.next()
		for a.err == nil && b.err == nil && (a.more || b.more) {
			var p pair
			p.inFirst = a.more && (!b.more || a.head.Name <= b.head.Name)
			p.inSecond = b.more && (!a.more || b.head.Name <= a.head.Name)
			if p.inFirst {
				p.name, p.first = a.head.Name, a.head
				a.next()
			}
			if p.inSecond {
				p.name, p.second = b.head.Name, b.head
				b.next()
			}
			if !yield(p, nil) {
				return
			}
		}
		for _, err := range []error{a.err, b.err} {
			if err != nil {
				yield(pair{}, err)
				return
			}
		}
	}
}

// ahead is the number of objects by which a listing runs ahead of its consumer: about a page.
const ahead = 500

// listing is a listing that a goroutine reads.
type listing struct {
	found  chan objstore.Object
	failed error // set before found is closed
	// head is the current object, if more is set. err is the failure of the listing, which the
	// consumer sees after the objects before it.
	head objstore.Object
	more bool
	err  error
}

// list starts a listing. The caller ends ctx and then calls wait.
func list(ctx context.Context, bucket objstore.Bucket, prefix string, opts objstore.ListOptions) *listing {
	l := &listing{found: make(chan objstore.Object, ahead)}
	go func() {
		defer close(l.found)
		for object, err := range bucket.List(ctx, prefix, opts) {
			if err != nil {
				l.failed = err
				return
			}
			select {
			case l.found <- object:
			case <-ctx.Done():
				l.failed = ctx.Err()
				return
			}
		}
	}()
	return l
}

func (l *listing) next() {
	if l.head, l.more = <-l.found; !l.more {
		l.err = l.failed
	}
}

func (l *listing) wait() {
	for range l.found { // the rest of the listing is not needed
	}
}
