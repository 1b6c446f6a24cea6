package arrowbody

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine/arrowcheck"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// malformed is the text of an error about a stream that the library cannot read.
const malformed = "a message contradicts its header"

// maxMetaBytes bounds the metadata of a message.
const maxMetaBytes = 16 << 20

// stream passes the checked messages of a body to the library. It implements
// [ipc.MessageReader].
type stream struct {
	in     *staging.Meter
	limits staging.Limits
	check  *arrowcheck.Stream
	msg    *ipc.Message
	ended  bool
	// failed is the error of the last call of Message.
	failed error
}

func newStream(in *staging.Meter, limits staging.Limits) *stream {
	return &stream{in: in, limits: limits, check: arrowcheck.NewStream(arrowcheck.Rules{
		Depth: limits.Depth, BatchBytes: limits.BatchBytes, Compressed: true,
	})}
}

// Message implements [ipc.MessageReader]. At the end of the stream it returns io.EOF; other
// errors are those of this package or of the body.
func (s *stream) Message() (*ipc.Message, error) {
	msg, err := s.next()
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return msg, err
}

func (s *stream) next() (*ipc.Message, error) {
	meta, err := s.meta()
	if err != nil {
		return nil, err
	}
	m, err := arrowcheck.ReadMessage(meta)
	if err != nil {
		return nil, s.refused(err)
	}
	if m.Body > s.limits.BatchBytes {
		return nil, s.tooLarge()
	}
	body, err := s.bytes(m.Body)
	if err != nil {
		return nil, err
	}
	if err := s.check.Check(m, body); err != nil {
		return nil, s.refused(err)
	}
	s.release()
	s.msg = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	return s.msg, nil
}

// meta reads the metadata of the next message. A body that ends without the end-of-stream mark
// is truncated.
func (s *stream) meta() ([]byte, error) {
	length, err := s.length()
	if err != nil {
		return nil, err
	}
	if length == 0xFFFFFFFF { // the mark of messages since format version 0.15
		if length, err = s.length(); err != nil {
			return nil, err
		}
	}
	if length == 0 {
		s.ended = true
		return nil, io.EOF
	}
	if length > maxMetaBytes {
		return nil, s.syntax(malformed)
	}
	return s.bytes(int64(length))
}

func (s *stream) length() (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil {
		return 0, cutOff(err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// bytes reads n bytes. It allocates no more than a multiple of what the body has.
func (s *stream) bytes(n int64) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for int64(len(b)) < n {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(int64(2*cap(b)), n)), b...)
		}
		part := b[len(b):min(int64(cap(b)), n)]
		got, err := io.ReadFull(s.in, part)
		b = b[:len(b)+got]
		if err != nil {
			return nil, cutOff(err)
		}
	}
	return b, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return staging.ErrTruncated
	}
	return err
}

// refused returns the body's error for one of the check.
func (s *stream) refused(err error) error {
	switch {
	case errors.Is(err, arrowcheck.ErrTooLarge):
		return s.tooLarge()
	case errors.Is(err, arrowcheck.ErrTooDeep):
		return staging.ErrTooDeep
	}
	return s.syntax(err.Error())
}

func (s *stream) tooLarge() error {
	return &staging.LimitError{What: "batch bytes", Limit: s.limits.BatchBytes}
}

func (s *stream) syntax(text string) error {
	return &staging.SyntaxError{Format: staging.Arrow, Offset: s.in.Offset(), Text: text}
}

// end checks that nothing follows the end-of-stream mark.
func (s *stream) end() error {
	if !s.ended {
		return s.syntax(malformed)
	}
	n, err := io.ReadFull(s.in, make([]byte, 1))
	switch {
	case n > 0:
		return &staging.SyntaxError{Format: staging.Arrow, Offset: s.in.Offset() - 1, Text: "bytes after the end of the stream"}
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

func (s *stream) release() {
	if s.msg != nil {
		s.msg.Release()
		s.msg = nil
	}
}

// Release implements [ipc.MessageReader]. The stream has the lifetime of its reader.
func (s *stream) Release() {}

// Retain implements [ipc.MessageReader].
func (s *stream) Retain() {}

// guarded runs a step of the library, which panics at wrong values.
func guarded(in *staging.Meter, step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &staging.SyntaxError{Format: staging.Arrow, Offset: in.Offset(), Text: "a value lies outside of its array"}
		}
	}()
	return step()
}

// cause returns the error behind one of the library: errors of this package and of the body
// unchanged, others as a body that is not valid.
func (s *stream) cause(err error) error {
	var syntax *staging.SyntaxError
	var limit *staging.LimitError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case s.failed != nil:
		return s.failed
	case errors.As(err, &syntax):
		return syntax
	case errors.As(err, &limit):
		return limit
	case s.ended:
		return io.EOF
	}
	return s.syntax(malformed)
}
