package arrowcheck

import "encoding/binary"

// dictionary checks a dictionary, and the size of all dictionaries that the library then holds.
func (s *Stream) dictionary(header flatTable, body []byte) error {
	if header.byteField(dictionaryIsDelta) != 0 {
		return errDelta
	}
	id := header.int64Field(dictionaryID)
	data, ok := header.table(dictionaryData)
	wanted, known := s.dictionaries[id]
	if !ok || !known {
		return errMessage
	}
	size, err := s.checkBatch(data, body, wanted)
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
	if total > s.rules.BatchBytes {
		return ErrTooLarge
	}
	return nil
}

// checkBatch checks the nodes and buffers of a batch and returns its size in memory.
func (s *Stream) checkBatch(header flatTable, body []byte, wanted demand) (int64, error) {
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
	return s.checkBuffers(header, buffers, body)
}

// maxLength exceeds the length of any array.
const maxLength = 1 << 40

func (s *Stream) checkBuffers(header flatTable, buffers flatVector, body []byte) (int64, error) {
	compression, compressed := header.table(batchCompression)
	var codec byte
	if compressed {
		if !s.rules.Compressed {
			return 0, errCompression
		}
		codec = compression.byteField(0)
	}
	total := int64(len(body))
	for i := range buffers.n {
		offset, length := buffers.pair(i)
		if offset < 0 || length < 0 || offset > int64(len(body)) || length > int64(len(body))-offset {
			return 0, errBuffers
		}
		if compressed && length > 0 {
			size, err := checkCompressed(body[offset:offset+length], codec, s.rules.BatchBytes)
			if err != nil {
				return 0, err
			}
			total += size
		}
		if total > s.rules.BatchBytes {
			return 0, ErrTooLarge
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
		return 0, nil // the data is not compressed
	}
	if size < 0 {
		return 0, errCompression
	}
	if size > limit {
		return 0, ErrTooLarge
	}
	if codec == codecZstd && size > 0 {
		return size, checkZstd(b[8:], limit)
	}
	return size, nil
}
