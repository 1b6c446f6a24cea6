package parquetcut

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// ErrNotCut says that a file, or what is to be taken out of it, asks for decoding.
var ErrNotCut = errors.New("the Parquet file cannot be cut")

const (
	// maxFooter bounds the footer of a file that is cut, in bytes.
	maxFooter = 1 << 20
	// maxPage bounds a page that is cut, or a dictionary, in bytes.
	maxPage = 32 << 20
	// maxPageRows bounds the rows of a page that is cut.
	maxPageRows = 4 << 20
	// maxRows bounds the rows of a file, so that counts of them do not overflow.
	maxRows = 1 << 40
	// dictionaryShare is the part of a row group, one in so many bytes, that dictionaries
	// may take where it is cut: each part of it can need them all.
	dictionaryShare = 4
	// magic stands at both ends of a file.
	magic = "PAR1"
)

// Rows are those of a file from From on, and below To.
type Rows struct{ From, To int64 }

// Count is the number of rows.
func (r Rows) Count() int64 { return r.To - r.From }

// File is a Parquet file in a bucket. It may be used by several goroutines at once.
type File struct {
	bucket objstore.Bucket
	name   string
	size   int64
	footer structure
	groups []group
	rows   int64
}

// group is a row group.
type group struct {
	meta   structure
	rows   Rows
	chunks []chunk
	// flat says that each column has one value, or NULL, in each row, that its pages can
	// be cut, and that this does not make the file longer.
	flat bool
	// end is where the last of its chunks ends in the file, in bytes.
	end int64
}

// chunk is what a row group holds of a column.
type chunk struct {
	column, meta structure
	// start and size are where it lies in the file, in bytes.
	start, size     int64
	physical, codec int64
	length          int
	optional        bool
	values          int64
	encodings       []int64
	numbers         numbers
	// columnIndex and offsetIndex are where these lie in the file, in bytes; empty for nowhere.
	columnIndex, offsetIndex Rows
}

// Open reads the footer of a file, whose length is known: a file of another length is
// none of those that are cut. Errors: [ErrNotCut], and those of the bucket.
func Open(ctx context.Context, bucket objstore.Bucket, name string, size int64) (*File, error) {
	f := &File{bucket: bucket, name: name, size: size}
	// Whoever else reads the file begins at its end. It is to be the same footer.
	if object, err := bucket.Stat(ctx, name); err != nil {
		return nil, err
	} else if object.Size != size {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrNotCut, object.Size, size)
	}
	end, err := f.read(ctx, max(size-64<<10, 0), min(size, 64<<10))
	if err != nil {
		return nil, err
	}
	if len(end) < 12 || string(end[len(end)-4:]) != magic {
		return nil, fmt.Errorf("%w: no footer", ErrNotCut)
	}
	length := int64(binary.LittleEndian.Uint32(end[len(end)-8:]))
	if length > maxFooter || length+12 > size {
		return nil, fmt.Errorf("%w: a footer of %d bytes", ErrNotCut, length)
	}
	if length+8 > int64(len(end)) {
		if end, err = f.read(ctx, size-length-8, length+8); err != nil {
			return nil, err
		}
	}
	if f.footer, _, err = decode(end[int64(len(end))-8-length : len(end)-8]); err != nil {
		return nil, err
	}
	return f, f.layOut(size - length - 8)
}

// read reads a part of the file whole.
func (f *File) read(ctx context.Context, offset, length int64) ([]byte, error) {
	body, err := f.bucket.GetRange(ctx, f.name, offset, length)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(body, length))
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("reading a Parquet file: %w", err)
	}
	if int64(len(b)) != length {
		return nil, fmt.Errorf("%w: it is shorter than its length", ErrNotCut)
	}
	return b, nil
}

// Rows is how many rows the file has.
func (f *File) Rows() int64 { return f.rows }

// Columns are the names of the columns that hold values, none of which lies in another.
// They are nil where one does.
func (f *File) Columns() []string {
	leaves, flat := leavesOf(f.footer.structures(2))
	if !flat {
		return nil
	}
	names := make([]string, len(leaves))
	for i, leaf := range leaves {
		names[i] = nameOf(leaf)
	}
	return names
}

func nameOf(element structure) string {
	name, _ := element.get(4)
	text, _ := name.([]byte)
	return string(text)
}

