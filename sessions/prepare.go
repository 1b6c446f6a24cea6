package sessions

import (
	"context"
)

// Prepare opens a session of key in the background, unless one is available or the pool
// is crowded. The caller can plan its statement in the meantime and then call Acquire,
// which also returns a failure to open.
func (p *Pool) Prepare(key Key) {
	id := key.id()
	if p.budget.crowded() {
		return
	}
	p.mu.Lock()
	if p.closed || len(p.idle[id]) > 0 || p.opening[id] != nil {
		p.mu.Unlock()
		return
	}
	done := make(chan struct{})
	p.opening[id] = done
	p.work.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.work.Done()
		if session := p.openWarm(key); session != nil {
			p.keep(&warm{key: key, id: id, session: session, since: p.opts.Now()})
		}
		p.mu.Lock()
		delete(p.opening, id)
		p.mu.Unlock()
		close(done)
	}()
}

// openWarm opens a session. It returns nil if that fails.
func (p *Pool) openWarm(key Key) *opened {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.MaxWait)
	defer cancel()
	session, err := p.open(ctx, optionsOf(key))
	if err != nil {
		return nil
	}
	if session.Warm(ctx) != nil {
		_ = session.Close()
		p.forgetOpened(session)
		return nil
	}
	return session
}

// prepared waits for a session of the key that is being opened, if any.
func (p *Pool) prepared(ctx context.Context, id string) error {
	p.mu.Lock()
	done := p.opening[id]
	p.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
