package sessions

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

// Open waits for a turn like [Pool.Acquire] and opens a new session, with the scratch
// directory scratch unless that is "". The session serves only this caller, for any
// number of statements, and is closed by Release. Errors are those of Acquire.
func (p *Pool) Open(ctx context.Context, key Key, scratch string) (*Held, error) {
	opts := optionsOf(key)
	opts.Scratch = scratch
	return p.oneOff(ctx, key, opts)
}

// OpenApart is like [Pool.Open] for a session with its own process. It is for a
// statement that may have ended the process in which it ran.
func (p *Pool) OpenApart(ctx context.Context, key Key) (*Held, error) {
	opts := optionsOf(key)
	opts.Apart = true
	return p.oneOff(ctx, key, opts)
}

// ReadUpload calls f with a session that reads files from clients in the scratch directory
// scratch, and nothing else. Such sessions of one organisation share a process that runs no
// other statements. If that process ends because of another file, f is called again with a
// session in a process of its own. Errors are those of Acquire and of f.
//
// If f succeeds, ReadUpload does not wait until the session is closed: the engine takes a
// while to free its memory, and the lease remains until then. Nothing else may use the scratch
// directory as one.
func (p *Pool) ReadUpload(ctx context.Context, key Key, scratch string, f func(*Held) error) error {
	opts := optionsOf(key)
	opts.Uploads, opts.Scratch = true, scratch
	err := p.readUpload(ctx, key, opts, f)
	if errors.Is(err, engine.ErrLost) && ctx.Err() == nil {
		opts.Apart = true
		err = p.readUpload(ctx, key, opts, f)
	}
	return err
}

func (p *Pool) readUpload(ctx context.Context, key Key, opts engine.SessionOptions, f func(*Held) error) error {
	held, err := p.oneOff(ctx, key, opts)
	if err != nil {
		return err
	}
	if err := f(held); err != nil {
		held.Release()
		return err
	}
	go held.Release()
	return nil
}

// oneOff waits for a turn and opens a session that is closed by Release.
func (p *Pool) oneOff(ctx context.Context, key Key, opts engine.SessionOptions) (*Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := p.turn(ctx, key, p.opts.Now(), func() (*opened, error) { return p.fresh(ctx, opts) })
	if err != nil {
		return nil, err
	}
	h.oneOff = true
	return h, nil
}

// Writer returns the writer of files for the held session. It is nil for a session
// without a scratch directory.
func (h *Held) Writer() engine.Writer {
	w, _ := h.Session.(engine.Writer)
	return w
}
