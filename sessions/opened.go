package sessions

import (
	"context"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// opened is an open session.
type opened struct {
	engine.Session
	roots []string
	at    time.Time
	// outdated is set by Empty: the session must not serve another statement. It is guarded by
	// Pool.mu.
	outdated bool
}

// open opens a session and registers it.
func (p *Pool) open(ctx context.Context, opts engine.SessionOptions) (*opened, error) {
	o := &opened{roots: opts.Roots, at: p.opts.Now()}
	// Before it can read anything, so that Empty misses nothing.
	p.mu.Lock()
	p.live[o] = struct{}{}
	p.mu.Unlock()
	session, err := p.eng.Open(ctx, opts)
	if err != nil {
		p.forgetOpened(o)
		return nil, err
	}
	o.Session = session
	return o, nil
}

func (p *Pool) forgetOpened(o *opened) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, o)
}

// aged reports whether a session has cached files for too long.
func (p *Pool) aged(w *warm) bool { return p.opts.Now().Sub(w.session.at) > p.opts.MaxAge }

// Empty closes the idle sessions that can read a root for which match is true, and has those in
// use close after their statement: sessions cache what they have read of files.
func (p *Pool) Empty(match func(root string) bool) {
	p.mu.Lock()
	for o := range p.live {
		o.outdated = o.outdated || slices.ContainsFunc(o.roots, match)
	}
	p.mu.Unlock()
	p.dropWhere(func(w *warm) bool { return w.session.outdated })
}
