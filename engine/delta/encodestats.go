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
)

// ColumnStats is what a writer of Parquet knows about one leaf column of a
// file.
type ColumnStats struct {
	// Path leads from the column to the leaf, by the names in the file: {"st",
	// "x"}.
	Path []string
	// Min and Max are values as DuckDB prints them (COPY … RETURN_STATS), or
	// nil when unknown or when every value is null.
	Min, Max *string
	// NullCount is nil when unknown.
	NullCount *int64
	// HasNaN voids both bounds.
	HasNaN bool
}

// EncodeStats prints the statistics of a file that is to be added to s. The columns
// that the table is clustered by have statistics whatever the properties say
// (protocol, "Clustered Table"). Errors: [ErrInvalidValue], [ErrMalformed].
func (s *Snapshot) EncodeStats(numRecords int64, columns []ColumnStats) (string, error) {
	clustered, err := s.clusteredBy()
	if err != nil {
		return "", err
	}
	return encodeStats(s.schema, s.PartitionColumns(), s.Properties(), clustered, numRecords, columns)
}

// EncodeStats prints a file's statistics by the rules of the protocol's section
// "Per-file Statistics" and of the properties delta.dataSkipping…. A bound
// that has no safe form is left out: a missing bound costs time, a wrong one
// hides rows. Columns that the schema lacks, partition columns, and leaves
// inside arrays and maps are ignored.
func EncodeStats(schema Struct, partitionColumns []string, properties map[string]string,
	numRecords int64, columns []ColumnStats,
) (string, error) {
	return encodeStats(schema, partitionColumns, properties, nil, numRecords, columns)
}

// encodeStats is EncodeStats of a table that is clustered by columns with these
// paths in files.
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

// pathKey joins with a character that no name holds.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// indexedColumns returns whether the n-th leaf, at a path by the schema's names and
// at another by those in files, gets statistics.
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

// encode mirrors a struct, which lies at a path by the schema's names and at
// another by those in files.
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

// bound returns nil for a bound that is unknown or has no safe form.
func (e *statsEncoder) bound(t DataType, text *string, upper bool) any {
	if text == nil {
		return nil
	}
	switch t := t.(type) {
	case Decimal:
		if v, ok := plainDecimal(*text, t); ok {
			return jsontext.Value(v)
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
			if d, err := time.Parse(time.DateOnly, *text); err == nil && d.Year() > 0 {
				return *text
			}
		case Timestamp, TimestampNTZ:
			return timeBound(*text, upper, t == Timestamp)
		}
	}
	return nil
}

// floatBound widens zero to both zeros: readers differ on whether they are
// equal.
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

// timeBound rounds outwards to the milliseconds that the form has.
func timeBound(text string, upper, zoned bool) any {
	at, ok := parseTimestamp(text)
	if !ok {
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

// textBound cuts a string to the prefix. A cut maximum gets a character that is
// not below the first one cut off, so that it still is a maximum in the order
// of code points.
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
