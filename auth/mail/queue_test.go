package mail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/mail"
)

// outbox records messages. fail decides about each attempt.
type outbox struct {
	fail func(attempt int) error

	mu       sync.Mutex
	attempts int
	sent     []string
}

func (o *outbox) Send(ctx context.Context, m mail.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts++
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.fail != nil {
		if err := o.fail(o.attempts); err != nil {
			return err
		}
	}
	o.sent = append(o.sent, m.To)
	return nil
}

// messages returns the recipients of the messages that were sent.
func (o *outbox) messages() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// greet composes the same message at every call.
func greet(context.Context) (*mail.Message, error) { return &hello, nil }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestTheQueueRetriesUntilTheServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &outbox{fail: func(attempt int) error {
			if attempt < 4 {
				return errors.New("connection refused")
			}
			return nil
		}}
		q := mail.NewQueue(context.Background(), out, discard(), mail.QueueOptions{})
		require.True(t, q.Later(greet))
		synctest.Wait()
		require.Empty(t, out.messages())
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{hello.To}, out.messages())
		require.NoError(t, q.Close(context.Background()))
	})
}

// deferring is a mail server that never accepts messages to one address.
type deferring struct {
	*outbox
	to string
}

func (d deferring) Send(ctx context.Context, m mail.Message) error {
	if m.To == d.to {
		return errors.New("450 try again later")
	}
	return d.outbox.Send(ctx, m)
}

func TestDeferredMessagesDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &outbox{}
		q := mail.NewQueue(context.Background(), deferring{out, "nobody@unknown.example"}, discard(), mail.QueueOptions{Capacity: 10})
		deferred := hello
		deferred.To = "nobody@unknown.example"
		for range 10 {
			require.True(t, q.Later(func(context.Context) (*mail.Message, error) { return &deferred, nil }))
		}
		synctest.Wait()
		require.True(t, q.Later(greet))
		synctest.Wait()
		require.Equal(t, []string{hello.To}, out.messages(), "at once")
		require.NoError(t, q.Close(context.Background()))
	})
}

func TestTheQueueGivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		attempts int
	}{
		"refused":     {fmt.Errorf("%w: 550", mail.ErrRefused), 1},
		"invalid":     {mail.ErrMessage, 1},
		"unreachable": {errors.New("connection refused"), 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				out := &outbox{fail: func(int) error { return test.err }}
				q := mail.NewQueue(context.Background(), out, slog.New(slog.NewTextHandler(&logged, nil)), mail.QueueOptions{})
				require.True(t, q.Later(greet))
				<-time.After(time.Hour)
				synctest.Wait()
				require.NoError(t, q.Close(context.Background()))
				require.Equal(t, test.attempts, out.attempts)
				require.NotContains(t, logged.String(), "Guten Tag")
				require.Contains(t, logged.String(), "level=ERROR")
			})
		})
	}
}

func TestAFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		q := mail.NewQueue(context.Background(), &outbox{}, discard(), mail.QueueOptions{Capacity: 1})
		block := func(context.Context) (*mail.Message, error) {
			<-blocked
			return nil, nil
		}
		for range 4 {
			require.True(t, q.Later(block))
			synctest.Wait()
		}
		require.True(t, q.Later(block))
		require.False(t, q.Later(block))
		close(blocked)
		synctest.Wait()
		require.True(t, q.Later(greet))
		require.NoError(t, q.Close(context.Background()))
		require.False(t, q.Later(greet))
	})
}

func TestClosingSendsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &outbox{}
		q := mail.NewQueue(context.Background(), out, discard(), mail.QueueOptions{})
		for range 50 {
			require.True(t, q.Later(greet))
		}
		require.NoError(t, q.Close(context.Background()))
		require.Len(t, out.messages(), 50)
	})
}

func TestClosingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &outbox{fail: func(int) error { return errors.New("connection refused") }}
		q := mail.NewQueue(context.Background(), out, discard(), mail.QueueOptions{})
		require.True(t, q.Later(func(ctx context.Context) (*mail.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		require.True(t, q.Later(greet))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		require.NoError(t, q.Close(ctx))
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestCompositionIsRetriedAndMayYieldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &outbox{}
		q := mail.NewQueue(context.Background(), out, discard(), mail.QueueOptions{})
		calls := 0
		require.True(t, q.Later(func(context.Context) (*mail.Message, error) {
			if calls++; calls == 1 {
				return nil, errors.New("catalog unavailable")
			}
			return &hello, nil
		}))
		require.True(t, q.Later(func(context.Context) (*mail.Message, error) { return nil, nil }))
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{hello.To}, out.messages())
		require.NoError(t, q.Close(context.Background()))
	})
}
