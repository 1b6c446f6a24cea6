package remote

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Page is one page of a listing.
type Page struct {
	// Objects are the objects and folders of the page, in any order.
	Objects []objstore.Object
	// More reports whether another page follows, and Next is its token.
	More bool
	Next string
}

// List implements objstore.Bucket.List over pages. The token of the first page is empty. It omits names that objstore.ValidName refuses
// (for example folder markers of consoles), because they cannot be requested, and names up to
// opts.StartAfter. A store that does not list in order ends the listing with ErrUnavailable, because
// commits would be missed.
func List(ctx context.Context, prefix string, opts objstore.ListOptions,
	fetch func(ctx context.Context, token string) (Page, error)) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if err := objstore.ValidPrefix(prefix); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		l := listing{prefix: prefix, opts: opts, last: opts.StartAfter, yield: yield}
		if err := l.run(ctx, fetch); err != nil {
			yield(objstore.Object{}, Failed(objstore.OpList, prefix, err))
		}
	}
}

type listing struct {
	prefix string
	opts   objstore.ListOptions
	last   string
	yield  func(objstore.Object, error) bool
}

// run returns nil at the end of the listing and when the consumer stops.
func (l *listing) run(ctx context.Context, fetch func(context.Context, string) (Page, error)) error {
	token := ""
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := fetch(ctx, token)
		if err != nil {
			return err
		}
		// The page of a shallow listing has its objects and its folders separately.
		slices.SortFunc(page.Objects, func(x, y objstore.Object) int { return strings.Compare(x.Name, y.Name) })
		advanced, more, err := l.emit(ctx, page.Objects)
		switch {
		case err != nil || !more:
			return err
		case !page.More:
			return ctx.Err()
		case page.Next == "", page.Next == token && !advanced:
			return fmt.Errorf("%w: listing does not continue", objstore.ErrUnavailable)
		}
		token = page.Next
	}
}

// emit yields the objects of a page. advanced reports whether the page had a new name, and more
// whether the consumer wants the next page.
func (l *listing) emit(ctx context.Context, objects []objstore.Object) (advanced, more bool, _ error) {
	for _, object := range objects {
		switch {
		case object.Name <= l.opts.StartAfter:
			continue
		case object.Name <= l.last:
			return advanced, false, fmt.Errorf("%w: lists out of order", objstore.ErrUnavailable)
		case !strings.HasPrefix(object.Name, l.prefix):
			return advanced, false, fmt.Errorf("%w: lists another prefix", objstore.ErrUnavailable)
		}
		l.last, advanced = object.Name, true
		folder := strings.HasSuffix(object.Name, "/")
		if objstore.ValidName(strings.TrimSuffix(object.Name, "/")) != nil || folder && !l.opts.Shallow {
			continue
		}
		if err := ctx.Err(); err != nil {
			return advanced, false, err
		}
		if !l.yield(object, nil) {
			return advanced, false, nil
		}
	}
	return advanced, true, nil
}
