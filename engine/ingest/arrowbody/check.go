package arrowbody

import (
	"encoding/binary"
	"errors"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// The library that decodes Arrow messages believes them: it allocates what they
// claim, follows their offsets without end and copies what they share as often as
// they say. What it does with a wrong value ends in a panic, which is caught; what
// ends in a lack of memory is not. So messages are checked here before.

var (
	errMessage     = errors.New("a message is not what its header says")
	errBuffers     = errors.New("a buffer lies outside of its message")
	errBigEndian   = errors.New("numbers are big-endian")
	errDelta       = errors.New("dictionaries that are sent in parts are not supported")
	errUnion       = errors.New("unions are not supported")
	errSchemaSize  = errors.New("the schema has too many fields or texts")
	errCompression = errors.New("compressed data is not valid")
)

// The fields of the tables, by their numbers in the format's schema files.
const (
	messageType, messageHeader, messageBody         = 1, 2, 3
	schemaEndianness, schemaFields, schemaMetadata  = 0, 1, 2
	fieldName, fieldTypeKind, fieldType             = 0, 2, 3
	fieldDictionary, fieldChildren, fieldMetadata   = 4, 5, 6
	dictionaryID, dictionaryData, dictionaryIsDelta = 0, 1, 2
	batchLength, batchNodes, batchBuffers           = 0, 1, 2
	batchCompression, batchVariadic                 = 3, 4
)

// The kinds of message, and those of types that are looked at.
const (
	schemaMessage, dictionaryMessage, batchMessage = 1, 2, 3
	timestampType, unionType                       = 10, 14
	binaryViewType, stringViewType, lastType       = 23, 24, 26
)

// ipcMessage is what the header of a message says.
type ipcMessage struct {
	kind   byte
	body   int64
	header flatTable
}

func readMessage(meta []byte) (ipcMessage, error) {
	root, err := flatRoot(meta)
	if err != nil {
		return ipcMessage{}, err
	}
	kind, err := root.byteField(messageType)
	if err != nil {
		return ipcMessage{}, err
	}
	body, err := root.int64Field(messageBody)
	if err != nil {
		return ipcMessage{}, err
	}
	header, ok, err := root.table(messageHeader)
	if err == nil && (!ok || body < 0) {
		err = errMessage
	}
	return ipcMessage{kind: kind, body: body, header: header}, err
}

// demand is what the library takes from a batch, in this order and without a look
// at how much there is.
type demand struct{ nodes, buffers, views int }

func (d *demand) Add(o demand) {
	d.nodes += o.nodes
	d.buffers += o.buffers
	d.views += o.views
}

// ownBuffers are those of the types by their kinds in the format, without those of
// their parts.
var ownBuffers = [lastType + 1]int{
	2: 2, 3: 2, 4: 3, 5: 3, 6: 2, 7: 2, 8: 2, 9: 2, timestampType: 2, 11: 2, 12: 2, 13: 1, 15: 2, 16: 1, 17: 2, 18: 2,
	19: 3, 20: 3, 21: 2, binaryViewType: 2, stringViewType: 2, 25: 3, 26: 3,
}

// schemaCheck walks over a schema. What a walk may visit is bounded by the length
// of the message: no honest one shares what it points to.
type schemaCheck struct {
	budget int
	depth  int
	// dictionaries are the demands of dictionaries, by their numbers.
	dictionaries map[int64]demand
}

// checkSchema returns the demands of batches and dictionaries.
func checkSchema(header flatTable, maxDepth int) (demand, map[int64]demand, error) {
	order, err := header.int16Field(schemaEndianness)
	if err != nil {
		return demand{}, nil, err
	}
	if order != 0 {
		return demand{}, nil, errBigEndian
	}
	c := &schemaCheck{budget: len(header.b), depth: maxDepth, dictionaries: map[int64]demand{}}
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

// Text accounts for a string.
func (c *schemaCheck) Text(t flatTable, field int) error {
	v, err := t.vector(field, 1)
	if err != nil {
		return err
	}
	return c.spend(v.n)
}

func (c *schemaCheck) metadata(t flatTable, field int) error {
	pairs, err := t.vector(field, 4)
	if err != nil {
		return err
	}
	for i := range pairs.n {
		pair, err := pairs.table(i)
		if err != nil {
			return err
		}
		if err := c.spend(8); err != nil {
			return err
		}
		for part := range 2 {
			if err := c.Text(pair, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields checks the children of a field, or of the schema, and adds up what they
// demand.
func (c *schemaCheck) fields(t flatTable, field, depth int) (sum demand, err error) {
	if depth > c.depth {
		return sum, staging.ErrTooDeep
	}
	children, err := t.vector(field, 4)
	if err != nil {
		return sum, err
	}
	for i := range children.n {
		child, err := children.table(i)
		if err != nil {
			return sum, err
		}
		d, err := c.Field(child, depth)
		if err != nil {
			return sum, err
		}
		sum.Add(d)
	}
	return sum, nil
}

func (c *schemaCheck) Field(t flatTable, depth int) (d demand, err error) {
	if err := c.spend(8); err != nil {
		return d, err
	}
	if err := c.Text(t, fieldName); err != nil {
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
	d.Add(own)
	return c.encoded(t, d)
}

// Kind is the kind of a field's type.
func (c *schemaCheck) kind(t flatTable) (byte, error) {
	kind, err := t.byteField(fieldTypeKind)
	if err != nil {
		return 0, err
	}
	typ, ok, err := t.table(fieldType)
	switch {
	case err != nil:
		return 0, err
	case !ok || kind == 0 || kind > lastType:
		return 0, errMessage
	case kind == unionType:
		return 0, errUnion
	case kind == timestampType:
		err = c.Text(typ, 1) // the time zone
	}
	return kind, err
}

// encoded is the demand of a field that may have a dictionary, given that of its
// type.
func (c *schemaCheck) encoded(t flatTable, d demand) (demand, error) {
	dictionary, ok, err := t.table(fieldDictionary)
	if err != nil || !ok {
		return d, err
	}
	id, err := dictionary.int64Field(dictionaryID)
	have := c.dictionaries[id]
	c.dictionaries[id] = demand{max(have.nodes, d.nodes), max(have.buffers, d.buffers), max(have.views, d.views)}
	return demand{nodes: 1, buffers: 2}, err
}

// checkDictionary returns the dictionary's number and its size in memory.
func checkDictionary(header flatTable, body []byte, demands map[int64]demand, limit int64) (int64, int64, error) {
	delta, err := header.byteField(dictionaryIsDelta)
	if err != nil {
		return 0, 0, err
	}
	if delta != 0 {
		return 0, 0, errDelta
	}
	id, err := header.int64Field(dictionaryID)
	if err != nil {
		return 0, 0, err
	}
	data, ok, err := header.table(dictionaryData)
	if err == nil && !ok {
		err = errMessage
	}
	if err != nil {
		return 0, 0, err
	}
	wanted, ok := demands[id]
	if !ok {
		return 0, 0, errMessage
	}
	size, err := checkBatch(data, body, wanted, limit)
	return id, size, err
}

// checkBatch checks the nodes and buffers of a batch and returns its size in
// memory.
func checkBatch(header flatTable, body []byte, wanted demand, limit int64) (int64, error) {
	rows, err := header.int64Field(batchLength)
	if err != nil {
		return 0, err
	}
	nodes, err := header.vector(batchNodes, 16)
	if err != nil {
		return 0, err
	}
	if rows < 0 || rows > maxLength || nodes.n < wanted.nodes {
		return 0, errMessage
	}
	for i := range nodes.n {
		if length, nulls := nodes.pair(i); length < 0 || nulls < 0 || nulls > length || length > maxLength {
			return 0, errMessage
		}
	}
	buffers, err := header.vector(batchBuffers, 16)
	if err != nil {
		return 0, err
	}
	views, err := header.vector(batchVariadic, 8)
	if err != nil {
		return 0, err
	}
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

// maxLength is above what any array has.
const maxLength = 1 << 40

func checkBuffers(header flatTable, buffers flatVector, body []byte, limit int64) (int64, error) {
	compression, compressed, err := header.table(batchCompression)
	if err != nil {
		return 0, err
	}
	var codec byte
	if compressed {
		if codec, err = compression.byteField(0); err != nil {
			return 0, err
		}
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

// checkCompressed returns what a compressed buffer takes in memory: its data, and
// what decoding takes.
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
