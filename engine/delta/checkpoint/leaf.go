package checkpoint

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

const (
	// chunkLevels and fewLevels are the maximum and the minimum number of levels that
	// are decoded at a time. fewLevels is also the minimum capacity of slots.
	chunkLevels = 1024
	fewLevels   = 16
	// maxEntries bounds the entries of one map or list.
	maxEntries = 1 << 20
)

// kind is the class of a leaf's values.
type kind int

const (
	kindText kind = iota // BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY
	kindInt              // including booleans
	kindFloat
	kindBool
	kindInstant // microseconds, of INT96
)

// leaf reads a column chunk, one batch of rows at a time. Within a batch it holds its
// levels and values in slices with one slot per level. A column that is not repeated
// has one level per row.
type leaf struct {
	column *schema.Column
	kind   kind
	// maxDef and maxRep are the maximum definition and repetition levels of the column.
	maxDef, maxRep int16
	// chunk bounds the levels that fetch decodes.
	chunk int64

	// fetch decodes the next levels into defs and reps, and their values into the page
	// slice of the leaf's kind. It returns the numbers of levels and values.
	fetch      func() (levels int64, read int, err error)
	defs, reps []int16
	pageTexts  []string
	pageInts   []int64
	pageReals  []float64
	// level and value are the next level and value to take from the page, which has n
	// levels and m values.
	level, n, value, m int

	// The batch. first holds the index of each row's first level, and the end of the
	// last row; only repeated columns use it. def holds the definition levels.
	first []int32
	def   []int16
	texts []string
	ints  []int64
	reals []float64
}

func openLeaf(column *schema.Column, rg *file.RowGroupReader, i int) (*leaf, error) {
	reader, err := rg.Column(i)
	if err != nil {
		return nil, err
	}
	l := &leaf{
		column: column, maxDef: column.MaxDefinitionLevel(), maxRep: column.MaxRepetitionLevel(),
		chunk: max(fewLevels, min(chunkLevels, rg.NumRows())),
	}
	if l.maxDef > 0 {
		l.defs = make([]int16, l.chunk)
	}
	if l.maxRep > 0 {
		l.reps = make([]int16, l.chunk)
	}
	switch r := reader.(type) {
	case *file.ByteArrayColumnChunkReader:
		l.fetch = fetcher(l, kindText, r.ReadBatchInPage, takeTexts[parquet.ByteArray])
	case *file.FixedLenByteArrayColumnChunkReader:
		l.fetch = fetcher(l, kindText, r.ReadBatchInPage, takeTexts[parquet.FixedLenByteArray])
	case *file.Int32ColumnChunkReader:
		l.fetch = fetcher(l, kindInt, r.ReadBatchInPage, takeInts[int32])
	case *file.Int64ColumnChunkReader:
		l.fetch = fetcher(l, kindInt, r.ReadBatchInPage, takeInts[int64])
	case *file.Float32ColumnChunkReader:
		l.fetch = fetcher(l, kindFloat, r.ReadBatchInPage, takeReals[float32])
	case *file.Float64ColumnChunkReader:
		l.fetch = fetcher(l, kindFloat, r.ReadBatchInPage, takeReals[float64])
	case *file.BooleanColumnChunkReader:
		l.fetch = fetcher(l, kindBool, r.ReadBatchInPage, takeBools)
	case *file.Int96ColumnChunkReader:
		l.fetch = fetcher(l, kindInstant, r.ReadBatchInPage, takeInstants)
	default:
		return nil, fmt.Errorf("column %s: %w", column.Path(), ErrCorrupt)
	}
	return l, nil
}

// fetcher returns a fetch function. It copies values out of the page at once, because
// the next page overwrites its memory.
func fetcher[T any](l *leaf, k kind, read func(int64, []T, []int16, []int16) (int64, int, error), take func(*leaf, []T)) func() (int64, int,
	error) {
	l.kind = k
	var buf []T
	return func() (int64, int, error) {
		if buf == nil {
			buf = make([]T, l.chunk)
		}
		levels, n, err := read(l.chunk, buf, l.defs, l.reps)
		take(l, buf[:n])
		return levels, n, err
	}
}

// takeTexts copies the values into one string and slices it. A table has hundreds of
// thousands of values, and most have the same lifetime as their neighbours.
func takeTexts[T ~[]byte](l *leaf, values []T) {
	total := 0
	for _, v := range values {
		total += len(v)
	}
	var b strings.Builder
	b.Grow(total)
	for _, v := range values {
		b.Write(v)
	}
	all := b.String()
	l.pageTexts = l.pageTexts[:0]
	for _, v := range values {
		l.pageTexts = append(l.pageTexts, all[:len(v)])
		all = all[len(v):]
	}
}

func takeInts[T int32 | int64](l *leaf, values []T) {
	l.pageInts = l.pageInts[:0]
	for _, v := range values {
		l.pageInts = append(l.pageInts, int64(v))
	}
}

