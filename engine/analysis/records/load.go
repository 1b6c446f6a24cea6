package records

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// table has the rows that are compared. A record is a group of rows that are equal in all
// columns but identifiers and audit times; records are numbered in the order of their hashes.
type table struct {
	fields []*field
	// codes has the numbers of the values, record by record. 0 is a missing value.
	codes []uint32
	// hashes has the hash of the columns by record, first the number of its first row.
	hashes []int64
	first  []int32
	// keys has the key of each row, in the order of the records; it is nil without one.
	keys keyList
	// rows is the number of rows.
	rows int
}

// keyList has texts one after the other.
type keyList struct {
	arena []byte
	ends  []int
}

func (k *keyList) add(text []byte) {
	k.arena = append(k.arena, text...)
	k.ends = append(k.ends, len(k.arena))
}

func (k *keyList) at(i int) []byte {
	start := 0
	if i > 0 {
		start = k.ends[i-1]
	}
	return k.arena[start:k.ends[i]]
}

// records returns the number of records.
func (t *table) records() int { return len(t.hashes) }

// size returns the number of rows of a record.
func (t *table) size(record int) int { return int(t.first[record+1] - t.first[record]) }

// row returns the numbers of the values of a record.
func (t *table) row(record int) []uint32 {
	return t.codes[record*len(t.fields) : (record+1)*len(t.fields)]
}

// plan is what to read.
type plan struct {
	chosen []profile
	// whole are the columns in which the rows of a record are equal.
	whole []analysis.Column
	key   []analysis.Column
	// condition restricts the rows, or is "".
	condition string
}

// hash returns the SQL of the hash of the whole columns.
func (p plan) hash() string {
	return "CAST(hash(" + analysis.Names(p.whole) + ") // 2 AS BIGINT)"
}

// columns returns the columns that are read.
func (p plan) columns() []analysis.Column {
	out := analysis.Union(p.whole, p.key...)
	for _, c := range p.chosen {
		out = analysis.Union(out, c.column)
	}
	return out
}

// keyText returns the SQL of the key as one text, whose parts are separated by a control
// character after their length.
func keyText(key []analysis.Column) string {
	parts := make([]string, len(key))
	for i, c := range key {
		text := "CAST(" + c.Quoted() + " AS VARCHAR)"
		parts[i] = "coalesce(length(" + text + ") || ':' || " + text + ", '')"
	}
	return strings.Join(parts, " || chr(31) || ")
}

// load reads the rows.
func load(ctx context.Context, in analysis.Input, p plan) (*table, error) {
	t := &table{}
	items := []string{p.hash()}
	if len(p.key) > 0 {
		items = append(items, keyText(p.key))
	} else {
		items = append(items, "''")
	}
	for _, c := range p.chosen {
		k, _ := c.kind()
		t.fields = append(t.fields, &field{column: c.column, kind: k, values: newDictionary()})
		items = append(items, fmt.Sprintf("left(CAST(%s AS VARCHAR), %d)", c.column.Quoted(), analysis.MaxText+1))
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + in.Table.From(p.columns()...)
	if p.condition != "" {
		sql += " WHERE " + p.condition
	}
	result, err := in.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	var hashes []int64
	var keys keyList
	err = engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error {
		ids, ok := batch.Column(0).(*array.Int64)
		if !ok {
			return fmt.Errorf("unexpected type %s for the hash of a row", batch.Column(0).DataType())
		}
		hashes = append(hashes, ids.Int64Values()...)
		if len(p.key) > 0 {
			for i := range int(batch.NumRows()) {
				keys.add(textAt(batch.Column(1), i))
			}
		}
		return t.take(batch)
	})
	if err != nil {
		return nil, err
	}
	t.arrange(hashes, keys)
	return t, nil
}

// textAt returns a text of a column, which is valid as long as the batch. NULL is nil.
func textAt(column arrow.Array, i int) []byte {
	texts, ok := column.(*array.String)
	if !ok || texts.IsNull(i) {
		return nil
	}
	start := texts.ValueOffset(i) - texts.ValueOffset(0)
	return texts.ValueBytes()[start : start+texts.ValueLen(i)]
}

// take appends the values of a batch.
func (t *table) take(batch arrow.RecordBatch) error {
	width, rows := len(t.fields), int(batch.NumRows())
	start := len(t.codes)
	t.codes = slices.Grow(t.codes, width*rows)[:start+width*rows]
	for j, f := range t.fields {
		column := batch.Column(2 + j)
		for i := range rows {
			t.codes[start+i*width+j] = f.code(textAt(column, i))
		}
	}
	return nil
}

// code returns the number of the normal form of a value, or 0 if there is none.
func (f *field) code(text []byte) uint32 {
	if len(text) > analysis.MaxText && utf8.RuneCount(text) > analysis.MaxText {
		return 0
	}
	if f.kind == words || f.kind == digits && f.column.Kind() != analysis.KindInteger {
		text = f.normal(text)
	}
	if len(text) == 0 {
		return 0
	}
	return f.values.number(text)
}

// normal returns the normal form of a text, which is valid until the next call.
func (f *field) normal(text []byte) []byte {
	if !plain(text) {
		text = append(f.buffer[:0], similarity.Normalize(string(text))...)
		f.buffer = text
	}
	if f.kind == digits && bytes.IndexByte(text, ' ') >= 0 {
		compact := f.compact[:0]
		for _, b := range text {
			if b != ' ' {
				compact = append(compact, b)
			}
		}
		f.compact, text = compact, compact
	}
	if f.kind == words && placeholders[string(text)] {
		return nil
	}
	return text
}

// placeholders are normal forms of texts that stand for no value.
var placeholders = map[string]bool{
	"na": true, "n a": true, "nan": true, "null": true, "none": true, "unknown": true, "not available": true, "nil": true,
}

// plain reports whether a text is its own normal form.
func plain(text []byte) bool {
	space := true
	for _, b := range text {
		switch {
		case 'a' <= b && b <= 'z' || '0' <= b && b <= '9':
			space = false
		case b == ' ' && !space:
			space = true
		default:
			return false
		}
	}
	return !space || len(text) == 0
}

// arrange sorts the rows by hash and key, and keeps the values of one row of each record.
func (t *table) arrange(hashes []int64, keys keyList) {
	t.rows = len(hashes)
	order := make([]int32, len(hashes))
	for i := range order {
		order[i] = int32(i) //nolint:gosec // The budget bounds the number of rows.
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := cmp.Compare(hashes[a], hashes[b]); c != 0 || keys.ends == nil {
			return c
		}
		return bytes.Compare(keys.at(int(a)), keys.at(int(b)))
	})
	width := len(t.fields)
	codes := make([]uint32, 0, len(t.codes))
	for i, row := range order {
		if keys.ends != nil {
			t.keys.add(keys.at(int(row)))
		}
		if i > 0 && hashes[row] == hashes[order[i-1]] {
			continue
		}
		t.hashes = append(t.hashes, hashes[row])
		t.first = append(t.first, int32(i)) //nolint:gosec // The budget bounds the number of rows.
		codes = append(codes, t.codes[int(row)*width:(int(row)+1)*width]...)
	}
	t.first = append(t.first, int32(len(order))) //nolint:gosec // The budget bounds the number of rows.
	t.codes = codes
}
