package delta

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// ColumnStats holds the statistics that a Parquet writer reports for one leaf column of
// a file.
type ColumnStats struct {
	// Path is the path of the leaf by physical names, such as {"st", "x"}.
	Path []string
	// Min and Max are values as DuckDB prints them (COPY … RETURN_STATS). They are nil
	// if unknown or if every value is NULL.
	Min, Max *string
	// NullCount is nil if unknown.
	NullCount *int64
	// HasNaN invalidates both bounds.
	HasNaN bool
}

// EncodeStats returns the statistics of a new file of s as JSON. Clustering columns
// always have statistics, whatever the properties say (protocol, "Clustered Table").
// Errors: [ErrInvalidValue], [ErrMalformed].
func (s *Snapshot) EncodeStats(numRecords int64, columns []ColumnStats) (string, error) {
	clustered, err := s.clusteredBy()
	if err != nil {
		return "", err
	}
	return encodeStats(s.schema, s.PartitionColumns(), s.Properties(), clustered, numRecords, columns)
}

// EncodeStats returns a file's statistics as JSON (protocol, "Per-file Statistics"),
// limited to the columns that the properties delta.dataSkipping… select. A bound
// without an exact or safely rounded form is omitted: a missing bound only prevents
// pruning, but a wrong one hides rows. Columns that are not in the schema, partition
// columns, and leaves inside arrays and maps are ignored.
func EncodeStats(schema Struct, partitionColumns []string, properties map[string]string,
	numRecords int64, columns []ColumnStats,
) (string, error) {
	return encodeStats(schema, partitionColumns, properties, nil, numRecords, columns)
}

// encodeStats implements EncodeStats for a table with clustering columns, which are
// given as paths of physical names.
func encodeStats(schema Struct, partitionColumns []string, properties map[string]string, clustered [][]string,
	numRecords int64, columns []ColumnStats,
) (string, error) {
	byPath := make(map[string]ColumnStats, len(columns))
	for _, c := range columns {
		byPath[pathKey(c.Path)] = c
	}
	e := statsEncoder{byPath: byPath, prefix: 32, wanted: indexedColumns(properties, clustered), naming: fileNaming(properties)}
	if n, err := strconv.Atoi(properties[propStringPrefix]); err == nil && n > 0 {
		e.prefix = n
	}
	var top Struct
	for _, f := range schema.Fields {
		if !slices.Contains(partitionColumns, f.Name) {
			top.Fields = append(top.Fields, f)
		}
	}
	mins, maxs, nulls := e.encode(top, nil, nil)
	doc := map[string]any{
		"numRecords": numRecords, "minValues": mins, "maxValues": maxs, "nullCount": nulls,
		"tightBounds": true,
	}
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encoding statistics: %v: %w", err, ErrInvalidValue)
	}
	return string(text), nil
}

// pathKey joins the elements with a character that never occurs in names.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// indexedColumns returns a function that reports whether the n-th leaf has statistics.
// The leaf is given by its path in logical and in physical names.
func indexedColumns(properties map[string]string, clustered [][]string) func(n int, path, filePath []string) bool {
	below := func(path []string, list [][]string, same func(a, b string) bool) bool {
		return slices.ContainsFunc(list, func(c []string) bool {
			return len(path) >= len(c) && slices.EqualFunc(path[:len(c)], c, same)
		})
	}
	exact := func(a, b string) bool { return a == b }
	if list := properties[propStatsColumns]; strings.TrimSpace(list) != "" {
		chosen := parseColumns(list)
		return func(_ int, path, filePath []string) bool {
			return below(path, chosen, strings.EqualFold) || below(filePath, clustered, exact)
		}
	}
	most := 32
	if n, err := strconv.Atoi(properties[propIndexedCols]); err == nil {
		most = n
	}
	return func(n int, _, filePath []string) bool {
		return most < 0 || n < most || below(filePath, clustered, exact)
	}
}

type statsEncoder struct {
	byPath map[string]ColumnStats
	prefix int
	wanted func(n int, path, filePath []string) bool
	naming func(Field) string
	leaves int
}

