package checkpoint

import (
	stdjson "encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-json-experiment/json"
)

// parsedStats rebuilds the statistics' JSON from the typed form, which is the
// only one where delta.checkpoint.writeStatsAsJson is off. Values that JSON
// statistics do not have (booleans, binaries, NaN) are left out.
func (r row) parsedStats(i int) (string, error) {
	a := r.cell("stats_parsed", i)
	if a == nil {
		return "", nil
	}
	s, ok := a.(*array.Struct)
	if !ok {
		return "", r.wrongType("stats_parsed", a)
	}
	value := structValue(s, i, true)
	if len(value) == 0 {
		return "", nil
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("parsed statistics: %w: %v", ErrCorrupt, err)
	}
	return string(text), nil
}

func structValue(s *array.Struct, i int, top bool) map[string]any {
	out := make(map[string]any)
	for j, f := range s.DataType().(*arrow.StructType).Fields() {
		if s.Field(j).IsNull(i) {
			continue
		}
		if v := jsonValue(s.Field(j), i); v != nil {
			out[f.Name] = v
		} else if b, ok := s.Field(j).(*array.Boolean); ok && top {
			out[f.Name] = b.Value(i) // tightBounds
		}
	}
	return out
}

func jsonValue(a arrow.Array, i int) any {
	const micros = "2006-01-02T15:04:05.000000"
	switch a := a.(type) {
	case *array.Struct:
		if m := structValue(a, i, false); len(m) > 0 {
			return m
		}
	case *array.Int64:
		return a.Value(i)
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Float64:
		return finite(a.Value(i))
	case *array.Float32:
		return finite(float64(a.Value(i)))
	case *array.Decimal128:
		return stdjson.RawMessage(a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Decimal64:
		return stdjson.RawMessage(a.Value(i).ToString(a.DataType().(*arrow.Decimal64Type).Scale))
	case *array.Decimal32:
		return stdjson.RawMessage(a.Value(i).ToString(a.DataType().(*arrow.Decimal32Type).Scale))
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		text := a.Value(i).ToTime(t.Unit).UTC().Format(micros)
		if t.TimeZone != "" {
			text += "Z"
		}
		return text
	default:
		if text, ok := textAt(a, i); ok && a.DataType().ID() != arrow.BINARY {
			return text
		}
	}
	return nil
}

func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}
