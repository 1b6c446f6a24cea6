package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"
)

// run sends pieces and the bytes of the file until there are no more. The writing
// goroutine passes on a piece only after the whole file was sent, which preserves the
// order.
func (w *Writer) run() {
	defer close(w.stopped)
	for {
		select {
		case piece, more := <-w.pieces:
			if !more {
				w.cause = w.sendFile()
				return
			}
			w.cause = w.send(piece, w.store.opts.Stall)
		case <-w.grown:
			w.cause = w.sendFile()
		}
		if w.cause != nil {
			return
		}
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
}

// setDeadline sets the deadline of the next bytes. After the context has ended, they have
// Options.Grace from the time at which that was noticed.
func (w *Writer) setDeadline(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended || w.idle:
	case w.ctx.Err() != nil:
		w.ended = true
		_ = w.conn.SetWriteDeadline(w.store.opts.Now().Add(w.store.opts.Grace))
	default:
		_ = w.conn.SetWriteDeadline(w.store.opts.Now().Add(limit))
	}
}

// send writes a piece, which the client has to read within limit.
func (w *Writer) send(p []byte, limit time.Duration) error {
	begun := w.store.opts.Now()
	w.setDeadline(limit)
	n, err := w.conn.Write(p)
	if n > 0 {
		w.begun, w.last = true, p[n-1]
	}
	w.broken = err != nil
	switch {
	case err == nil:
		return nil
	case w.yielding():
		return errors.Join(errFull, err)
	case w.ctx.Err() != nil:
		return errors.Join(context.Cause(w.ctx), err)
	case errors.Is(err, os.ErrDeadlineExceeded) && w.store.opts.Now().Sub(begun) >= limit:
		return w.abort(reasonStalled, errors.Join(errStalled, err))
	}
	return err
}

// sendFromFile is send for a piece of the file at an offset. A file takes space from
// others, so the client must read it at the minimum rate: it may lag behind by at most
// the store's stall since the file was last empty.
func (w *Writer) sendFromFile(p []byte, at int64) error {
	opts := &w.store.opts
	if at == 0 {
		w.credit = opts.Stall
	}
	begun := opts.Now()
	err := w.send(p, w.credit)
	earned := time.Duration(len(p)) * time.Second / time.Duration(opts.LeastRate)
	w.credit = min(w.credit-opts.Now().Sub(begun)+earned, opts.Stall)
	return err
}

// sendFile sends the rest of the file.
func (w *Writer) sendFile() error {
	for {
		if w.sentAll() {
			return nil
		}
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		p, at, err := w.peek()
		if err != nil {
			return w.abort(reasonDisk, err)
		}
		if err := w.sendFromFile(p, at); err != nil {
			return err
		}
		w.mu.Lock()
		w.sent += int64(len(p))
		w.mu.Unlock()
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
}

// peek returns the next piece of the file and its offset.
func (w *Writer) peek() (piece []byte, at int64, err error) {
	w.mu.Lock()
	at, n := w.sent, min(w.size-w.sent, pieceSize)
	w.mu.Unlock()
	if w.fromFile == nil {
		w.fromFile = make([]byte, pieceSize)
	}
	_, err = w.file.ReadAt(w.fromFile[:n], at)
	return w.fromFile[:n], at, err
}

// Break ends a response of text lines whose context has ended. It completes the begun
// line and writes one more line, within Options.Grace.
func (w *Writer) Break(line []byte) error {
	w.setDeadline(w.store.opts.Grace)
	w.join()
	if w.broken {
		return w.cause
	}
	// The connection may have waited for the engine to stop.
	_ = w.conn.SetWriteDeadline(w.store.opts.Now().Add(w.store.opts.Grace))
	for w.last != '\n' && !w.sentAll() {
		p, _, err := w.peek()
		if err != nil {
			return err
		}
		if end := bytes.IndexByte(p, '\n'); end >= 0 {
			p = p[:end+1]
		}
		if err := w.send(p, w.store.opts.Grace); err != nil {
			return err
		}
		w.mu.Lock()
		w.sent += int64(len(p))
		w.mu.Unlock()
	}
	if w.last != '\n' && w.last != 0 {
		line = append([]byte{'\n'}, line...)
	}
	return w.send(line, w.store.opts.Grace)
}
