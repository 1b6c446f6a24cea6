package relation

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// MaxRows is the number of rows that a sample has at most, maxCells that of its values.
	MaxRows  = 60_000
	maxCells = 2_000_000
	// MaxColumns is the number of columns that a sample has at most.
	MaxColumns = 200
)

// Sample holds rows of a table in memory, in an order that looks random.
type Sample struct {
	// Columns are the columns of the sample.
	Columns []analysis.Column
	// Rows is the number of rows of the sample, Total that of the table.
	Rows  int
	Total int64
	// Numbers holds, by column and row, numbers, dates (days since 1970) and timestamps
	// (seconds since 1970). NULL and values that are not finite are NaN. It is nil for
	// other columns.
	Numbers [][]float64
	// Codes holds, by column and row, the number of the value among the distinct values
	// of its column, from 1. NULL is 0.
	Codes [][]int32
	// Distinct holds the number of codes of each column.
	Distinct []int

	dictionaries []map[uint64]int32
}

// unknown is the code of a value that is not in the sample.
const unknown = -1

// Items returns the SQL of the values of a row as [Sample.Read] takes them.
func (s *Sample) Items() []string {
	items := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		if items[i] = Number(c); items[i] == "" {
			items[i] = "CASE WHEN " + c.Quoted() + " IS NOT NULL THEN CAST(" + hashed(c) + " >> 1 AS BIGINT) END"
		}
	}
	return items
}

// Read returns the number and the code of a column's value from a result with the columns of
// [Sample.Items] from offset on. The code is negative if the sample does not have the value.
func (s *Sample) Read(r engine.Row, offset, column int) (float64, int32) {
	number, at := math.NaN(), offset+column
	if r.Null(at) {
		return number, 0
	}
	var value uint64
	if s.Columns[column].Measurable() {
		number = r.Float64(at)
		value = math.Float64bits(number + 0)
	} else {
		value = uint64(r.Int64(at))
	}
	if math.IsInf(number, 0) {
		number = math.NaN()
	}
	if code, ok := s.dictionaries[column][value]; ok {
		return number, code
	}
	return number, unknown
}

// Whole reports whether the sample has all rows.
func (s *Sample) Whole() bool { return int64(s.Rows) == s.Total }

// hashed returns the SQL of a number for the value of a column that is equal for equal
// values. Long texts count by their beginning and their length.
func hashed(c analysis.Column) string {
	if c.Kind() == analysis.KindText {
		q := c.Quoted()
		return fmt.Sprintf("hash(left(%s, %d), length(%s))", q, analysis.MaxText, q)
	}
	return "hash(" + c.Quoted() + ")"
}

// Row returns the SQL of a number for the values of a row that is equal for equal rows.
func Row(columns []analysis.Column) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = analysis.Shortened(c)
	}
	return "CAST(hash(" + strings.Join(parts, ", ") + ") >> 1 AS BIGINT)"
}

// Number returns the SQL of a value as DOUBLE, as in [Sample.Numbers], or "" for columns of
// other kinds.
func Number(c analysis.Column) string {
	switch c.Kind() {
	case analysis.KindInteger, analysis.KindDecimal, analysis.KindFloat:
		return "CAST(" + c.Quoted() + " AS DOUBLE)"
	case analysis.KindDate:
		return "CASE WHEN isfinite(" + c.Quoted() + ") THEN CAST(date_diff('day', DATE '1970-01-01', " + c.Quoted() + ") AS DOUBLE) END"
	case analysis.KindTimestamp:
		return "CASE WHEN isfinite(" + c.Quoted() + ") THEN CAST(epoch_us(" + c.Quoted() + ") AS DOUBLE) / 1000000 END"
	}
	return ""
}

// Load reads a sample of a table's rows. total is the number of its rows.
func Load(ctx context.Context, in analysis.Input, columns []analysis.Column, total int64) (*Sample, error) {
	s := &Sample{Total: total}
	for _, c := range columns {
		if c.Kind() != analysis.KindOther && len(s.Columns) < MaxColumns {
			s.Columns = append(s.Columns, c)
		}
	}
	n := len(s.Columns)
	s.Numbers, s.Codes, s.Distinct = make([][]float64, n), make([][]int32, n), make([]int, n)
	if n == 0 || total == 0 {
		return s, nil
	}
	limit := min(MaxRows, maxCells/n)
	items := s.Items()
	row := Row(s.Columns)
	step := (total + int64(limit) - 1) / int64(limit)
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE %s %% %d = 0 ORDER BY %s LIMIT %d", strings.Join(items, ", "),
		in.Table.From(s.Columns...), row, step, row, limit)
	if step == 1 {
		sql = fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(items, ", "), in.Table.From(s.Columns...), row)
	}
	s.dictionaries = make([]map[uint64]int32, n)
	for i := range s.dictionaries {
		s.dictionaries[i] = map[uint64]int32{}
	}
	err := in.Each(ctx, sql, func(r engine.Row) error {
		s.Rows++
		for i, c := range s.Columns {
			number, code := s.Read(r, 0, i)
			if code == unknown {
				code = s.learn(r, i)
			}
			s.Codes[i] = append(s.Codes[i], code)
			if c.Measurable() {
				s.Numbers[i] = append(s.Numbers[i], number)
			}
		}
		return nil
	})
	for i := range s.dictionaries {
		s.Distinct[i] = len(s.dictionaries[i])
	}
	return s, err
}

// learn gives the value of a column a code.
func (s *Sample) learn(r engine.Row, column int) int32 {
	value := uint64(r.Int64(column))
	if s.Columns[column].Measurable() {
		value = math.Float64bits(r.Float64(column) + 0)
	}
	code := int32(len(s.dictionaries[column]) + 1)
	s.dictionaries[column][value] = code
	return code
}
