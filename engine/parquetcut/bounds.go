package parquetcut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Bounds are what the whole numbers, or the days since 1970-01-01, of a column lie between.
type Bounds struct {
	// Column is its name.
	Column string
	// Min and Max are values that are there; nil where none is.
	Min, Max *int64
	// Nulls is the number of rows without a value.
	Nulls int64
}

// Values of ConvertedType and of the union LogicalType in which the order of values is
// that of signed numbers, and means the same to everybody.
var (
	signedConverted = []int64{-1, 6, 15, 16, 17, 18} // none, DATE, INT_8 to INT_64
	logicalDate     = int16(6)
	logicalInteger  = int16(10)
)

// signed reports whether a column holds signed whole numbers or days.
func signed(element structure) bool {
	if physical := element.number(1, -1); physical != typeInt32 && physical != typeInt64 || !slices.Contains(signedConverted, element.number(6, -1)) {
		return false
	}
	if !element.has(10) {
		return true
	}
	logical := element.structure(10)
	if kind, found := logical.structure(logicalInteger).get(2); found {
		return kind == true
	}
	return logical.has(logicalDate)
}

// limits are what is known of some values of a signed column.
type limits struct {
	unknown bool
	// low and high are values that are there, unless all are NULL.
	low, high int64
	some      bool
	nulls     int64
}

func (l *limits) add(value int64) {
	if !l.some || value < l.low {
		l.low = value
	}
	if !l.some || value > l.high {
		l.high = value
	}
	l.some = true
}

func (l *limits) join(o limits) {
	if o.some {
		l.add(o.low)
		l.add(o.high)
	}
	l.unknown, l.nulls = l.unknown || o.unknown, l.nulls+o.nulls
}

// statistics are l as the format has them. They are bounds that are met.
func (l limits) statistics(physical int64) structure {
	if !l.some {
		return structure{{3, l.nulls}}
	}
	return structure{{3, l.nulls}, {5, plain(l.high, physical)}, {6, plain(l.low, physical)}, {7, true}, {8, true}}
}

// limitsOf reads the statistics of a chunk of so many values.
func limitsOf(statistics structure, physical, values int64) limits {
	l := limits{nulls: statistics.number(3, -1)}
	switch {
	case l.nulls < 0 || l.nulls > values:
		return limits{unknown: true}
	case l.nulls == values:
		return l
	}
	for _, id := range []int16{7, 8} {
		if exact, found := statistics.get(id); found && exact != true {
			return limits{unknown: true}
		}
	}
	high, _ := statistics.get(5)
	low, _ := statistics.get(6)
	if !l.between(low, high, physical) {
		return limits{unknown: true}
	}
	return l
}

// between takes two values in their plain encoding; false says that they are none.
func (l *limits) between(low, high any, physical int64) bool {
	lowest, _ := low.([]byte)
	highest, _ := high.([]byte)
	a, okA := number(lowest, physical)
	b, okB := number(highest, physical)
	if !okA || !okB || a > b {
		return false
	}
	l.add(a)
	l.add(b)
	return true
}

// plain is a number in the plain encoding.
func plain(n, physical int64) []byte {
	if physical == typeInt32 {
		return binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // two's complement
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n)) //nolint:gosec // two's complement
}

// number reads one in the plain encoding.
func number(b []byte, physical int64) (n int64, ok bool) {
	switch {
	case physical == typeInt32 && len(b) == 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true //nolint:gosec // two's complement
	case physical == typeInt64 && len(b) == 8:
		return int64(binary.LittleEndian.Uint64(b)), true //nolint:gosec // two's complement
	}
	return 0, false
}

// boundsOf are those of the columns that are known in each row group.
func boundsOf(leaves, groups []structure) []Bounds {
	var out []Bounds
	for i, leaf := range leaves {
		all := limits{unknown: !signed(leaf)}
		for _, g := range groups {
			meta := g.structures(1)[i].structure(3)
			all.join(limitsOf(meta.structure(12), meta.number(1, -1), meta.number(5, -1)))
		}
		if all.unknown {
			continue
		}
		b := Bounds{Column: nameOf(leaf), Nulls: all.nulls}
		if all.some {
			b.Min, b.Max = &all.low, &all.high
		}
		out = append(out, b)
	}
	return out
}

