package mail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Compose returns a message, or nil if there is nothing to send.
type Compose func(ctx context.Context) (*Message, error)

// QueueOptions are the optional parts of a [Queue]; the zero value works.
type QueueOptions struct {
	// Capacity is how many messages may wait for their first attempt, and how many for a
	// further one; 0 means 1,024.
	Capacity int
	// Pauses are the times between the attempts to send one message; nil means the pauses
	// of ten attempts within a quarter of an hour.
	Pauses []time.Duration
}

// workers is how many messages are composed and sent at once.
const workers = 4

// defaultPauses outlast a restart of the mail server.
var defaultPauses = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute,
	4 * time.Minute,
}

// Queue composes and sends messages in the background, so that neither the duration nor
// the result of a request depends on whether an e-mail is sent. It is safe for concurrent
// use. Messages that wait when the process is killed are lost; people ask again.
type Queue struct {
	sender Sender
	log    *slog.Logger
	pauses []time.Duration

	work    chan Compose
	turns   chan struct{} // one for each attempt at the same time
	failed  chan struct{} // one for each message that waits for its next attempt
	ctx     context.Context
	abort   context.CancelFunc
	closing chan struct{}
	workers sync.WaitGroup
	retries sync.WaitGroup // grows only while a worker runs

	mu     sync.RWMutex // held for reading while work is sent to
	closed bool
}

// NewQueue starts the workers, which run under ctx until [Queue.Close].
func NewQueue(ctx context.Context, sender Sender, log *slog.Logger, o QueueOptions) *Queue {
	if o.Capacity <= 0 {
		o.Capacity = 1024
	}
	if o.Pauses == nil {
		o.Pauses = defaultPauses
	}
	q := &Queue{
		sender: sender, log: log, pauses: o.Pauses, work: make(chan Compose, o.Capacity), turns: make(chan struct{}, workers),
		failed: make(chan struct{}, o.Capacity), closing: make(chan struct{}),
	}
	q.ctx, q.abort = context.WithCancel(ctx)
	for range workers {
		q.workers.Go(q.run)
	}
	return q
}

// Later queues the composition of a message and its sending. compose is called in the
// background, and again if it fails. Later reports false if the queue is full or closed.
func (q *Queue) Later(compose Compose) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return false
	}
	select {
	case q.work <- compose:
		return true
	default:
		q.log.Error("e-mail not sent: too many e-mails are waiting", "waiting", len(q.work))
		return false
	}
}

// Close attempts each message that has not been attempted yet once, until ctx ends. It
// gives up on messages that have failed before. It must be called once.
func (q *Queue) Close(ctx context.Context) error {
	close(q.closing)
	q.mu.Lock()
	q.closed = true
	close(q.work)
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, q.abort)
	q.workers.Wait()
	q.retries.Wait()
	stop()
	q.abort()
	return nil
}

// run sends the messages of the queue. One that failed waits outside of the worker for its
// next attempt, so that messages that a mail server defers do not delay others.
func (q *Queue) run() {
	for compose := range q.work {
		d := &delivery{compose: compose}
		if q.attempt(d) {
			continue
		}
		select {
		case q.failed <- struct{}{}:
			q.retries.Go(func() {
				q.retry(d)
				<-q.failed
			})
		default: // so many fail that the others have to wait
			q.retry(d)
		}
	}
}

// delivery is a message until it was sent or given up.
type delivery struct {
	compose Compose
	// message is nil until it was composed.
	message  *Message
	attempts int
	// err is that of the last attempt.
	err error
}

// attempt composes and sends a message once. It reports whether the message needs no other
// attempt.
func (q *Queue) attempt(d *delivery) (done bool) {
	q.turns <- struct{}{}
	defer func() { <-q.turns }()
	d.err = nil
	if d.message == nil {
		if d.message, d.err = d.compose(q.ctx); d.message == nil && d.err == nil {
			return true
		}
	}
	if d.err == nil {
		d.err = q.sender.Send(q.ctx, *d.message)
	}
	d.attempts++
	switch {
	case d.err == nil:
		return true
	case errors.Is(d.err, ErrMessage), errors.Is(d.err, ErrRefused), d.attempts > len(q.pauses):
		q.giveUp(d)
		return true
	}
	return false
}

// retry repeats a failed attempt until the message needs no other one, or the queue closes.
func (q *Queue) retry(d *delivery) {
	for {
		if !q.pause(q.pauses[d.attempts-1]) {
			q.giveUp(d)
			return
		}
		q.log.Warn("e-mail not sent yet", "attempts", d.attempts, "error", d.err)
		if q.attempt(d) {
			return
		}
	}
}

func (q *Queue) giveUp(d *delivery) {
	q.log.Error("e-mail not sent", "attempts", d.attempts, "error", d.err)
}

// pause waits before the next attempt. It reports false if the queue closes: a message
// that just failed is not worth a delay of the shutdown.
func (q *Queue) pause(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.closing:
	case <-q.ctx.Done():
	}
	return false
}
