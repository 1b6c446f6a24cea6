package spill_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/api/spill"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// pair is a writer and its client, over a connection that buffers nothing.
type pair struct {
	dir    string
	store  *spill.Store
	out    *spill.Writer
	client net.Conn
	server net.Conn
	end    context.CancelCauseFunc
	turn   spill.Turn
}

func newPair(t testing.TB, opts spill.Options) *pair {
	opts.Dir = t.TempDir()
	if opts.Patience == 0 {
		opts.Patience = 10 * time.Millisecond
	}
	p := &pair{dir: opts.Dir, store: spill.New(opts)}
	p.connect(spill.Owner{Org: "org", User: "ana"})
	t.Cleanup(func() {
		p.close(t)
		bytes, files := p.store.Used()
		require.Zero(t, bytes)
		require.Zero(t, files)
	})
	return p
}

func (p *pair) connect(owner spill.Owner) {
	var ctx context.Context
	ctx, p.end = context.WithCancelCause(context.Background())
	p.server, p.client = net.Pipe()
	p.out = p.store.Writer(ctx, owner, p.server, p.turn)
}

func (p *pair) close(t testing.TB) {
	p.end(nil)
	require.NoError(t, p.out.Close())
	require.NoError(t, p.client.Close())
	require.NoError(t, p.server.Close())
}

func random(n int) []byte {
	out := make([]byte, n)
	src := rand.NewChaCha8([32]byte{7})
	_, _ = src.Read(out)
	return out
}

// TestStalledClientDoesNotBlockWriter checks that everything can be written before the
// client reads a byte, and that the client then gets the same bytes.
func TestStalledClientDoesNotBlockWriter(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 64 * mib, OwnerBytes: 64 * mib})
	want := random(8*mib + 17)
	n, err := p.out.Write(want)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	used, files := p.store.Used()
	require.Greater(t, used, int64(7*mib))
	require.Equal(t, 1, files)
	left, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	require.Empty(t, left, "the file has no name")

	got := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(p.client)
		got <- text
	}()
	require.NoError(t, p.out.Finish())
	require.NoError(t, p.out.Close())
	require.NoError(t, p.server.Close())
	require.True(t, bytes.Equal(want, <-got))
}

// TestBytesStayTheSame checks that the client gets the same bytes for all sizes of
// pieces and all pauses.
func TestBytesStayTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &pair{store: spill.New(spill.Options{
			Dir: t.TempDir(), Patience: time.Millisecond,
			ServerBytes: 4 * mib, OwnerBytes: rapid.SampledFrom([]int64{128 << 10, 4 * mib}).Draw(rt, "room"),
		})}
		p.connect(spill.Owner{Org: "org", User: "ana"})
		writes := rapid.SliceOfN(rapid.IntRange(0, 200_000), 1, 12).Draw(rt, "writes")
		pauses := rapid.SliceOfN(rapid.IntRange(1, 150_000), 1, 20).Draw(rt, "pauses")
		total := 0
		for _, n := range writes {
			total += n
		}
		want := random(total)
		got := make(chan []byte)
		go func() {
			var all []byte
			buf := make([]byte, 64<<10)
			for next := 0; ; next++ {
				left := len(buf)
				if next < len(pauses) {
					left = pauses[next]
				}
				for left > 0 {
					n, err := p.client.Read(buf[:min(left, len(buf))])
					all = append(all, buf[:n]...)
					if left -= n; err != nil {
						got <- all
						return
					}
				}
				if next < len(pauses) {
					<-time.After(1500 * time.Microsecond)
				}
			}
		}()
		rest, full := want, false
		for _, n := range writes {
			if _, err := p.out.Write(rest[:n]); err != nil {
				full = true
				break
			}
			rest = rest[n:]
		}
		if !full {
			require.NoError(rt, p.out.Finish())
		}
		require.NoError(rt, p.out.Close())
		require.NoError(rt, p.server.Close())
		all := <-got
		require.NoError(rt, p.client.Close())
		require.True(rt, bytes.HasPrefix(want, all))
		require.True(rt, full || len(all) == len(want))
		used, files := p.store.Used()
		require.Zero(rt, used)
		require.Zero(rt, files)
	})
}

