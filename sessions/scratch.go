package sessions

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
)

// Open waits for a turn like [Pool.Acquire] and opens a session of its own, with
// the scratch directory scratch if that is not "". It serves the caller for any
// number of statements and is closed by Release: no other caller ever has it.
// Errors are those of Acquire.
func (p *Pool) Open(ctx context.Context, key Key, scratch string) (*Held, error) {
	opts := optionsOf(key)
	opts.Scratch = scratch
	return p.passing(ctx, key, opts)
}

// OpenApart is like [Pool.Open] for a session whose process serves nobody else: for
// a statement that may have ended the process it was in.
func (p *Pool) OpenApart(ctx context.Context, key Key) (*Held, error) {
	opts := optionsOf(key)
	opts.Apart = true
	return p.passing(ctx, key, opts)
}

// passing waits for a turn and opens a session that is closed by Release.
func (p *Pool) passing(ctx context.Context, key Key, opts engine.SessionOptions) (*Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := p.turn(ctx, key, p.opts.Now(), func() (engine.Session, error) { return p.fresh(ctx, opts) })
	if err != nil {
		return nil, err
	}
	h.passing = true
	return h, nil
}

// Writer is the held session's way to write files. It is nil for a session without
// a scratch directory.
func (h *Held) Writer() engine.Writer {
	w, _ := h.Session.(engine.Writer)
	return w
}
