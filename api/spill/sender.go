package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"
)

// run sends pieces and the bytes of the file until there are no more. The writing
// goroutine hands over a piece only after the whole file was sent, so the order is
// kept.
func (w *Writer) run() {
	defer close(w.stopped)
	for {
		select {
		case piece, more := <-w.pieces:
			if !more {
				w.cause = w.sendFile()
				return
			}
			w.cause = w.send(piece)
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

// proceed sets the deadline for the next bytes. After the context has ended, the
// deadline is grace after proceed noticed the end.
func (w *Writer) proceed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended || w.idle:
	case w.ctx.Err() != nil:
		w.ended = true
		_ = w.conn.SetWriteDeadline(time.Now().Add(grace))
	default:
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.store.opts.Stall))
	}
}

func (w *Writer) send(p []byte) error {
	w.proceed()
	begun := time.Now()
	n, err := w.conn.Write(p)
	if n > 0 {
		w.begun, w.last = true, p[n-1]
	}
	w.broken = err != nil
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(begun) >= w.store.opts.Stall:
		return w.abort(reasonStalled, errors.Join(errStalled, err))
	case w.ctx.Err() != nil:
		return errors.Join(context.Cause(w.ctx), err)
	}
	return err
}

// sendFile sends the unsent part of the file.
func (w *Writer) sendFile() error {
	for {
		if w.emptied() {
			return nil
		}
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		p, err := w.peek()
		if err != nil {
			return w.abort(reasonDisk, err)
		}
		if err := w.send(p); err != nil {
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

// peek reads the next piece of the file.
func (w *Writer) peek() ([]byte, error) {
	w.mu.Lock()
	at, n := w.sent, min(w.size-w.sent, pieceSize)
	w.mu.Unlock()
	if w.fromFile == nil {
		w.fromFile = make([]byte, pieceSize)
	}
	_, err := w.file.ReadAt(w.fromFile[:n], at)
	return w.fromFile[:n], err
}

// Break ends a response of text lines whose context has ended. It completes the begun
// line and writes one more line, within 200 ms.
func (w *Writer) Break(line []byte) error {
	w.proceed()
	w.join()
	if w.broken {
		return w.cause
	}
	// The deadline may have passed while the handler waited for the engine to stop.
	_ = w.conn.SetWriteDeadline(time.Now().Add(grace))
	for w.last != '\n' && !w.emptied() {
		p, err := w.peek()
		if err != nil {
			return err
		}
		if end := bytes.IndexByte(p, '\n'); end >= 0 {
			p = p[:end+1]
		}
		if err := w.send(p); err != nil {
			return err
		}
		w.mu.Lock()
		w.sent += int64(len(p))
		w.mu.Unlock()
	}
	if w.last != '\n' && w.last != 0 {
		line = append([]byte{'\n'}, line...)
	}
	return w.send(line)
}
