package result

import "io"

// maxHeld is how many bytes are buffered before the status line is sent: an error that
// occurs before can still determine the status.
const maxHeld = 1 << 20

// Sink buffers the first bytes of a response. It is not safe for concurrent use.
type Sink struct {
	dst       io.Writer
	start     func()
	held      []byte
	committed bool
	written   int64
}

// NewSink returns a sink that writes to dst. start is called once, before the first byte
// is written to dst, to send the status line.
func NewSink(dst io.Writer, start func()) *Sink { return &Sink{dst: dst, start: start} }

// Write implements io.Writer.
func (s *Sink) Write(p []byte) (int, error) {
	s.written += int64(len(p))
	if s.committed {
		return s.dst.Write(p)
	}
	s.held = append(s.held, p...)
	if len(s.held) >= maxHeld {
		return len(p), s.commit()
	}
	return len(p), nil
}

// Committed reports whether bytes have been written to the client.
func (s *Sink) Committed() bool { return s.committed }

func (s *Sink) commit() error {
	if s.committed {
		return nil
	}
	s.committed = true
	s.start()
	held := s.held
	s.held = nil
	_, err := s.dst.Write(held)
	return err
}
