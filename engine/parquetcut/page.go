package parquetcut

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Values of the format's enumerations.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	typeBoolean   = 0
	typeInt32     = 1
	typeInt64     = 2
	typeInt96     = 3
	typeFloat     = 4
	typeDouble    = 5
	typeByteArray = 6
	typeFixed     = 7

	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingBitPacked       = 4
	encodingRLEDictionary   = 8
)

// cutEncodings are those in which pages can be cut without knowing the values before.
var cutEncodings = []int64{encodingPlain, encodingPlainDictionary, encodingRLE, encodingRLEDictionary}

// page is a data page, decompressed.
type page struct {
	chunk    *chunk
	encoding int64
	// present says which rows have a value; nil means all.
	present []uint32
	rows    int
	values  []byte
	// read are the indices of a dictionary that were read, from the first on.
	read []uint32
}

// openPage decompresses a page of version 1, which is the one that can be cut.
func (c *chunk) openPage(header structure, body []byte) (*page, error) {
	data := header.structure(5)
	p := &page{chunk: c, encoding: data.number(2, -1), rows: int(data.number(1, -1))}
	if header.number(1, -1) != pageData || !slices.Contains(cutEncodings, p.encoding) {
		return nil, fmt.Errorf("%w: a page in encoding %d", ErrNotCut, p.encoding)
	}
	if size := header.number(2, -1); size > maxPage || p.rows > maxPageRows {
		return nil, fmt.Errorf("%w: a page of %d bytes", ErrNotCut, size)
	}
	raw, err := decompress(c.codec, body, int(header.number(2, -1)))
	if err != nil {
		return nil, err
	}
	if c.optional {
		if data.number(3, -1) != encodingRLE || len(raw) < 4 {
			return nil, fmt.Errorf("%w: levels in an old encoding", ErrNotCut)
		}
		length := binary.LittleEndian.Uint32(raw)
		if int64(length) > int64(len(raw)-4) {
			return nil, fmt.Errorf("%w: levels are cut off", ErrNotCut)
		}
		if p.present, err = readHybrid(raw[4:4+length], 1, p.rows); err != nil {
			return nil, err
		}
		raw = raw[4+length:]
	}
	p.values = raw
	return p, nil
}

// cut are the rows from, … below to as a page.
func (p *page) cut(from, to int, stored bool) (header structure, body []byte, err error) {
	var raw []byte
	first, n := p.valuesOf(from, to)
	if p.present != nil {
		raw = appendHybrid(make([]byte, 4), p.present[from:to], 1)
		binary.LittleEndian.PutUint32(raw, uint32(len(raw)-4)) //nolint:gosec // of one page
	}
	if raw, err = p.appendValues(raw, first, n); err != nil {
		return nil, nil, err
	}
	if body, err = compress(p.chunk.codec, raw, stored); err != nil {
		return nil, nil, err
	}
	header = structure{
		{1, int32(pageData)}, {2, int32(len(raw))}, {3, int32(len(body))}, //nolint:gosec // of one page
		{5, structure{{1, int32(to - from)}, {2, int32(p.encoding)}, {3, int32(encodingRLE)}, {4, int32(encodingRLE)}}}, //nolint:gosec // of one page
	}
	return header, body, nil
}

// valuesOf are the values of the rows from, … below to: n from the first-th on.
func (p *page) valuesOf(from, to int) (first, n int) {
	if p.present == nil {
		return from, to - from
	}
	return count(p.present[:from]), count(p.present[from:to])
}

// count is how many values there are.
func count(present []uint32) (n int) {
	for _, p := range present {
		n += int(p)
	}
	return n
}

// appendValues appends n of the values that there are, from the first-th on.
func (p *page) appendValues(out []byte, first, n int) ([]byte, error) {
	if first+n > p.rows {
		return nil, fmt.Errorf("%w: more values than rows", ErrNotCut)
	}
	if n == 0 {
		if p.encoding == encodingPlainDictionary || p.encoding == encodingRLEDictionary {
			return append(out, 0), nil // the width of no indices
		}
		if p.encoding == encodingRLE {
			return append(out, 0, 0, 0, 0), nil
		}
		return out, nil
	}
	switch p.encoding {
	case encodingPlain:
		return p.appendPlain(out, first, n)
	case encodingRLE:
		if p.chunk.physical != typeBoolean || len(p.values) < 4 {
			return nil, fmt.Errorf("%w: runs of type %d", ErrNotCut, p.chunk.physical)
		}
		values, err := readHybrid(p.values[4:], 1, first+n)
		if err != nil {
			return nil, err
		}
		start := len(out)
		out = appendHybrid(append(out, 0, 0, 0, 0), values[first:], 1)
		binary.LittleEndian.PutUint32(out[start:], uint32(len(out)-start-4)) //nolint:gosec // of one page
		return out, nil
	}
	indices, err := p.indices(first, n)
	if err != nil {
		return nil, err
	}
	return appendHybrid(append(out, p.values[0]), indices, int(p.values[0])), nil
}

// indices are n of those of a dictionary, from the first-th on.
func (p *page) indices(first, n int) ([]uint32, error) {
	if len(p.values) == 0 {
		return nil, fmt.Errorf("%w: no width of indices", ErrNotCut)
	}
	if len(p.read) < first+n {
		var err error
		if p.read, err = readHybrid(p.values[1:], int(p.values[0]), first+n); err != nil {
			return nil, err
		}
	}
	return p.read[first : first+n], nil
}

func (p *page) appendPlain(out []byte, first, n int) ([]byte, error) {
	from, to := 0, 0
	switch width := p.chunk.width(); {
	case width > 0:
		if len(p.values)/width < first+n {
			return nil, fmt.Errorf("%w: values are cut off", ErrNotCut)
		}
		from, to = first*width, (first+n)*width
	case p.chunk.physical == typeBoolean:
		if len(p.values) < (first+n+7)/8 {
			return nil, fmt.Errorf("%w: values are cut off", ErrNotCut)
		}
		return pack(out, unpack(nil, p.values, 1, first+n)[first:], (n+7)/8*8, 1), nil
	case p.chunk.physical == typeByteArray:
		for i := range first + n {
			if i == first {
				from = to
			}
			if len(p.values)-to < 4 {
				return nil, fmt.Errorf("%w: values are cut off", ErrNotCut)
			}
			length := int64(binary.LittleEndian.Uint32(p.values[to:]))
			if length > int64(len(p.values)-to-4) {
				return nil, fmt.Errorf("%w: a value is cut off", ErrNotCut)
			}
			to += 4 + int(length)
		}
	default:
		return nil, fmt.Errorf("%w: values of type %d", ErrNotCut, p.chunk.physical)
	}
	return append(out, p.values[from:to]...), nil
}

// width is that of a value in bytes; 0 for values of other lengths.
func (c *chunk) width() int {
	switch c.physical {
	case typeInt32, typeFloat:
		return 4
	case typeInt64, typeDouble:
		return 8
	case typeInt96:
		return 12
	case typeFixed:
		return c.length
	}
	return 0
}
