package middleware_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
)

// quick is a pace for tests: 10,000 bytes a second after 100 ms.
var quick = middleware.Pace{Grace: 100 * time.Millisecond, Pause: 200 * time.Millisecond, Rate: 10_000, Rest: 100 * time.Millisecond,
	Reply: time.Minute}

// dialPaced answers one connection's requests with handler and returns the client's end.
func dialPaced(t *testing.T, pace middleware.Pace, handler http.HandlerFunc) (net.Conn, *bufio.Reader) {
	t.Helper()
	server := httptest.NewServer(middleware.RequestID(pace.Handler(handler)))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

// reads returns the number of bytes in a body, or the error of reading it.
func reads(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	_, _ = io.WriteString(w, strings.Repeat("x", int(n)))
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

// closed checks that the server has closed the connection.
func closed(t *testing.T, in *bufio.Reader) {
	t.Helper()
	_, err := in.ReadByte()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server goes on")
}

func tooSlow(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Contains(t, string(text), `"code":"body_too_slow"`)
	require.True(t, resp.Close, "the connection is closed")
	closed(t, in)
	return string(text)
}

func TestSlowBodyIsRefused(t *testing.T) {
	for name, head := range map[string]string{
		"length": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
		"chunks": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nF4240\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, in := dialPaced(t, quick, reads)
			say(t, conn, head)
			stop := make(chan struct{})
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
						_, _ = conn.Write([]byte("x")) // 200 bytes a second
					}
				}
			}()
			defer close(stop)
			require.Contains(t, tooSlow(t, in), "must arrive at 10000 bytes a second or faster, with pauses of 200ms at most, and within 5m0s")
		})
	}
}

// TestPauseIsBoundedAfterBurst checks that a fast start does not allow a long pause.
func TestPauseIsBoundedAfterBurst(t *testing.T) {
	conn, in := dialPaced(t, quick, reads)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("x", 500_000))
	tooSlow(t, in)
}

// TestBodyTimeIsBounded checks that a body has to end in time, however fast it
// arrives, unless it is a stream.
func TestBodyTimeIsBounded(t *testing.T) {
	pace := quick
	pace.Grace, pace.Pause, pace.Whole = time.Minute, time.Minute, 300*time.Millisecond
	feed := func(conn net.Conn, n int) {
		for range n {
			if _, err := io.WriteString(conn, strings.Repeat("x", 1000)); err != nil {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	conn, in := dialPaced(t, pace, reads)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	go feed(conn, 100)
	tooSlow(t, in)

	pace.Streams = func(*http.Request) bool { return true }
	conn, in = dialPaced(t, pace, reads)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
	feed(conn, 60)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// TestSlowHandlerDoesNotCount checks that time spent in the handler does not count,
// and that no deadline remains for the rest of the handler or the next request.
func TestSlowHandlerDoesNotCount(t *testing.T) {
	conn, in := dialPaced(t, quick, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 1000)
		for range 3 {
			<-time.After(250 * time.Millisecond) // longer than any limit
			if _, err := io.ReadFull(r.Body, buf); err != nil {
				problem.Write(w, r, err)
				return
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
			t.Error("the request was taken for one whose client went away: ", context.Cause(r.Context()))
		case <-time.After(400 * time.Millisecond):
		}
		_, _ = io.WriteString(w, "ok")
	})
	for range 2 {
		say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n"+strings.Repeat("x", 3000))
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "ok", string(text))
		<-time.After(250 * time.Millisecond)
	}
}

// TestUnreadBodyDoesNotDelayReply checks that neither the reply nor the connection
// waits long for an unread body, and that a body which has already arrived does not
// cost the connection.
func TestUnreadBodyDoesNotDelayReply(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		<-time.After(150 * time.Millisecond) // longer than the deadline for the rest of a body
	}
	conn, in := dialPaced(t, quick, refuse)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	closed(t, in)

	conn, in = dialPaced(t, quick, refuse)
	for range 2 {
		say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, resp.StatusCode)
		require.False(t, resp.Close)
	}

	conn, in = dialPaced(t, quick, refuse)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "the client is not asked for its body")
}

// TestHandlerDeadlineApplies checks that a handler's deadline applies in addition to
// those of the pace.
func TestHandlerDeadlineApplies(t *testing.T) {
	ended := make(chan error, 1)
	pace := quick
	pace.Grace, pace.Pause = time.Hour, time.Hour
	conn, _ := dialPaced(t, pace, func(w http.ResponseWriter, r *http.Request) {
		time.AfterFunc(20*time.Millisecond, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now()) })
		_, err := io.Copy(io.Discard, r.Body)
		ended <- err
	})
	say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx")
	select {
	case err := <-ended:
		require.Error(t, err)
		require.NotEqual(t, "body_too_slow", problem.From(err).Name)
	case <-time.After(time.Minute):
		t.Fatal("the read goes on")
	}
}

// TestUnreadReplyIsCutOff checks that a client cannot leave a reply unread forever.
func TestUnreadReplyIsCutOff(t *testing.T) {
	ended := make(chan error, 1)
	pace := quick
	pace.Reply = 200 * time.Millisecond
	conn, _ := dialPaced(t, pace, func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, strings.Repeat("x", 64<<20))
		ended <- err
	})
	say(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the server waits")
	}
}

// TestDeadlineAfterBodyDoesNotEndTheRequest interrupts the reading of a body that has already been
// read: net/http would take the client for gone, in this request and in all others of the connection.
func TestDeadlineAfterBodyDoesNotEndTheRequest(t *testing.T) {
	conn, in := dialPaced(t, quick, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			err = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		select {
		case <-r.Context().Done():
			err = r.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
		if err != nil {
			problem.Write(w, r, err)
		}
	})
	for range 2 {
		say(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
		reply, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, reply.StatusCode)
		require.NoError(t, reply.Body.Close())
	}
}
