package arrowbody

import (
	"encoding/binary"
	"errors"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// The Arrow library trusts messages: it allocates what they claim, follows their offsets
// without end and expands shared parts as often as they occur. A wrong value that ends in a
// panic is recovered; one that exhausts memory cannot be. So messages are checked before the
// library reads them.

var (
	errMessage     = errors.New("a message is not what its header says")
	errBuffers     = errors.New("a buffer lies outside of its message")
	errBigEndian   = errors.New("numbers are big-endian")
	errDelta       = errors.New("dictionaries that are sent in parts are not supported")
	errUnion       = errors.New("unions are not supported")
	errSchemaSize  = errors.New("the schema has too many fields or texts")
	errCompression = errors.New("compressed data is not valid")
)

// The numbers of the tables' fields in the format's schema files.
const (
	messageType, messageHeader, messageBody         = 1, 2, 3
	schemaEndianness, schemaFields, schemaMetadata  = 0, 1, 2
	fieldName, fieldTypeKind, fieldType             = 0, 2, 3
	fieldDictionary, fieldChildren, fieldMetadata   = 4, 5, 6
	dictionaryID, dictionaryData, dictionaryIsDelta = 0, 1, 2
	batchLength, batchNodes, batchBuffers           = 0, 1, 2
	batchCompression, batchVariadic                 = 3, 4
)

// The kinds of messages, and of types that the check distinguishes.
const (
	schemaMessage, dictionaryMessage, batchMessage = 1, 2, 3
	timestampType, unionType                       = 10, 14
	binaryViewType, stringViewType, lastType       = 23, 24, 26
)

// ipcMessage is the header of a message.
type ipcMessage struct {
	kind   byte
	body   int64
	header flatTable
}

func readMessage(meta []byte) (ipcMessage, error) {
	root := flatRoot(meta)
	header, ok := root.table(messageHeader)
	m := ipcMessage{kind: root.byteField(messageType), body: root.int64Field(messageBody), header: header}
	if !ok || m.body < 0 {
		return m, errMessage
	}
	return m, nil
}

// demand is the number of nodes, buffers and view counts that the library takes from a batch
// without checking how many there are.
type demand struct{ nodes, buffers, views int }

func (d *demand) add(o demand) {
	d.nodes += o.nodes
	d.buffers += o.buffers
	d.views += o.views
}

// ownBuffers maps the kind of a type to its number of buffers, without those of its children.
var ownBuffers = [lastType + 1]int{
	2: 2, 3: 2, 4: 3, 5: 3, 6: 2, 7: 2, 8: 2, 9: 2, timestampType: 2, 11: 2, 12: 2, 13: 1, 15: 2, 16: 1, 17: 2, 18: 2,
	19: 3, 20: 3, 21: 2, binaryViewType: 2, stringViewType: 2, 25: 3, 26: 3,
}

// schemaCheck walks over a schema. The length of the message bounds what it may visit: valid
// messages do not share parts.
type schemaCheck struct {
	budget int
	depth  int
	// dictionaries are the demands of dictionaries, by their ids.
	dictionaries map[int64]demand
}

// checkSchema returns the demands of batches and dictionaries.
func checkSchema(header flatTable, maxDepth int) (demand, map[int64]demand, error) {
	if header.int16Field(schemaEndianness) != 0 {
		return demand{}, nil, errBigEndian
	}
	c := &schemaCheck{budget: len(header.Bytes), depth: maxDepth, dictionaries: map[int64]demand{}}
	batch, err := c.fields(header, schemaFields, 0)
	if err != nil {
		return demand{}, nil, err
	}
	return batch, c.dictionaries, c.metadata(header, schemaMetadata)
}

func (c *schemaCheck) spend(n int) error {
	if c.budget -= n; c.budget < 0 {
		return errSchemaSize
	}
	return nil
}

// text spends the length of a string.
func (c *schemaCheck) text(t flatTable, field int) error { return c.spend(t.vector(field, 1).n) }

func (c *schemaCheck) metadata(t flatTable, field int) error {
	pairs := t.vector(field, 4)
	for i := range pairs.n {
		pair := pairs.tableAt(i)
		if err := c.spend(8 + pair.vector(0, 1).n + pair.vector(1, 1).n); err != nil {
			return err
		}
	}
	return nil
}

// fields checks the children of a field, or of the schema, and returns the sum of their
// demands.
func (c *schemaCheck) fields(t flatTable, field, depth int) (sum demand, err error) {
	if depth > c.depth {
		return sum, staging.ErrTooDeep
	}
	children := t.vector(field, 4)
	for i := range children.n {
		d, err := c.field(children.tableAt(i), depth)
		if err != nil {
			return sum, err
		}
		sum.add(d)
	}
	return sum, nil
}

func (c *schemaCheck) field(t flatTable, depth int) (d demand, err error) {
	if err := c.spend(8); err != nil {
		return d, err
	}
	if err := c.text(t, fieldName); err != nil {
		return d, err
	}
	kind, err := c.kind(t)
	if err != nil {
		return d, err
	}
	if err := c.metadata(t, fieldMetadata); err != nil {
		return d, err
	}
	if d, err = c.fields(t, fieldChildren, depth+1); err != nil {
		return d, err
	}
	own := demand{nodes: 1, buffers: ownBuffers[kind]}
	if kind == binaryViewType || kind == stringViewType {
		own.views = 1
	}
	d.add(own)
	return c.encoded(t, d), nil
}

// kind returns the kind of a field's type.
func (c *schemaCheck) kind(t flatTable) (byte, error) {
	kind := t.byteField(fieldTypeKind)
	typ, ok := t.table(fieldType)
	switch {
	case !ok || kind == 0 || kind > lastType:
		return 0, errMessage
	case kind == unionType:
		return 0, errUnion
	case kind == timestampType:
		return kind, c.text(typ, 1) // the time zone
	}
	return kind, nil
}

// encoded returns the demand of a field that may have a dictionary. d is the demand of its
// type.
func (c *schemaCheck) encoded(t flatTable, d demand) demand {
	dictionary, ok := t.table(fieldDictionary)
	if !ok {
		return d
	}
	id := dictionary.int64Field(dictionaryID)
	have := c.dictionaries[id]
	c.dictionaries[id] = demand{max(have.nodes, d.nodes), max(have.buffers, d.buffers), max(have.views, d.views)}
	return demand{nodes: 1, buffers: 2}
}

// checkDictionary returns the dictionary's id and its size in memory.
func checkDictionary(header flatTable, body []byte, demands map[int64]demand, limit int64) (int64, int64, error) {
	if header.byteField(dictionaryIsDelta) != 0 {
		return 0, 0, errDelta
	}
	id := header.int64Field(dictionaryID)
	data, ok := header.table(dictionaryData)
	wanted, known := demands[id]
	if !ok || !known {
		return 0, 0, errMessage
	}
	size, err := checkBatch(data, body, wanted, limit)
	return id, size, err
}

// checkBatch checks the nodes and buffers of a batch and returns its size in
// memory.
func checkBatch(header flatTable, body []byte, wanted demand, limit int64) (int64, error) {
	rows, nodes := header.int64Field(batchLength), header.vector(batchNodes, 16)
	if rows < 0 || rows > maxLength || nodes.n < wanted.nodes {
		return 0, errMessage
	}
	for i := range nodes.n {
		if length, nulls := nodes.pair(i); length < 0 || nulls < 0 || nulls > length || length > maxLength {
			return 0, errMessage
		}
	}
	buffers, views := header.vector(batchBuffers, 16), header.vector(batchVariadic, 8)
	if views.n < wanted.views || wanted.buffers > buffers.n {
		return 0, errMessage
	}
	left := int64(buffers.n - wanted.buffers)
	for i := range views.n {
		n := views.number(i)
		if n < 0 || n > left {
			return 0, errMessage
		}
		left -= n
	}
	return checkBuffers(header, buffers, body, limit)
}

// maxLength exceeds the length of any array.
const maxLength = 1 << 40

func checkBuffers(header flatTable, buffers flatVector, body []byte, limit int64) (int64, error) {
	compression, compressed := header.table(batchCompression)
	var codec byte
	if compressed {
		codec = compression.byteField(0)
	}
	total := int64(len(body))
	for i := range buffers.n {
		offset, length := buffers.pair(i)
		if offset < 0 || length < 0 || offset > int64(len(body)) || length > int64(len(body))-offset {
			return 0, errBuffers
		}
		if compressed && length > 0 {
			size, err := checkCompressed(body[offset:offset+length], codec, limit)
			if err != nil {
				return 0, err
			}
			total += size
		}
		if total > limit {
			return 0, &staging.LimitError{What: "batch bytes", Limit: limit}
		}
	}
	return total, nil
}

// The codecs of compressed bodies.
const codecLZ4, codecZstd = 0, 1

// checkCompressed returns the memory that a compressed buffer takes, for its data and for
// decoding.
func checkCompressed(b []byte, codec byte, limit int64) (int64, error) {
	if len(b) < 8 || codec > codecZstd {
		return 0, errCompression
	}
	size := int64(binary.LittleEndian.Uint64(b))
	if size == -1 {
		return 0, nil // not worth it, said the writer
	}
	if size < 0 {
		return 0, errCompression
	}
	if size > limit {
		return 0, &staging.LimitError{What: "batch bytes", Limit: limit}
	}
	if codec == codecZstd && size > 0 {
		return size, checkZstd(b[8:], limit)
	}
	return size, nil
}
