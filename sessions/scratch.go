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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := p.turn(ctx, key, p.opts.Now(), func() (engine.Session, error) { return p.fresh(ctx, key, scratch) })
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
