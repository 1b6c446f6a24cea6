package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kind is the type of a frame.
type kind byte

const (
	// From parent to child.
	kindSetup   kind = iota + 1 // control only: the first message
	kindConnect                 // control only: carries a socket
	kindOpen                    // a session's first frame
	kindWarm
	kindQuery
	kindWrite // a statement whose rows become files
	kindIdle
	kindCancel // stops the request of the same sequence number
	// From child to parent. The reply to a request ends with kindDone or kindFailed. Before that come
	// kindColumns and any number of kindRows if it has rows, and any number of kindFile if it has
	// files.
	kindColumns
	kindRows
	kindFile // one file of a statement that writes files
	kindDone
	kindFailed
)

const (
	headerSize = 17
	// maxHead bounds a request without rows: a statement with its lists of files. It also bounds the
	// sum of the files of a reply.
	maxHead = 256 << 20
	// maxReply bounds one frame of a reply without its rows: the columns of a result, the metadata of
	// a batch, a file or a failure.
	maxReply = 16 << 20
	// maxBody bounds one batch of rows.
	maxBody = 4 << 30
)

// frame is one message. Its body, if it has one, has not been read from the socket yet.
type frame struct {
	kind kind
	seq  uint32
	head []byte
	body int64
}

// wire is one end of a socket pair. Any goroutine may send; one receives.
type wire struct {
	conn *net.UnixConn
	// in has a small buffer: large bodies are read directly into their destination.
	in *bufio.Reader
	// most bounds the head of a received frame.
	most uint32
	out  sync.Mutex
	// held is sent with the next frame.
	held []byte
}

func newWire(conn *net.UnixConn) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 4<<10), most: maxHead}
}

// wireOf takes over an open socket.
func wireOf(f *os.File) (*wire, error) {
	defer f.Close() // FileConn has a duplicate
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("worker: not a Unix socket: %s", f.Name())
	}
	// The largest buffer that the kernel allows reduces the number of switches between the two
	// processes.
	_ = u.SetWriteBuffer(maxSocketBuffer)
	return newWire(u), nil
}

const maxSocketBuffer = 4 << 20

// close closes the socket. Errors are irrelevant: every message was sent or is lost.
func (w *wire) close() { _ = w.conn.Close() }

// send writes one frame by one system call, without copying its parts.
func (w *wire) send(k kind, seq uint32, head []byte, body ...[]byte) error {
	size := 0
	for _, b := range body {
		size += len(b)
	}
	w.out.Lock()
	defer w.out.Unlock()
	start := appendHeader(w.held, k, seq, len(head), size)
	w.held = nil
	parts := make(net.Buffers, 0, 2+len(body))
	parts = append(append(parts, start, head), body...)
	_, err := parts.WriteTo(w.conn)
	return err
}

// hold prepends a frame to the next one, so that the other side wakes up only once.
func (w *wire) hold(k kind, seq uint32, head []byte) {
	w.out.Lock()
	defer w.out.Unlock()
	w.held = append(appendHeader(w.held, k, seq, len(head), 0), head...)
}

func appendHeader(b []byte, k kind, seq uint32, head, body int) []byte {
	b = append(b, byte(k))
	b = binary.LittleEndian.AppendUint32(b, seq)
	b = binary.LittleEndian.AppendUint32(b, uint32(head))
	return binary.LittleEndian.AppendUint64(b, uint64(body))
}

// receive reads a frame up to its body. The caller reads or skips the body before the next call.
func (w *wire) receive() (frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(w.in, h[:]); err != nil {
		return frame{}, err
	}
	head := binary.LittleEndian.Uint32(h[5:])
	body := binary.LittleEndian.Uint64(h[9:])
	if head > w.most || body > maxBody {
		return frame{}, errWire
	}
	f := frame{kind: kind(h[0]), seq: binary.LittleEndian.Uint32(h[1:]), head: make([]byte, head), body: int64(body)}
	if _, err := io.ReadFull(w.in, f.head); err != nil {
		return frame{}, unexpected(err)
	}
	return f, nil
}

// fill reads the body of the last frame.
func (w *wire) fill(body []byte) error {
	_, err := io.ReadFull(w.in, body)
	return unexpected(err)
}

// skip drops the body of the last frame.
func (w *wire) skip(n int64) error {
	_, err := io.CopyN(io.Discard, w.in, n)
	return unexpected(err)
}

// unexpected converts an EOF within a frame to an error that is not io.EOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pass sends a socket to the other side.
func (w *wire) pass(f *os.File) error {
	w.out.Lock()
	defer w.out.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, _, err := w.conn.WriteMsgUnix([]byte{byte(kindConnect)}, unix.UnixRights(int(f.Fd())), nil)
	return err
}

// accept receives a socket. It must not be mixed with receive once a socket may have been sent.
func (w *wire) accept() (*os.File, error) {
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := w.conn.ReadMsgUnix(b[:], oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 || kind(b[0]) != kindConnect {
		return nil, errWire
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errWire
	}
	return os.NewFile(uintptr(fds[0]), "session"), nil
}

// pending reports whether there are bytes to read.
func (w *wire) pending() bool {
	raw, err := w.conn.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	var b [1]byte
	_ = raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return n > 0
}
