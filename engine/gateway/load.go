package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// resumes is how often a load continues after a body that broke. Requests that fail earlier were
// already repeated by the store's provider.
const resumes = 2

// flight is a block that is being read. Its fields are set before landed is closed.
type flight struct {
	load   *load
	landed chan struct{}
	data   []byte
	err    error
}

// load reads the blocks [first, end) of one object.
type load struct {
	cache      *cache
	location   *Location
	object     object
	first, end int64
	next       int64 // first block that has not landed; used by the loading goroutine only
	onDisk     bool  // the block is read from disk
	ctx        context.Context
	cancel     context.CancelFunc
	members    map[*statement]func() bool // values stop watching the end of the statement; guarded by cache.mu
	passing    bool                       // the blocks are not cached; guarded by cache.mu
}

// join makes the load continue until the statement ends. The caller holds mu.
func (l *load) join(st *statement) {
	if _, joined := l.members[st]; !joined {
		l.members[st] = context.AfterFunc(st.ctx, func() { l.leave(st) })
	}
}

// leave cancels the load if no statement remains; a later request starts a new one.
func (l *load) leave(st *statement) {
	l.cache.mu.Lock()
	defer l.cache.mu.Unlock()
	delete(l.members, st)
	if len(l.members) > 0 {
		return
	}
	l.cancel()
	for index := l.first; index < l.end; index++ {
		if b := (block{l.object, index}); l.cache.flights[b] != nil && l.cache.flights[b].load == l {
			delete(l.cache.flights, b)
		}
	}
}

func (l *load) do() {
	defer l.done()
	if l.onDisk {
		b := block{l.object, l.first}
		if data, ok := l.cache.disk.read(b, l.cache.size(b)); ok {
			l.cache.metrics.blocks.WithLabelValues("disk").Inc()
			l.cache.land(l, b, data)
			return
		}
		l.onDisk = false
	}
	for attempt := 0; ; attempt++ {
		err := l.stream()
		if err == nil {
			return
		}
		if !errors.As(err, new(brokenBody)) || attempt == resumes || l.ctx.Err() != nil {
			l.cache.crash(l, err)
			return
		}
	}
}

func (l *load) done() {
	l.cancel()
	l.cache.mu.Lock()
	defer l.cache.mu.Unlock()
	for _, stop := range l.members {
		stop()
	}
	clear(l.members)
	delete(l.cache.running, l)
}

// stream reads the remaining blocks in one request.
func (l *load) stream() error {
	c, o := l.cache, l.object
	body, err := openBody(l.ctx, l.location.Store, o, l.next*c.blockSize, min(l.end*c.blockSize, o.size))
	if err != nil {
		return err
	}
	defer body.close()
	for l.next < l.end {
		b := block{o, l.next}
		data := make([]byte, c.size(b))
		if err := body.fill(data); err != nil {
			return err
		}
		c.metrics.upstream.Add(float64(len(data)))
		c.metrics.blocks.WithLabelValues("store").Inc()
		l.next++
		c.land(l, b, data)
	}
	return nil
}

// body reads a range of an object and checks its length.
type body struct {
	r     io.ReadCloser
	left  int64
	atEnd bool // the range reaches the expected end of the object
}

// brokenBody is an error in the middle of a body, after which a read may resume.
type brokenBody struct{ error }

func (e brokenBody) Unwrap() error { return e.error }

func openBody(ctx context.Context, store objstore.Bucket, o object, start, end int64) (*body, error) {
	length := end - start
	if end == o.size {
		length = -1 // to the end according to the store
	}
	r, err := store.GetRange(ctx, o.name, start, length)
	if err != nil {
		return nil, err
	}
	return &body{r: r, left: end - start, atEnd: end == o.size}, nil
}

// fill reads len(p) bytes. At the end of the object it also checks that no byte follows.
func (b *body) fill(p []byte) error {
	_, err := io.ReadFull(b.r, p)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return brokenBody{fmt.Errorf("%w: fewer bytes", ErrContent)}
	case err != nil:
		return brokenBody{err}
	}
	if b.left -= int64(len(p)); b.left > 0 || !b.atEnd {
		return nil
	}
	var extra [1]byte
	switch n, err := io.ReadFull(b.r, extra[:]); {
	case n > 0:
		return fmt.Errorf("%w: more bytes", ErrContent)
	case !errors.Is(err, io.EOF):
		return brokenBody{err}
	}
	return nil
}

func (b *body) close() { _ = b.r.Close() }

// pass reads a mutable object directly from the store.
func (c *cache) pass(ctx context.Context, location *Location, o object, start, end int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if start == end {
			return
		}
		body, err := openBody(ctx, location.Store, o, start, end)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.close()
		for piece := make([]byte, min(c.blockSize, end-start)); start < end; start += int64(len(piece)) {
			piece = piece[:min(int64(len(piece)), end-start)]
			if err := body.fill(piece); err != nil {
				yield(nil, err)
				return
			}
			c.metrics.upstream.Add(float64(len(piece)))
			if !yield(piece, nil) {
				return
			}
		}
	}
}