// TestReadingClientNeedsLittleRoom checks that a file that was read is removed, and that
// the writer waits for a reading client if there is no space.
func TestReadingClientNeedsLittleRoom(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 256 << 10, OwnerBytes: 256 << 10, Patience: 2 * time.Second})
	want := random(8 * mib)
	got := make(chan []byte)
	go func() {
		for used := int64(0); used == 0; used, _ = p.store.Used() { // until there is a file
			<-time.After(time.Millisecond)
		}
		text, _ := io.ReadAll(p.client)
		got <- text
	}()
	_, err := p.out.Write(want)
	require.NoError(t, err)
	require.NoError(t, p.out.Finish())
	used, _ := p.store.Used()
	require.LessOrEqual(t, used, int64(256<<10))
	require.NoError(t, p.out.Close())
	require.NoError(t, p.server.Close())
	require.True(t, bytes.Equal(want, <-got))
}

// TestSlowClientDoesNotBlockWriter checks a client that is slow but never stops
// reading.
func TestSlowClientDoesNotBlockWriter(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 16 * mib, OwnerBytes: 16 * mib, Patience: 100 * time.Millisecond})
	var read atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 16<<10)
		for {
			n, err := p.client.Read(buf)
			if read.Add(int64(n)); err != nil {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
	}()
	_, err := p.out.Write(random(8 * mib))
	require.NoError(t, err)
	require.Less(t, read.Load(), int64(4*mib))
	require.NoError(t, p.out.Close())
	require.NoError(t, p.server.Close())
	<-done
}

// TestRoomIsBounded checks the limits of one user and of all, and that the writer does
// not wait for a client if there is no space for its response.
func TestRoomIsBounded(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	p := newPair(t, spill.Options{ServerBytes: 3 * mib, OwnerBytes: 4 * mib, Registerer: registry})
	_, err := p.out.Write(random(4 * mib))
	require.Error(t, err)
	_, again := p.out.Write([]byte("more"))
	require.Equal(t, err, again, "nothing follows what is missing")
	require.Equal(t, err, p.out.Finish())
	used, _ := p.store.Used()
	require.LessOrEqual(t, used, int64(2*mib))
	require.Greater(t, used, int64(2*mib-64<<10-1))
	require.Equal(t, map[string]float64{"full": 1, "stalled": 0, "disk": 0}, aborted(t, registry))

	first := *p
	p.connect(spill.Owner{Org: "other", User: "ana"})
	_, err = p.out.Write(random(mib / 2))
	require.NoError(t, err, "another owner has room of its own")
	_, err = p.out.Write(random(mib))
	require.Error(t, err, "the server has no more")
	first.close(t)
}

// aborted returns the metric of responses that ended early, by reason.
func aborted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "lakewarden_streams_aborted_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return out
}

// TestStalledClientIsCutOff checks that a client which never reads is cut off after
// Options.Stall.
func TestStalledClientIsCutOff(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	p := newPair(t, spill.Options{ServerBytes: mib, OwnerBytes: mib, Stall: 500 * time.Millisecond, Registerer: registry})
	_, err := p.out.Write(random(mib / 2))
	require.NoError(t, err)
	require.ErrorIs(t, p.out.Finish(), os.ErrDeadlineExceeded)
	require.Equal(t, map[string]float64{"full": 0, "stalled": 1, "disk": 0}, aborted(t, registry))
	_, err = p.out.Write([]byte("more"))
	require.Error(t, err)
}