// maxIndex bounds what is read of the page indexes of a row group, in bytes.
const maxIndex = 4 << 20

// readIndexes reads what the page indexes of a row group say of its signed columns, see
// "PageIndex.md". Without an index, or one that is not understood, nothing is known.
func (g *group) readIndexes(read func(offset, length int64) ([]byte, error)) error {
	for _, ids := range [][2]int16{{6, 7}, {4, 5}} { // ColumnIndex, OffsetIndex
		from, to := int64(1<<62), int64(0)
		for _, c := range g.chunks {
			at, size := c.column.number(ids[0], -1), c.column.number(ids[1], -1)
			if !c.signed || at < g.end || at > 1<<60 || size <= 0 || size > maxIndex {
				continue
			}
			from, to = min(from, at), max(to, at+size)
		}
		if to-from <= 0 || to-from > maxIndex {
			return nil
		}
		b, err := read(from, to-from)
		if errors.Is(err, ErrNotCut) {
			return nil // it lies beyond the end
		}
		if err != nil {
			return err
		}
		for i := range g.chunks {
			c := &g.chunks[i]
			at, size := c.column.number(ids[0], -1)-from, c.column.number(ids[1], -1)
			if !c.signed || at < 0 || size <= 0 || at+size > int64(len(b)) {
				continue
			}
			if index, _, err := decode(b[at : at+size]); err == nil && ids[0] == 6 {
				c.columnIndex = index
			} else if err == nil {
				c.pages = pageLimits(c.columnIndex, index, c.physical)
			}
		}
	}
	return nil
}

// pageLimits are those of the pages that an index tells of, by where these lie in the file.
func pageLimits(index, offsets structure, physical int64) map[int64]limits {
	places := offsets.structures(1)
	nulls, lows, highs, counts := index.list(1), index.list(2), index.list(3), index.list(5)
	if len(places) == 0 || len(nulls) != len(places) || len(lows) != len(places) || len(highs) != len(places) || len(counts) != len(places) {
		return nil
	}
	out := make(map[int64]limits, len(places))
	for i, place := range places {
		count, ok := counts[i].(int64)
		l := limits{nulls: count, unknown: !ok || count < 0}
		if nulls[i] != true && !l.between(lows[i], highs[i], physical) {
			l.unknown = true
		}
		out[place.number(1, -1)] = l
	}
	return out
}

// list are the members of a list; nil where it is none.
func (s structure) list(id int16) []any {
	value, _ := s.get(id)
	l, _ := value.(list)
	return l.items
}

// numbers are the values of a dictionary.
func (d *dictionaryPage) numbers(c *chunk) ([]int64, error) {
	if d.decoded != nil {
		return d.decoded, nil
	}
	if d.raw > maxPage {
		return nil, fmt.Errorf("%w: a dictionary of %d bytes", ErrNotCut, d.raw)
	}
	raw, err := decompress(c.codec, d.body, int(d.raw))
	if err != nil {
		return nil, err
	}
	width := c.width()
	d.decoded = make([]int64, 0, len(raw)/width)
	for ; len(raw) >= width; raw = raw[width:] {
		n, _ := number(raw[:width], c.physical)
		d.decoded = append(d.decoded, n)
	}
	return d.decoded, nil
}

// limits are those of the rows from, … below to, which have been cut.
func (p *page) limits(from, to int, dictionary *dictionaryPage) (l limits, err error) {
	first, n := p.valuesOf(from, to)
	l.nulls = int64(to - from - n)
	if n == 0 {
		return l, nil
	}
	if p.encoding == encodingPlain {
		width := p.chunk.width()
		for i := first; i < first+n; i++ {
			value, _ := number(p.values[i*width:(i+1)*width], p.chunk.physical)
			l.add(value)
		}
		return l, nil
	}
	if dictionary == nil {
		return l, fmt.Errorf("%w: a dictionary behind pages", ErrNotCut)
	}
	indices, err := p.indices(first, n)
	if err != nil {
		return l, err
	}
	values, err := dictionary.numbers(p.chunk)
	if err != nil {
		return l, err
	}
	for _, i := range indices {
		if int64(i) >= int64(len(values)) {
			return l, fmt.Errorf("%w: value %d of a dictionary of %d", ErrNotCut, i, len(values))
		}
		l.add(values[i])
	}
	return l, nil
}