// encode returns the statistics of a struct, which is given by its path in logical and
// in physical names.
func (e *statsEncoder) encode(s Struct, path, filePath []string) (mins, maxs, nulls map[string]any) {
	mins, maxs, nulls = map[string]any{}, map[string]any{}, map[string]any{}
	for _, f := range s.Fields {
		name := e.naming(f)
		at, fileAt := append(slices.Clone(path), f.Name), append(slices.Clone(filePath), name)
		if inner, ok := f.Type.(Struct); ok {
			a, b, c := e.encode(inner, at, fileAt)
			for _, m := range []struct{ to, from map[string]any }{{mins, a}, {maxs, b}, {nulls, c}} {
				if len(m.from) > 0 {
					m.to[name] = m.from
				}
			}
			continue
		}
		n := e.leaves
		e.leaves++
		c, ok := e.byPath[pathKey(fileAt)]
		if !ok || !e.wanted(n, at, fileAt) {
			continue
		}
		if c.NullCount != nil {
			nulls[name] = *c.NullCount
		}
		if c.HasNaN {
			continue
		}
		if v := e.bound(f.Type, c.Min, false); v != nil {
			mins[name] = v
		}
		if v := e.bound(f.Type, c.Max, true); v != nil {
			maxs[name] = v
		}
	}
	return mins, maxs, nulls
}

// bound returns nil if the bound is unknown or has no safe form.
func (e *statsEncoder) bound(t DataType, text *string, upper bool) any {
	if text == nil {
		return nil
	}
	switch t := t.(type) {
	case Decimal:
		// A rounded bound would be wrong.
		if n, ok := sqltype.ParseDecimal(*text, t.Precision, t.Scale, sqltype.Exact); ok {
			return jsontext.Value(sqltype.FormatDecimal(n, t.Scale))
		}
	case Primitive:
		switch t {
		case Byte, Short, Integer, Long:
			if n, err := strconv.ParseInt(*text, 10, integerBits[t]); err == nil {
				return n
			}
		case Float:
			return floatBound(*text, 32, upper)
		case Double:
			return floatBound(*text, 64, upper)
		case String:
			return e.textBound(*text, upper)
		case Date:
			if _, ok := sqltype.ParseDays(*text); ok {
				return *text
			}
		case Timestamp, TimestampNTZ:
			return timeBound(*text, upper, t == Timestamp)
		}
	}
	return nil
}

// floatBound extends a bound of zero to cover both zeros, because readers disagree on
// whether they are equal.
func floatBound(text string, bits int, upper bool) any {
	f, err := strconv.ParseFloat(text, bits)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return nil
	case f == 0 && upper:
		return jsontext.Value("0.0")
	case f == 0:
		return jsontext.Value("-0.0")
	}
	return jsontext.Value(strconv.FormatFloat(f, 'g', -1, bits))
}

// timeBound rounds a lower bound down and an upper bound up to milliseconds, the
// precision of statistics.
func timeBound(text string, upper, zoned bool) any {
	at, ok := sqltype.ParseInstant(text)
	if !ok {
		at, ok = sqltype.ParseTimestamp(text)
	}
	if !ok || at.Year() < 1 || at.Year() > 9999 {
		return nil
	}
	ms := at.Truncate(time.Millisecond)
	if upper && ms.Before(at) {
		if ms = ms.Add(time.Millisecond); ms.Year() > 9999 {
			return nil
		}
	}
	if zoned {
		return ms.Format("2006-01-02T15:04:05.000Z")
	}
	return ms.Format("2006-01-02T15:04:05.000")
}

// textBound truncates a string to the prefix length. A truncated maximum gets an
// additional character that is not less than the first one cut off, so that it remains
// an upper bound in code point order.
func (e *statsEncoder) textBound(text string, upper bool) any {
	if !utf8.ValidString(text) {
		return nil
	}
	runes := []rune(text)
	if len(runes) <= e.prefix {
		return text
	}
	if !upper {
		return string(runes[:e.prefix])
	}
	for n := e.prefix; n < 2*e.prefix && n < len(runes); n++ {
		switch {
		case runes[n] < 0x7f:
			return string(runes[:n]) + "\x7f"
		case runes[n] < utf8.MaxRune:
			return string(runes[:n]) + string(utf8.MaxRune)
		}
	}
	if len(runes) <= 2*e.prefix {
		return text
	}
	return nil
}