// TestCancelStopsFile checks that nothing more of the file is sent except the rest of
// a line, and that a last line states the cause.
func TestCancelStopsFile(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 16 * mib, OwnerBytes: 16 * mib, Grace: time.Minute})
	line := strings.Repeat("x", 99) + "\n"
	_, err := p.out.Write([]byte(strings.Repeat(line, 40_000)))
	require.NoError(t, err)
	got := make(chan []byte)
	reading := make(chan struct{})
	go func() {
		head := make([]byte, 200_000)
		_, _ = io.ReadFull(p.client, head)
		p.end(errRevoked)
		close(reading)
		rest, _ := io.ReadAll(p.client)
		got <- append(head, rest...)
	}()
	<-reading
	require.ErrorIs(t, p.out.Finish(), errRevoked)
	require.NoError(t, p.out.Break([]byte("end\n")))
	_, err = p.out.Write([]byte("late"))
	require.ErrorIs(t, err, errRevoked)
	require.NoError(t, p.out.Close())
	require.NoError(t, p.server.Close())
	lines := strings.SplitAfter(string(<-got), "\n")
	require.Empty(t, lines[len(lines)-1])
	require.Equal(t, "end\n", lines[len(lines)-2])
	for _, l := range lines[:len(lines)-2] {
		require.Equal(t, line, l)
	}
	// At most the bytes in transit and one more piece.
	require.Less(t, len(lines), (200_000+3*64<<10)/len(line))
}

// TestRefusedWriteFailsFinish checks that a response whose context ends while it is
// written counts as incomplete, even if the client has read everything that was written
// before.
func TestRefusedWriteFailsFinish(t *testing.T) {
	p := newPair(t, spill.Options{Grace: time.Minute})
	got := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(p.client)
		got <- text
	}()
	_, err := p.out.Write([]byte("row\n"))
	require.NoError(t, err)
	p.end(errRevoked)
	_, err = p.out.Write([]byte("row\n"))
	require.ErrorIs(t, err, errRevoked)
	require.ErrorIs(t, p.out.Finish(), errRevoked)
	require.NoError(t, p.out.Break([]byte("end\n")))
	require.NoError(t, p.out.Close())
	require.NoError(t, p.server.Close())
	require.Equal(t, "row\nend\n", string(<-got))
}

// TestCancelEndsBlockedResponse checks that a client which reads nothing cannot
// prolong a cancelled response.
func TestCancelEndsBlockedResponse(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 16 * mib, OwnerBytes: 16 * mib})
	_, err := p.out.Write(random(mib))
	require.NoError(t, err)
	p.end(errRevoked)
	require.ErrorIs(t, p.out.Finish(), errRevoked)
	require.Error(t, p.out.Break([]byte("end\n")))
}

var errRevoked = errors.New("revoked")

// TestUnusedWriterLeavesConnectionUsable checks that another response can be written
// to the connection.
func TestUnusedWriterLeavesConnectionUsable(t *testing.T) {
	p := newPair(t, spill.Options{Grace: time.Millisecond})
	p.end(errRevoked)
	require.NoError(t, p.out.Finish())
	<-time.After(100 * time.Millisecond) // longer than Grace
	require.NoError(t, p.out.Close())
	go func() { _, _ = p.server.Write([]byte("409")) }()
	got := make([]byte, 3)
	_, err := io.ReadFull(p.client, got)
	require.NoError(t, err)
}

// TestWaitingWriterUsesNoFile checks that the writer waits for its client.
func TestWaitingWriterUsesNoFile(t *testing.T) {
	p := newPair(t, spill.Options{Stall: 10 * time.Second})
	out := p.store.Waiting(context.Background(), p.server)
	want := random(mib)
	got := make(chan []byte)
	go func() {
		<-time.After(50 * time.Millisecond)
		text, _ := io.ReadAll(p.client)
		got <- text
	}()
	_, err := out.Write(want)
	require.NoError(t, err)
	require.NoError(t, out.Finish())
	require.NoError(t, out.Close())
	require.NoError(t, p.server.Close())
	require.True(t, bytes.Equal(want, <-got))
}
