package checkpoint

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

const (
	// chunkLevels is how many values are decoded at a time.
	chunkLevels = 1024
	// maxCells bounds the entries of one map or list.
	maxCells = 1 << 20
)

// kind is the family of a leaf's values.
type kind int

const (
	kindText kind = iota // BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY
	kindInt
	kindFloat
	kindBool
	kindOther
)

// cell is one value, or its absence: def tells how far down the path to the
// leaf something is defined.
type cell struct {
	def  int16
	text string
	num  int64 // booleans too
	real float64
}

// leaf walks a column chunk row by row.
type leaf struct {
	column *schema.Column
	kind   kind
	// maxDef and maxRep are the levels of a value.
	maxDef, maxRep int16
	// fetch decodes the next values into values and returns how many levels
	// and how many values it read.
	fetch      func() (levels int64, read int, err error)
	defs, reps []int16
	values     []cell
	level, n   int
	value, m   int
	// cells are those of the current row.
	cells []cell
}

func openLeaf(column *schema.Column, rg *file.RowGroupReader, i int) (*leaf, error) {
	reader, err := rg.Column(i)
	if err != nil {
		return nil, err
	}
	l := &leaf{
		column: column, maxDef: column.MaxDefinitionLevel(), maxRep: column.MaxRepetitionLevel(),
		values: make([]cell, chunkLevels),
	}
	if l.maxDef > 0 {
		l.defs = make([]int16, chunkLevels)
	}
	if l.maxRep > 0 {
		l.reps = make([]int16, chunkLevels)
	}
	switch r := reader.(type) {
	case *file.ByteArrayColumnChunkReader:
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v parquet.ByteArray) cell { return cell{text: string(v)} })
	case *file.FixedLenByteArrayColumnChunkReader:
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v parquet.FixedLenByteArray) cell { return cell{text: string(v)} })
	case *file.Int32ColumnChunkReader:
		l.kind = kindInt
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v int32) cell { return cell{num: int64(v)} })
	case *file.Int64ColumnChunkReader:
		l.kind = kindInt
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v int64) cell { return cell{num: v} })
	case *file.Float32ColumnChunkReader:
		l.kind = kindFloat
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v float32) cell { return cell{real: float64(v)} })
	case *file.Float64ColumnChunkReader:
		l.kind = kindFloat
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v float64) cell { return cell{real: v} })
	case *file.BooleanColumnChunkReader:
		l.kind = kindBool
		l.fetch = fetcher(l, r.ReadBatchInPage, func(v bool) cell {
			if v {
				return cell{num: 1}
			}
			return cell{}
		})
	case *file.Int96ColumnChunkReader:
		l.kind = kindOther
		l.fetch = fetcher(l, r.ReadBatchInPage, func(parquet.Int96) cell { return cell{} })
	default:
		return nil, fmt.Errorf("column %s: %w", column.Path(), ErrCorrupt)
	}
	return l, nil
}

// fetcher copies values out of the page at once: the next page overwrites its
// memory.
func fetcher[T any](l *leaf, read func(int64, []T, []int16, []int16) (int64, int, error), convert func(T) cell) func() (int64, int, error) {
	buf := make([]T, chunkLevels)
	return func() (int64, int, error) {
		levels, n, err := read(chunkLevels, buf, l.defs, l.reps)
		for i, v := range buf[:n] {
			l.values[i] = convert(v)
		}
		return levels, n, err
	}
}

// more makes sure that there is a level to take.
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

func (l *leaf) rep() int16 {
	if l.maxRep == 0 {
		return 0
	}
	return l.reps[l.level]
}

// take moves the next level into cells.
func (l *leaf) take() error {
	def := l.maxDef
	if l.maxDef > 0 {
		def = l.defs[l.level]
	}
	l.level++
	c := cell{}
	if def >= l.maxDef {
		if l.value >= l.m {
			return fmt.Errorf("column %s lacks values: %w", l.column.Path(), ErrCorrupt)
		}
		c = l.values[l.value]
		l.value++
	}
	c.def = def
	l.cells = append(l.cells, c)
	return nil
}

// next loads the cells of the next row.
func (l *leaf) next() error {
	l.cells = l.cells[:0]
	ok, err := l.more()
	if err != nil {
		return err
	}
	if !ok || l.rep() != 0 {
		return fmt.Errorf("column %s lacks rows: %w", l.column.Path(), ErrCorrupt)
	}
	for {
		if err := l.take(); err != nil {
			return err
		}
		if l.maxRep == 0 {
			return nil
		}
		if ok, err = l.more(); err != nil {
			return err
		}
		if !ok || l.rep() == 0 {
			return nil
		}
		if len(l.cells) == maxCells {
			return fmt.Errorf("column %s: %d entries in one row: %w", l.column.Path(), maxCells, ErrCorrupt)
		}
	}
}
