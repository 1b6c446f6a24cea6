package arrowcheck

// Rules are what the messages of a stream may hold. The zero value allows the least.
type Rules struct {
	// Depth is how deep fields may be nested.
	Depth int
	// BatchBytes is the memory of one batch, decompressed, and of all dictionaries together.
	BatchBytes int64
	// Compressed allows compressed data, Unions allows unions.
	Compressed, Unions bool
}

// Stream checks the messages of one stream. It is not safe for concurrent use.
type Stream struct {
	rules Rules
	// begun reports that the schema was checked.
	begun bool
	// missing is the number of dictionaries that must come before the first batch.
	missing int
	// batch and dictionaries are the demands of the schema.
	batch        demand
	dictionaries map[int64]demand
	// sizes are the sizes of the dictionaries that the library holds.
	sizes map[int64]int64
}

// NewStream returns the check of a stream whose first message is still to come.
func NewStream(rules Rules) *Stream { return &Stream{rules: rules, sizes: map[int64]int64{}} }

// Message is the metadata of a message.
type Message struct {
	kind   byte
	header flatTable
	// Body is the length of the message's body in bytes, as the metadata claims.
	Body int64
}

// The kinds of messages.
const schemaMessage, dictionaryMessage, batchMessage = 1, 2, 3

// ReadMessage reads metadata. It does not check what the metadata describes.
func ReadMessage(meta []byte) (m Message, err error) {
	return m, guarded(func() error {
		root := flatRoot(meta)
		header, ok := root.table(messageHeader)
		m = Message{kind: root.byteField(messageType), header: header, Body: root.int64Field(messageBody)}
		if !ok || m.Body < 0 {
			return errMessage
		}
		return nil
	})
}

// Check checks the next message of the stream with its body. After an error the stream cannot be
// read any further.
func (s *Stream) Check(m Message, body []byte) error {
	return guarded(func() error { return s.check(m, body) })
}

func (s *Stream) check(m Message, body []byte) (err error) {
	switch m.kind {
	case schemaMessage:
		if s.begun {
			return errMessage
		}
		s.begun = true
		s.batch, s.dictionaries, err = checkSchema(m.header, s.rules)
		s.missing = len(s.dictionaries)
		return err
	case dictionaryMessage:
		return s.dictionary(m.header, body)
	case batchMessage:
		// The library would read a batch in the place of a missing dictionary.
		if !s.begun || s.missing > 0 {
			return errMessage
		}
		_, err = s.checkBatch(m.header, body, s.batch)
		return err
	}
	return errMessage
}

// guarded runs a step that reads flatbuffers, whose accessors panic where an offset points outside
// of the buffer.
func guarded(step func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errFlatbuffer
		}
	}()
	return step()
}
