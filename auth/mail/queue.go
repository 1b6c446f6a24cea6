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
	// Capacity is how many messages may wait; 0 means 1,024.
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
	ctx     context.Context // of the workers
	abort   context.CancelFunc
	closing chan struct{}
	workers sync.WaitGroup

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
	q := &Queue{sender: sender, log: log, pauses: o.Pauses, work: make(chan Compose, o.Capacity), closing: make(chan struct{})}
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

// Close sends the messages that wait, each once more, until ctx ends, and then gives up on
// the others. It must be called once.
func (q *Queue) Close(ctx context.Context) error {
	close(q.closing)
	q.mu.Lock()
	q.closed = true
	close(q.work)
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, q.abort)
	q.workers.Wait()
	stop()
	q.abort()
	return nil
}

func (q *Queue) run() {
	for compose := range q.work {
		q.deliver(compose)
	}
}

// deliver composes and sends one message, and repeats both until they succeed or a retry
// does not help.
func (q *Queue) deliver(compose Compose) {
	var message *Message
	for attempt := 0; ; attempt++ {
		var err error
		if message == nil {
			if message, err = compose(q.ctx); message == nil && err == nil {
				return
			}
		}
		if err == nil {
			err = q.sender.Send(q.ctx, *message)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, ErrMessage), errors.Is(err, ErrRefused), attempt == len(q.pauses), !q.pause(q.pauses[attempt]):
			q.log.Error("e-mail not sent", "attempts", attempt+1, "error", err)
			return
		}
		q.log.Warn("e-mail not sent yet", "attempts", attempt+1, "error", err)
	}
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
