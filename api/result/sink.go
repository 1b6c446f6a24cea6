package result

import "io"

// holdBack is how much is kept before the status line goes out: an error that
// comes earlier still gets a status of its own.
const holdBack = 1 << 20

// Sink holds back the first bytes of a response. Not safe for concurrent use.
type Sink struct {
	dst       io.Writer
	start     func()
	held      []byte
	committed bool
	written   int64
}

// NewSink returns a sink over dst. start is called once, before the first byte
// reaches dst: there the caller sends the status line.
func NewSink(dst io.Writer, start func()) *Sink { return &Sink{dst: dst, start: start} }

// Write implements io.Writer.
func (s *Sink) Write(p []byte) (int, error) {
	s.written += int64(len(p))
	if s.committed {
		return s.dst.Write(p)
	}
	s.held = append(s.held, p...)
	if len(s.held) >= holdBack {
		return len(p), s.commit()
	}
	return len(p), nil
}

// Committed reports whether bytes have reached the client.
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
