package checkpoint

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// statistics returns the statistics of a row as JSON, rebuilt from their typed form.
// Only that form exists if delta.checkpoint.writeStatsAsJson is false. It omits binary
// columns, which have no bounds in JSON.
func (r *record) statistics(i int) (string, error) {
	text, err := r.appendJSON(nil, i)
	if err != nil {
		return "", fmt.Errorf("parsed statistics: %w: %v", ErrCorrupt, err)
	}
	return string(text), nil
}

// appendJSON appends an object with the members that are not null, or nothing if there
// are none.
func (r *record) appendJSON(to []byte, i int) (_ []byte, err error) {
	start := len(to)
	for _, f := range r.order {
		if f.leaf != nil && (f.leaf.maxRep > 0 || !f.leaf.has(i)) {
			continue
		}
		end := len(to)
		if end == start {
			to = append(to, '{')
		} else {
			to = append(to, ',')
		}
		if to, err = jsontext.AppendQuote(to, f.name); err != nil {
			return nil, err
		}
		to = append(to, ':')
		before := len(to)
		if f.leaf == nil {
			to, err = f.appendJSON(to, i)
		} else {
			to, err = appendJSON(to, f.leaf.json(i))
		}
		if err != nil {
			return nil, err
		}
		if len(to) == before {
			to = to[:end]
		}
	}
	if len(to) > start {
		to = append(to, '}')
	}
	return to, nil
}

// appendJSON appends a value of leaf.json, or nothing for nil.
func appendJSON(to []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return jsontext.AppendQuote(to, v)
	case int64:
		return strconv.AppendInt(to, v, 10), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case float32:
		return strconv.AppendFloat(to, float64(v), 'g', -1, 32), nil
	case float64:
		return strconv.AppendFloat(to, v, 'g', -1, 64), nil
	case jsontext.Value:
		return append(to, v...), nil
	}
	return to, nil
}

// json returns a value for JSON according to the column's logical type, or nil if it
// has no form.
func (l *leaf) json(i int) any {
	switch l.kind {
	case kindText:
		switch t := l.column.LogicalType().(type) {
		case schema.DecimalLogicalType:
			return decimalJSON(sqltype.FromBigEndian([]byte(l.texts[i])), int(t.Scale()))
		case schema.StringLogicalType:
			return l.texts[i]
		}
	case kindInt:
		switch t := l.column.LogicalType().(type) {
		case schema.DecimalLogicalType:
			return decimalJSON(big.NewInt(l.ints[i]), int(t.Scale()))
		case schema.DateLogicalType:
			return time.Unix(0, 0).UTC().AddDate(0, 0, int(l.ints[i])).Format(time.DateOnly)
		case schema.TimestampLogicalType:
			return timestampJSON(l.ints[i], t)
		}
		return l.ints[i]
	case kindInstant:
		return instantJSON(time.UnixMicro(l.ints[i])) + "Z"
	case kindBool:
		return l.ints[i] != 0
	case kindFloat:
		return realJSON(l.reals[i], l.column.PhysicalType())
	}
	return nil
}

// realJSON returns numbers that JSON does not have as strings, as the reference writer
// does.
func realJSON(real float64, t parquet.Type) any {
	switch {
	case math.IsNaN(real):
		return "NaN"
	case math.IsInf(real, 1):
		return "Infinity"
	case math.IsInf(real, -1):
		return "-Infinity"
	case t == parquet.Types.Float:
		return float32(real)
	}
	return real
}

func timestampJSON(n int64, t schema.TimestampLogicalType) string {
	var at time.Time
	switch t.TimeUnit() {
	case schema.TimeUnitMillis:
		at = time.UnixMilli(n)
	case schema.TimeUnitMicros:
		at = time.UnixMicro(n)
	default:
		at = time.Unix(0, n)
	}
	text := instantJSON(at)
	if t.IsAdjustedToUTC() {
		text += "Z"
	}
	return text
}

// instantJSON prints a timestamp with milliseconds, as statistics do, or with
// microseconds if it has any.
func instantJSON(at time.Time) string {
	layout := "2006-01-02T15:04:05.000"
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		layout += "000"
	}
	return at.UTC().Format(layout)
}

// decimalJSON prints all digits and never converts to a float.
func decimalJSON(n *big.Int, scale int) any {
	if scale < 0 || scale > 38 {
		return nil
	}
	return jsontext.Value(sqltype.FormatDecimal(n, scale))
}
