package worker

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// slowToGo is a link to a process that was killed but that the system has not freed completely: it
// has not ended, and its end of the socket is open.
func slowToGo(t *testing.T) (l *link, theirs net.Conn) {
	t.Helper()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	ours, other, err := newPair()
	require.NoError(t, err)
	t.Cleanup(ours.close)
	theirs, err = net.FileConn(other)
	require.NoError(t, err)
	require.NoError(t, other.Close())
	t.Cleanup(func() { _ = theirs.Close() })
	opts := Options{Grace: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	return &link{proc: &process{opts: &opts, cmd: ended, gone: make(chan struct{})}, wire: ours}, theirs
}

// answered is what a request with a timeout ends with.
func answered(t *testing.T, l *link) error {
	t.Helper()
	c := l.newCall(context.Background())
	if err := c.start(kindQuery, nil, 20*time.Millisecond); err != nil {
		return err
	}
	_, err := c.wait()
	return err
}

// TestNobodyWaitsForMemoryToBeFreed: these would hang if anybody did.
func TestNobodyWaitsForMemoryToBeFreed(t *testing.T) {
	t.Run("of a child that was killed for its silence", func(t *testing.T) {
		l, _ := slowToGo(t)
		require.ErrorIs(t, answered(t, l), engine.ErrTimeout)
		require.Equal(t, reasonUnresponsive, l.proc.reason)
		require.True(t, l.lost)
	})
	t.Run("of one that ended by itself", func(t *testing.T) {
		l, theirs := slowToGo(t)
		require.NoError(t, theirs.Close())
		require.ErrorIs(t, answered(t, l), engine.ErrTimeout)
	})
	t.Run("but its end tells why, in time", func(t *testing.T) {
		l, _ := slowToGo(t)
		l.proc.kill(reasonMemory)
		l.proc.statements = 1
		l.proc.ledger.resident = 1
		l.account.running = true
		c := l.newCall(context.Background())
		c.watch(time.Hour)
		time.AfterFunc(5*time.Millisecond, func() { close(l.proc.gone) })
		require.ErrorIs(t, c.lose(io.ErrUnexpectedEOF), engine.ErrOutOfMemory)
	})
}

// TestStatementsAreBlamedForWhatTheyAllocate: a statement that grew by less than its lease is not
// the cause of its process's size, so it may be repeated in another.
func TestStatementsAreBlamedForWhatTheyAllocate(t *testing.T) {
	for grown, want := range map[int64]error{200 * mib: engine.ErrLost, 257 * mib: engine.ErrOutOfMemory} {
		l, _ := slowToGo(t)
		l.proc.kill(reasonMemory)
		l.proc.statements = 1
		l.proc.ledger.leased, l.proc.ledger.atStart = 256*mib, 100*mib
		l.proc.ledger.resident = l.proc.ledger.atStart + grown
		l.account.running = true
		c := l.newCall(context.Background())
		c.watch(time.Hour)
		close(l.proc.gone)
		require.ErrorIs(t, c.lose(io.ErrUnexpectedEOF), want)
	}
}
