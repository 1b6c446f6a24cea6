package spill

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// pieceSize is the largest number of bytes passed to a connection at once. That many
// unread bytes of a client remain unnoticed.
const pieceSize = 64 << 10

// leastRate is the number of bytes a second that a client must read while its writer
// waits for it.
const leastRate = 1 << 20

// Conn is a connection to a client.
type Conn interface {
	io.Writer
	// SetWriteDeadline sets the deadline of writes, including a blocked one. It is
	// called concurrently with Write.
	SetWriteDeadline(time.Time) error
}

// Writer sends bytes to a connection in a goroutine of its own. Write returns when the
// connection has accepted the bytes or, after the store's patience, when they are in a
// file. The methods of a Writer are not safe for concurrent use.
type Writer struct {
	store    *Store
	patience time.Duration
	owner    Owner
	conn     Conn
	ctx      context.Context
	turn     Turn // nil for bytes that nobody waits for

	pieces  chan []byte   // to the connection; unbuffered
	grown   chan struct{} // signals that the file has grown; buffered
	moved   chan struct{} // signals that the connection has accepted a piece; buffered
	stopped chan struct{} // closed when the sender has ended
	unwatch func() bool   // stops watching ctx

	// The writing goroutine owns the fields below.
	buffers  [2][]byte // one is being sent, the other filled
	buffer   int
	file     *os.File // nil before the first spill
	spilling bool     // bytes go to the file
	// waited is how long the writer has waited for the client, up to the store's
	// patience. passed is how many bytes the client accepted in that time.
	waited   time.Duration
	passed   int64
	failed   error // why nothing more is written
	refused  bool  // a write was refused because ctx had ended
	finished bool

	// The sender owns the fields below while it runs.
	cause    error // why it ended early
	begun    bool  // something was sent
	broken   bool  // the connection has failed
	last     byte  // the last byte that was sent
	fromFile []byte
	// credit is how long the next piece of the file may take: each byte adds its
	// share of a second, up to the store's stall.
	credit time.Duration

	mu     sync.Mutex
	size   int64     // of the file
	sent   int64     // bytes of the file that were sent
	since  time.Time // when the file got its first byte
	ended  bool      // ctx has ended or the writer has yielded, and the connection has its last deadline
	yields bool      // the writer ends to make room for others
	idle   bool      // the writer no longer uses the connection
}

var (
	errFull    = errors.New("client does not read, and there is no space for the rest of the response")
	errStalled = errors.New("client does not read")
)

// Writer returns a writer to conn. The bytes count against the limits of owner. When ctx
// ends, sending ends within Options.Grace. turn may be nil. The caller must close the writer.
func (s *Store) Writer(ctx context.Context, owner Owner, conn Conn, turn Turn) *Writer {
	return s.writer(ctx, owner, conn, s.opts.Patience, turn)
}

// Waiting returns a writer that waits for its client instead of spilling. It is for
// bytes that occupy no resources while they wait.
func (s *Store) Waiting(ctx context.Context, conn Conn) *Writer {
	return s.writer(ctx, Owner{}, conn, 1<<62, nil)
}

