package parquetcut

import (
	"encoding/binary"
	"fmt"
)

// Bounds are what the values of a column lie between, and are met by some.
type Bounds struct {
	// Column is its name.
	Column string
	// Days says that values are days since 1970-01-01; otherwise they are whole numbers.
	Days bool
	// Min and Max are nil where there is no value.
	Min, Max *int64
	// Nulls is the number of rows without a value.
	Nulls int64
}

// numbers is what the values of a column are as far as they are signed numbers.
type numbers int8

const (
	noNumbers numbers = iota
	wholeNumbers
	days
)

// numbersOf goes by the logical type (LogicalTypes.md), and by the older converted type.
func numbersOf(element structure) numbers {
	const (
		convertedDate             = 6
		convertedInt8, toInt64    = 15, 18
		logicalDate               = 6
		logicalInteger, andSigned = 10, 2
	)
	physical, converted := element.number(1, -1), element.number(6, -1)
	logical := element.structure(10)
	sign, integer := logical.structure(logicalInteger).get(andSigned)
	switch {
	case physical != typeInt32 && physical != typeInt64:
	case logical.has(logicalDate), !element.has(10) && converted == convertedDate:
		if physical == typeInt32 && (converted == convertedDate || converted == -1) {
			return days
		}
	case converted == -1 || convertedInt8 <= converted && converted <= toInt64:
		if !element.has(10) || integer && sign == true {
			return wholeNumbers
		}
	}
	return noNumbers
}

// stats are those of some values of a column of numbers.
type stats struct {
	unknown bool
	// min and max are set where any is true: where there is a value.
	any      bool
	min, max int64
	nulls    int64
}

func (s *stats) add(value int64) {
	if !s.any || value < s.min {
		s.min = value
	}
	if !s.any || value > s.max {
		s.max = value
	}
	s.any = true
}

func (s *stats) join(o stats) {
	if o.any {
		s.add(o.min)
		s.add(o.max)
	}
	s.unknown, s.nulls = s.unknown || o.unknown, s.nulls+o.nulls
}

// Fields of Statistics.
const (
	statNulls    = 3
	statMax      = 5
	statMin      = 6
	statMaxExact = 7
	statMinExact = 8
)

// encode prints s, whose bounds are met, as Statistics.
func (s stats) encode(physical int64) structure {
	if !s.any {
		return structure{{statNulls, s.nulls}}
	}
	return structure{{statNulls, s.nulls}, {statMax, plain(s.max, physical)}, {statMin, plain(s.min, physical)}, {statMaxExact, true}, {statMinExact, true}}
}

// statsOf reads the Statistics of a chunk with so many rows. Exact says that bounds are met.
func statsOf(s structure, physical, rows int64) (out stats, exact bool) {
	out.nulls = s.number(statNulls, -1)
	if out.nulls < 0 || out.nulls > rows {
		return stats{unknown: true}, false
	}
	if out.nulls == rows {
		return out, true
	}
	low, _ := s.get(statMin)
	high, _ := s.get(statMax)
	if !out.between(low, high, physical) {
		return stats{unknown: true}, false
	}
	minExact, _ := s.get(statMinExact)
	maxExact, _ := s.get(statMaxExact)
	return out, minExact == true && maxExact == true
}

// between takes two bounds in their plain encoding; false says that they are none.
func (s *stats) between(low, high any, physical int64) bool {
	lowest, _ := low.([]byte)
	highest, _ := high.([]byte)
	a, okA := number(lowest, physical)
	b, okB := number(highest, physical)
	if !okA || !okB || a > b {
		return false
	}
	s.add(a)
	s.add(b)
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

// boundsOf are those of the columns of which they are known in each row group.
func boundsOf(leaves, groups []structure) (out []Bounds) {
	all := make([]stats, len(leaves))
	for i, leaf := range leaves {
		all[i].unknown = numbersOf(leaf) == noNumbers
	}
	for _, g := range groups {
		for i, column := range g.structures(1) {
			if all[i].unknown {
				continue
			}
			meta, rows := column.structure(3), g.number(3, 0)
			known, exact := statsOf(meta.structure(12), meta.number(1, -1), rows)
			known.unknown = known.unknown || !exact || meta.number(5, -1) != rows
			all[i].join(known)
		}
	}
	for i, s := range all {
		if s.unknown {
			continue
		}
		b := Bounds{Column: nameOf(leaves[i]), Days: numbersOf(leaves[i]) == days, Nulls: s.nulls}
		if s.any {
			b.Min, b.Max = &s.min, &s.max
		}
		out = append(out, b)
	}
	return out
}

// stats are those of the rows from, … below to, by their values.
func (p *page) stats(from, to int, dictionary *dictionaryPage) (out stats, err error) {
	first, n := p.valuesOf(from, to)
	out.nulls = int64(to - from - n)
	width := p.chunk.width()
	switch p.encoding {
	case encodingPlain:
		if len(p.values)/width < first+n {
			return out, fmt.Errorf("%w: values are cut off", ErrNotCut)
		}
		for i := first; i < first+n; i++ {
			value, _ := number(p.values[i*width:(i+1)*width], p.chunk.physical)
			out.add(value)
		}
		return out, nil
	case encodingPlainDictionary, encodingRLEDictionary:
		if n == 0 {
			return out, nil
		}
		return out, p.addIndexed(&out, first, n, dictionary)
	}
	return out, fmt.Errorf("%w: numbers in encoding %d", ErrNotCut, p.encoding)
}

// addIndexed adds values of a dictionary.
func (p *page) addIndexed(to *stats, first, n int, dictionary *dictionaryPage) error {
	if dictionary == nil {
		return fmt.Errorf("%w: a dictionary behind pages", ErrNotCut)
	}
	indices, err := p.indices(first, n)
	if err != nil {
		return err
	}
	values, err := dictionary.values(p.chunk.codec)
	if err != nil {
		return err
	}
	width := p.chunk.width()
	count := len(values) / width
	for _, i := range indices {
		if int64(i) >= int64(count) {
			return fmt.Errorf("%w: value %d of a dictionary of %d", ErrNotCut, i, count)
		}
		value, _ := number(values[int(i)*width:(int(i)+1)*width], p.chunk.physical)
		to.add(value)
	}
	return nil
}