// takeInstants converts the timestamps of old Parquet writers: a Julian day and the
// nanoseconds since its midnight.
func takeInstants(l *leaf, values []parquet.Int96) {
	const (
		epoch = 2440588 // the Julian day of 1970-01-01
		day   = 24 * 60 * 60 * 1_000_000
	)
	l.pageInts = l.pageInts[:0]
	for _, v := range values {
		nanos := int64(binary.LittleEndian.Uint64(v[:8]))
		days := int64(binary.LittleEndian.Uint32(v[8:])) - epoch
		l.pageInts = append(l.pageInts, days*day+nanos/1000)
	}
}

func takeReals[T float32 | float64](l *leaf, values []T) {
	l.pageReals = l.pageReals[:0]
	for _, v := range values {
		l.pageReals = append(l.pageReals, float64(v))
	}
}

func takeBools(l *leaf, values []bool) {
	l.pageInts = l.pageInts[:0]
	for _, v := range values {
		n := int64(0)
		if v {
			n = 1
		}
		l.pageInts = append(l.pageInts, n)
	}
}

// more fetches a page if none of its levels are left, and reports whether there is a
// level to take.
func (l *leaf) more() (bool, error) {
	if l.level < l.n {
		return true, nil
	}
	levels, read, err := l.fetch()
	if err != nil {
		return false, err
	}
	l.level, l.n, l.value, l.m = 0, int(levels), 0, read
	return l.n > 0, nil
}

// fill loads the next rows as the batch.
func (l *leaf) fill(rows int) error {
	l.first, l.def, l.texts, l.ints, l.reals = l.first[:0], l.def[:0], l.texts[:0], l.ints[:0], l.reals[:0]
	if l.maxRep > 0 {
		return l.fillRepeated(rows)
	}
	for len(l.def) < rows {
		ok, err := l.more()
		if err != nil {
			return err
		}
		if !ok {
			return l.lacks("rows")
		}
		if err := l.take(min(rows-len(l.def), l.n-l.level)); err != nil {
			return err
		}
	}
	return nil
}

// fillRepeated loads the next rows of a repeated column, in runs of levels that end
// with a row.
func (l *leaf) fillRepeated(rows int) error {
	for {
		ok, err := l.more()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		run := 0
		for ; l.level+run < l.n; run++ {
			if l.reps[l.level+run] != 0 {
				continue
			}
			if len(l.first) == rows {
				break
			}
			l.first = append(l.first, int32(len(l.def)+run))
		}
		if len(l.first) == 0 {
			return l.lacks("the start of its first row")
		}
		if len(l.def)+run-int(l.first[len(l.first)-1]) > maxEntries {
			return fmt.Errorf("column %s: %d entries in one row: %w", l.column.Path(), maxEntries, ErrCorrupt)
		}
		rest := l.level+run < l.n
		if err := l.take(run); err != nil {
			return err
		}
		if rest {
			break
		}
	}
	if len(l.first) < rows {
		return l.lacks("rows")
	}
	l.first = append(l.first, int32(len(l.def)))
	return nil
}

func (l *leaf) lacks(what string) error {
	return fmt.Errorf("column %s lacks %s: %w", l.column.Path(), what, ErrCorrupt)
}

// take moves n levels of the page into the batch, and their values to the slots of the
// levels that have one.
func (l *leaf) take(n int) error {
	at := len(l.def)
	if l.maxDef == 0 {
		l.def = append(l.def, make([]int16, n)...)
	} else {
		l.def = append(l.def, l.defs[l.level:l.level+n]...)
	}
	l.level += n
	switch l.kind {
	case kindText:
		return spread(l, at, &l.texts, l.pageTexts)
	case kindInt, kindBool, kindInstant:
		return spread(l, at, &l.ints, l.pageInts)
	case kindFloat:
		return spread(l, at, &l.reals, l.pageReals)
	}
	return nil
}

// spread moves the values of the levels from at on to their slots. Trailing nulls get
// no slots, which saves memory because most columns are null in most rows.
func spread[T any](l *leaf, at int, slots *[]T, page []T) error {
	for i := at; i < len(l.def); i++ {
		if l.def[i] < l.maxDef {
			continue
		}
		if l.value >= l.m {
			return l.lacks("values")
		}
		*slots = extend(*slots, i+1)
		(*slots)[i] = page[l.value]
		l.value++
	}
	return nil
}

// extend returns slots with length n. New slots are zero.
func extend[T any](slots []T, n int) []T {
	have := len(slots)
	if n <= cap(slots) {
		slots = slots[:n]
		clear(slots[have:])
		return slots
	}
	grown := make([]T, n, max(n, fewLevels, 2*cap(slots)))
	copy(grown, slots)
	return grown
}

// has reports whether a level has a value.
func (l *leaf) has(level int) bool { return l.def[level] >= l.maxDef }

// row returns the range of a row's levels.
func (l *leaf) row(i int) (from, to int) {
	if l.maxRep == 0 {
		return i, i + 1
	}
	return int(l.first[i]), int(l.first[i+1])
}

// defined returns the definition level of a row's first entry.
func (l *leaf) defined(i int) int16 {
	from, _ := l.row(i)
	return l.def[from]
}