func (s *Store) writer(ctx context.Context, owner Owner, conn Conn, patience time.Duration, turn Turn) *Writer {
	w := &Writer{
		store: s, owner: owner, conn: conn, ctx: ctx, patience: patience, turn: turn,
		pieces: make(chan []byte), grown: make(chan struct{}, 1), moved: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	w.unwatch = context.AfterFunc(ctx, func() { w.setDeadline(0) })
	go w.run()
	return w
}

// Write implements io.Writer. It fails if the context has ended. A write that has already
// begun continues as long as the connection accepts the bytes.
func (w *Writer) Write(p []byte) (int, error) {
	if w.failed == nil && w.ctx.Err() != nil {
		w.refused = true
		return 0, context.Cause(w.ctx)
	}
	for n := 0; n < len(p); n += pieceSize {
		if w.failed == nil {
			w.failed = w.put(p[n:min(len(p), n+pieceSize)])
		}
		if w.failed != nil {
			return n, w.failed
		}
	}
	return len(p), nil
}

// put passes one piece to the sender, or spills it.
func (w *Writer) put(piece []byte) error {
	select {
	case <-w.stopped:
		return w.cause
	default:
	}
	if w.spilling && w.sentAll() {
		if err := w.restart(); err != nil {
			return err
		}
	}
	if w.spilling {
		return w.spill(piece)
	}
	w.buffers[w.buffer] = append(w.buffers[w.buffer][:0], piece...)
	taken, err := w.offer(w.buffers[w.buffer])
	if taken || err != nil {
		w.buffer = 1 - w.buffer
		return err
	}
	w.spilling, w.waited, w.passed = true, 0, 0
	if err := w.spill(piece); err != nil || !w.spilling {
		return err
	}
	if w.turn != nil {
		w.turn.Slow(w.rate)
	}
	return nil
}

// offer waits until the sender accepts a piece. It returns false if the client is too
// slow: by its rate within the store's patience, or, while others wait, if it has not
// accepted the piece within Options.Hurry.
func (w *Writer) offer(piece []byte) (bool, error) {
	select {
	case w.pieces <- piece:
		return true, nil
	default:
	}
	begun := time.Now()
	timer := time.NewTimer(w.hurry(w.patience - w.waited))
	defer timer.Stop()
	for {
		select {
		case w.pieces <- piece:
			w.waited += time.Since(begun)
			w.passed += int64(len(piece))
			return true, nil
		case <-w.stopped:
			return false, w.cause
		case <-timer.C:
		}
		left := w.patience - w.waited - time.Since(begun)
		switch {
		case w.awaited():
			return false, nil
		case left > 0:
			timer.Reset(w.hurry(left))
			continue
		case w.tooSlow(w.passed):
			return false, nil
		}
		begun, w.waited, w.passed = time.Now(), 0, 0
		timer.Reset(w.hurry(w.patience))
	}
}

// spill appends a piece to the file. If there is no space, it waits as long as the client
// reads; once the file is empty, the piece goes to the connection. If others wait, the slowest
// stream of the user makes room.
func (w *Writer) spill(piece []byte) error {
	begun, before := time.Now(), w.position()
	timer := time.NewTimer(w.hurry(w.patience))
	defer timer.Stop()
	for !w.store.reserve(w.owner, int64(len(piece))) {
		if w.awaited() {
			w.store.makeRoom(w)
		}
		select {
		case <-w.moved:
			if w.sentAll() {
				return w.put(piece)
			}
		case <-w.stopped:
			return w.cause
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		case <-timer.C:
			if left := w.patience - time.Since(begun); left > 0 {
				timer.Reset(w.hurry(left))
				continue
			}
			now := w.position()
			if w.tooSlow(now - before) {
				return w.abort(reasonFull, errFull)
			}
			begun, before = time.Now(), now
			timer.Reset(w.hurry(w.patience))
		}
	}
	if err := w.append(piece); err != nil {
		w.store.release(w.owner, int64(len(piece)))
		return w.abort(reasonDisk, err)
	}
	select {
	case w.grown <- struct{}{}:
	default:
	}
	return nil
}

func (w *Writer) append(piece []byte) error {
	if w.file == nil {
		f, err := w.store.create()
		if err != nil {
			return err
		}
		w.file = f
	}
	w.mu.Lock()
	at := w.size
	w.mu.Unlock()
	if _, err := w.file.WriteAt(piece, at); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size == 0 {
		w.since = w.store.opts.Now()
		w.store.add(w)
	}
	w.size += int64(len(piece))
	return nil
}

// tooSlow reports whether n bytes within the store's patience are too few to wait for
// the client.
func (w *Writer) tooSlow(n int64) bool { return float64(n) < leastRate*w.patience.Seconds() }

// position returns how many bytes of the file the connection has accepted.
func (w *Writer) position() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// sentAll reports whether the connection has accepted the whole file.
func (w *Writer) sentAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent == w.size
}

// restart empties a file that was sent completely, and resumes direct sending.
func (w *Writer) restart() error {
	w.spilling = false
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size == 0 {
		return nil
	}
	if err := w.file.Truncate(0); err != nil {
		return w.abort(reasonDisk, err)
	}
	w.discard()
	if w.turn != nil {
		w.turn.Fast()
	}
	return nil
}

// discard returns the file's space to the store. The caller holds mu.
func (w *Writer) discard() {
	if w.size > 0 {
		w.store.release(w.owner, w.size)
		w.store.remove(w)
	}
	w.size, w.sent = 0, 0
}

func (w *Writer) abort(reason string, err error) error {
	w.store.aborted.WithLabelValues(reason).Inc()
	return err
}

// Finish waits until the connection has accepted everything. Otherwise it returns the
// cause, for example that of the context. After a failed Write it does not wait.
func (w *Writer) Finish() error {
	if w.failed != nil {
		return w.failed
	}
	w.join()
	if w.cause == nil && w.refused {
		return context.Cause(w.ctx)
	}
	return w.cause
}

// join waits until the sender has ended.
func (w *Writer) join() {
	if !w.finished {
		w.finished = true
		close(w.pieces)
	}
	<-w.stopped
}

// Close removes the file. If the connection has not accepted everything by then, it
// cannot be used any more. Close is idempotent.
func (w *Writer) Close() error {
	w.unwatch()
	select {
	case <-w.stopped:
	default:
		w.mu.Lock()
		w.ended = true
		_ = w.conn.SetWriteDeadline(w.store.opts.Now())
		w.mu.Unlock()
		w.join()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = true
	if !w.broken && (!w.ended || !w.begun) { // the remainder of the response has not been written yet
		_ = w.conn.SetWriteDeadline(w.store.opts.Now().Add(w.store.opts.Stall))
	}
	w.discard()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
