package ingest

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxMetaBytes bounds the metadata of a message.
const maxMetaBytes = 16 << 20

// arrowStream hands the messages of a body to the library, checked. It implements
// [ipc.MessageReader].
type arrowStream struct {
	in     *meter
	limits Limits
	// missing are the dictionaries that must come before the first batch.
	missing int
	schema  bool
	// batch and dictionaries are what the library takes from each.
	batch        demand
	dictionaries map[int64]demand
	// sizes are those of the dictionaries that the library holds.
	sizes map[int64]int64
	msg   *ipc.Message
	ended bool
	// failed is why no message came.
	failed error
}

// Message implements [ipc.MessageReader]. At the end of the stream it is io.EOF;
// other errors are ours or the body's.
func (s *arrowStream) Message() (*ipc.Message, error) {
	msg, err := s.next()
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return msg, err
}

func (s *arrowStream) next() (*ipc.Message, error) {
	meta, err := s.meta()
	if err != nil {
		return nil, err
	}
	m, err := readMessage(meta)
	if err != nil {
		return nil, s.syntax(err)
	}
	if m.body > s.limits.BatchBytes {
		return nil, &LimitError{What: "batch bytes", Limit: s.limits.BatchBytes}
	}
	body, err := s.bytes(m.body)
	if err != nil {
		return nil, err
	}
	if err := s.check(m, body); err != nil {
		return nil, s.syntax(err)
	}
	s.release()
	s.msg = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	return s.msg, nil
}

// meta reads the metadata of the next message. An end without the mark for it is
// a body that was cut off.
func (s *arrowStream) meta() ([]byte, error) {
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

func (s *arrowStream) length() (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil {
		return 0, cutOff(err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// bytes reads n bytes. What is not there is not allocated.
func (s *arrowStream) bytes(n int64) ([]byte, error) {
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
		return ErrTruncated
	}
	return err
}

// check looks at a message before the library does.
func (s *arrowStream) check(m arrowMessage, body []byte) error {
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
			return &LimitError{What: "batch bytes", Limit: s.limits.BatchBytes}
		}
		return nil
	case batchMessage:
		// The library takes a batch in the place of a dictionary for one.
		if !s.schema || s.missing > 0 {
			return errMessage
		}
		_, err := checkBatch(m.header, body, s.batch, s.limits.BatchBytes)
		return err
	}
	return errMessage
}

// syntax says what is wrong with the body; limits stay what they are.
func (s *arrowStream) syntax(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrTooDeep) {
		return err
	}
	return &SyntaxError{Format: Arrow, Offset: s.in.offset(), Text: err.Error()}
}

// end wants nothing after the mark of the end.
func (s *arrowStream) end() error {
	if !s.ended {
		return s.syntax(errMessage)
	}
	n, err := io.ReadFull(s.in, make([]byte, 1))
	switch {
	case n > 0:
		return &SyntaxError{Format: Arrow, Offset: s.in.offset() - 1, Text: "bytes after the end of the stream"}
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

func (s *arrowStream) release() {
	if s.msg != nil {
		s.msg.Release()
		s.msg = nil
	}
}

// Release implements [ipc.MessageReader]. The stream lives as long as its reader.
func (s *arrowStream) Release() {}

// Retain implements [ipc.MessageReader].
func (s *arrowStream) Retain() {}

// guarded runs a step of the library, whose panics are its answer to wrong values.
func guarded(in *meter, step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &SyntaxError{Format: Arrow, Offset: in.offset(), Text: "a value lies outside of its array"}
		}
	}()
	return step()
}

// cause is the error behind one of the library's: ours and those of the body as
// they are, its own ones as a body that is not valid.
func (s *arrowStream) cause(err error) error {
	var syntax *SyntaxError
	var limit *LimitError
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
