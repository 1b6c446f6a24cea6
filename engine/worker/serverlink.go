package worker

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

// request is one frame from the parent with its own context.
type request struct {
	frame
	ctx    context.Context
	cancel context.CancelFunc
}

// inbox reads a link's frames concurrently with the work on them, so that a running request can be
// cancelled. When the parent closes the link, all requests are cancelled.
type inbox struct {
	wire     *wire
	requests chan request
	done     chan struct{}

	mu      sync.Mutex
	current request
}

func newInbox(w *wire) *inbox {
	in := &inbox{wire: w, requests: make(chan request, 1), done: make(chan struct{})}
	go in.read()
	return in
}

func (in *inbox) read() {
	defer close(in.done)
	defer close(in.requests)
	all, stop := context.WithCancel(context.Background())
	defer stop()
	for {
		f, err := in.wire.receive()
		if err != nil || f.body != 0 {
			return
		}
		if f.kind == kindCancel {
			in.cancel(f.seq)
			continue
		}
		r := request{frame: f}
		r.ctx, r.cancel = context.WithCancel(all)
		in.mu.Lock()
		in.current = r
		in.mu.Unlock()
		in.requests <- r // never blocks: there is one at a time, and the channel has room for it
	}
}

// cancel stops the request with that number. A late cancellation does not affect the next request.
func (in *inbox) cancel(seq uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current.cancel != nil && in.current.seq == seq {
		in.current.cancel()
	}
}

// close ends the reading, whether or not the parent has closed the link.
func (in *inbox) close() {
	_ = in.wire.conn.CloseRead()
	for range in.requests {
	}
	<-in.done
}

// serveLink serves one link until the parent closes it.
func serveLink(w *wire, eng engine.Engine) {
	in := newInbox(w)
	defer in.close()
	first, ok := <-in.requests
	if !ok {
		return
	}
	defer first.cancel()
	if first.kind == kindOpen {
		serveSession(w, eng, first, in.requests)
	}
}

// serveSession replies to the requests of one session.
func serveSession(w *wire, eng engine.Engine, first request, requests <-chan request) {
	var opts engine.SessionOptions
	var s engine.Session
	err := decode(first.head, &opts)
	if err == nil {
		s, err = eng.Open(first.ctx, opts)
	}
	if err != nil {
		_ = answer(w, first.seq, false, err)
		return
	}
	defer func() { _ = s.Close() }() // the parent has closed the link
	if w.send(kindDone, first.seq, nil) != nil {
		return
	}
	var held heldSources
	for r := range requests {
		lost := serveRequest(w, s, r, &held)
		r.cancel()
		if lost {
			return
		}
	}
}

// serveRequest replies to one request and reports whether the connection to the parent was lost.
func serveRequest(w *wire, s engine.Session, r request, held *heldSources) (lost bool) {
	var err error
	var reply []byte
	switch r.kind {
	case kindWarm:
		err = s.Warm(r.ctx)
	case kindIdle:
		*held = heldSources{}
		var keep int64
		if err = decode(r.head, &keep); err == nil {
			reply, err = serveIdle(s, r, keep)
		}
	case kindQuery:
		var st engine.WriteStatement
		if st, err = held.statement(r.head); err == nil {
			lost, err = serveQuery(w, s, r, st.Statement)
		}
	case kindWrite:
		var st engine.WriteStatement
		if st, err = held.statement(r.head); err == nil {
			err = serveWrite(w, s, r, st)
		}
	default:
		err = errWire
	}
	switch {
	case lost:
		return true
	case err != nil:
		return answer(w, r.seq, s.Broken(), err) != nil
	}
	return w.send(kindDone, r.seq, reply) != nil
}

// keeper is a session that reports how many bytes it caches between statements.
type keeper interface{ Kept() int64 }

// serveIdle makes a session idle and returns how many bytes it caches.
func serveIdle(s engine.Session, r request, keep int64) ([]byte, error) {
	if err := s.Idle(r.ctx, keep); err != nil {
		return nil, err
	}
	if k, knows := s.(keeper); knows {
		keep = k.Kept()
	}
	return encode(keep), nil
}

// serveWrite runs a statement that writes files and prepares their descriptions.
func serveWrite(w *wire, s engine.Session, r request, st engine.WriteStatement) error {
	writer, ok := s.(engine.Writer)
	if !ok {
		return errWire
	}
	files, err := writer.Write(r.ctx, st)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := holdReply(w, kindFile, r.seq, encode(f)); err != nil {
			return err
		}
	}
	return nil
}

// serveQuery sends the columns and rows of a statement.
func serveQuery(w *wire, s engine.Session, r request, st engine.Statement) (lost bool, err error) {
	result, err := s.Query(r.ctx, st)
	if err != nil {
		return false, err
	}
	defer func() { _ = result.Close() }() // frees memory; the reply does not depend on it
	if err := holdColumns(w, r.seq, result); err != nil {
		return false, err
	}
	rows := newRowWriter(w, r.seq, result.Schema())
	defer rows.close()
	for {
		batch, err := result.Next(r.ctx)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		lost, err := rows.write(batch)
		batch.Release()
		if err != nil {
			return lost, err
		}
	}
}