// layOut finds the row groups, which lie before end.
func (f *File) layOut(end int64) error {
	if f.footer.has(8) || f.footer.has(9) {
		return fmt.Errorf("%w: it is encrypted", ErrNotCut)
	}
	leaves, flat := leavesOf(f.footer.structures(2))
	taken := []Rows{{0, int64(len(magic))}} // bytes, here
	for _, meta := range f.footer.structures(4) {
		g := group{meta: meta, rows: Rows{f.rows, f.rows + meta.number(3, -1)}, flat: flat}
		columns := meta.structures(1)
		if g.rows.Count() <= 0 || g.rows.Count() > maxRows-f.rows || len(columns) == 0 || len(columns) != len(leaves) {
			return fmt.Errorf("%w: a row group of %d rows and %d columns", ErrNotCut, g.rows.Count(), len(columns))
		}
		f.rows = g.rows.To
		var all int64
		for i, column := range columns {
			c, err := chunkOf(column, leaves[i])
			if err != nil {
				return err
			}
			g.flat = g.flat && c.cuttable() && c.values == g.rows.Count()
			g.chunks, g.end = append(g.chunks, c), max(g.end, c.start+c.size)
			taken = append(taken, Rows{c.start, c.start + c.size})
			if c.numbers != noNumbers {
				taken = append(taken, c.columnIndex, c.offsetIndex)
			}
			all += c.size
		}
		g.flat = g.flat && g.dictionaries() <= all/dictionaryShare
		f.groups = append(f.groups, g)
	}
	if f.rows == 0 || f.rows != f.footer.number(3, -1) {
		return fmt.Errorf("%w: rows are not as many as it says", ErrNotCut)
	}
	// No byte is read for two things, but for dictionaries.
	taken = slices.DeleteFunc(taken, func(t Rows) bool { return t == Rows{} })
	slices.SortFunc(taken, func(a, b Rows) int { return int(min(max(a.From-b.From, -1), 1)) })
	for i, t := range append(taken, Rows{end, end})[1:] {
		if t.From < taken[i].To {
			return fmt.Errorf("%w: columns that lie in each other", ErrNotCut)
		}
	}
	return nil
}

// leavesOf are the columns of a schema that have values; flat says that all columns
// are such, and none repeats.
func leavesOf(schema []structure) (leaves []structure, flat bool) {
	flat = true
	for i, element := range schema {
		if i == 0 {
			continue
		}
		if element.number(5, 0) > 0 {
			flat = false
			continue
		}
		leaves = append(leaves, element)
		flat = flat && element.number(3, -1) != 2
	}
	return leaves, flat
}

func chunkOf(column, element structure) (chunk, error) {
	meta := column.structure(3)
	c := chunk{
		column: column, meta: meta, start: meta.number(9, -1), size: meta.number(7, -1),
		physical: meta.number(1, -1), codec: meta.number(4, -1), values: meta.number(5, -1),
		length: int(element.number(2, 0)), optional: element.number(3, -1) == 1,
		numbers: numbersOf(element), columnIndex: placeOf(column, 6), offsetIndex: placeOf(column, 4),
	}
	if dictionary := meta.number(11, 0); dictionary > 0 {
		c.start = min(c.start, dictionary)
	}
	if meta == nil || column.has(1) || column.has(8) || column.has(9) || c.start < 0 || c.size < 0 || c.start > 1<<60 || c.size > 1<<60 {
		return c, fmt.Errorf("%w: a column that is elsewhere", ErrNotCut)
	}
	if c.physical != element.number(1, -1) {
		return c, fmt.Errorf("%w: a column of two types", ErrNotCut)
	}
	for _, e := range meta.items(2) {
		if n, ok := e.(int32); ok {
			c.encodings = append(c.encodings, int64(n))
		}
	}
	return c, nil
}

// placeOf is where a field, and the next, say that something lies in the file.
func placeOf(column structure, id int16) Rows {
	from, size := column.number(id, 0), column.number(id+1, 0)
	if from <= 0 || from > 1<<60 || size <= 0 || size > 1<<31 {
		return Rows{}
	}
	return Rows{from, from + size}
}

// dictionary is how long the chunk's dictionary is, in bytes, as far as the footer tells.
func (c *chunk) dictionary() int64 {
	if at := c.meta.number(11, 0); at > 0 {
		return max(c.meta.number(9, 0)-at, 0)
	}
	return 0
}

// dictionaries is how long those of the row group are together, in bytes.
func (g *group) dictionaries() (sum int64) {
	for _, c := range g.chunks {
		sum += c.dictionary()
	}
	return sum
}

// cuttable reports whether pages of the chunk can be cut as far as the footer tells.
func (c *chunk) cuttable() bool {
	if !slices.Contains(cutCodecs, c.codec) || c.physical < typeBoolean || c.physical > typeFixed || c.physical == typeFixed && c.length <= 0 {
		return false
	}
	return !slices.ContainsFunc(c.encodings, func(e int64) bool { return !slices.Contains(cutEncodings, e) && e != encodingBitPacked })
}
