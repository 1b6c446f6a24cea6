package arrowbody

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// maxMetaBytes bounds the metadata of a message.
const maxMetaBytes = 16 << 20

// stream passes the checked messages of a body to the library. It implements
// [ipc.MessageReader].
type stream struct {
	in     *staging.Meter
	limits staging.Limits
	// missing is the number of dictionaries that must come before the first batch.
	missing int
	schema  bool
	// batch and dictionaries are the demands of the schema.
	batch        demand
	dictionaries map[int64]demand
	// sizes are the sizes of the dictionaries that the library holds.
	sizes map[int64]int64
	msg   *ipc.Message
	ended bool
	// failed is the error of the last call of Message.
	failed error
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
	var m ipcMessage
	if err := metadata(func() (err error) { m, err = readMessage(meta); return err }); err != nil {
		return nil, s.syntax(err)
	}
	if m.body > s.limits.BatchBytes {
		return nil, &staging.LimitError{What: "batch bytes", Limit: s.limits.BatchBytes}
	}
	body, err := s.bytes(m.body)
	if err != nil {
		return nil, err
	}
	if err := metadata(func() error { return s.check(m, body) }); err != nil {
		return nil, s.syntax(err)
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
		return nil, s.syntax(errMessage)
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

// check checks a message before the library reads it.
func (s *stream) check(m ipcMessage, body []byte) error {
	switch m.kind {
	case schemaMessage:
		if s.schema {
			return errMessage
		}
		s.schema = true
		var err error
		s.batch, s.dictionaries, err = checkSchema(m.header, s.limits.Depth)
		s.missing = len(s.dictionaries)
		return err
	case dictionaryMessage:
		id, size, err := checkDictionary(m.header, body, s.dictionaries, s.limits.BatchBytes)
		if err != nil {
			return err
		}
		if _, known := s.sizes[id]; !known {
			s.missing--
		}
		s.sizes[id] = size
		total := int64(0)
		for _, size := range s.sizes {
			total += size
		}
		if total > s.limits.BatchBytes {
			return &staging.LimitError{What: "batch bytes", Limit: s.limits.BatchBytes}
		}
		return nil
	case batchMessage:
		// The library would read a batch in the place of a missing dictionary.
		if !s.schema || s.missing > 0 {
			return errMessage
		}
		_, err := checkBatch(m.header, body, s.batch, s.limits.BatchBytes)
		return err
	}
	return errMessage
}

// syntax returns err as an error of the body; limits are returned unchanged.
func (s *stream) syntax(err error) error {
	if errors.Is(err, staging.ErrTooLarge) || errors.Is(err, staging.ErrTooDeep) {
		return err
	}
	return &staging.SyntaxError{Format: staging.Arrow, Offset: s.in.Offset(), Text: err.Error()}
}

// end checks that nothing follows the end-of-stream mark.
func (s *stream) end() error {
	if !s.ended {
		return s.syntax(errMessage)
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
	return s.syntax(errMessage)
}
