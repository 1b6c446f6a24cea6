package pruning_test

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// extent is what a writer sees of a column in a file.
type extent struct {
	min, max *string
	nulls    int
}

func extentOf(f file, name string) extent {
	var e extent
	for _, r := range f.rows {
		v := r[name]
		switch {
		case v == nil:
			e.nulls++
			continue
		case e.min == nil:
			e.min, e.max = v, v
		}
		if compareTexts(pools[name].typ, *v, *e.min) < 0 {
			e.min = v
		}
		if compareTexts(pools[name].typ, *v, *e.max) > 0 {
			e.max = v
		}
	}
	return e
}

// ownStats are those of engine/delta out of what DuckDB returns.
func ownStats(t require.TestingT, f file, partitions []string) string {
	var columns []delta.ColumnStats
	for _, name := range columnOrder {
		e := extentOf(f, name)
		columns = append(columns, delta.ColumnStats{Path: []string{name}, Min: e.min, Max: e.max, NullCount: ptr(int64(e.nulls))})
	}
	text, err := delta.EncodeStats(allColumns, partitions, nil, int64(len(f.rows)), columns)
	require.NoError(t, err)
	return text
}

// foreignStats writes what other engines write: Spark cuts timestamps to
// milliseconds and strings to 32 characters with a tie-breaker; delta-rs sends
// decimals through float64 and has bounds of booleans. Columns may be missing,
// bounds may be loose.
func foreignStats(t *rapid.T, f file, partitions []string) string {
	spark := rapid.Bool().Draw(t, "spark")
	doc := map[string]any{"numRecords": len(f.rows)}
	mins, maxs, nulls := map[string]any{}, map[string]any{}, map[string]any{}
	for _, name := range columnOrder {
		if slices.Contains(partitions, name) || rapid.IntRange(0, 9).Draw(t, "indexed") == 0 {
			continue
		}
		e := extentOf(f, name)
		nulls[name] = e.nulls
		if e.min != nil {
			put(mins, name, foreignBound(spark, pools[name].typ, *e.min, false))
			put(maxs, name, foreignBound(spark, pools[name].typ, *e.max, true))
		}
	}
	switch rapid.IntRange(0, 12).Draw(t, "damage") {
	case 0:
		return ""
	case 1:
		mins, maxs = nil, nil
	case 2: // rows were deleted and their vector is gone again
		doc["tightBounds"] = false
		for name := range nulls {
			if n := nulls[name].(int); n > 0 && n < len(f.rows) {
				nulls[name] = 1
			}
		}
	}
	doc["minValues"], doc["maxValues"], doc["nullCount"] = mins, maxs, nulls
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	return string(text)
}

func put(m map[string]any, name string, v any) {
	if v != nil {
		m[name] = v
	}
}

func foreignBound(spark bool, t delta.DataType, text string, upper bool) any {
	switch t := t.(type) {
	case delta.Decimal:
		n, _ := new(big.Float).SetString(text)
		if f, _ := n.Float64(); !spark {
			return f
		}
		return json.Number(scientific(text))
	case delta.Primitive:
		switch t {
		case delta.String:
			if spark {
				return sparkString(text, upper)
			}
			return text
		case delta.Timestamp, delta.TimestampNTZ:
			layout := "2006-01-02T15:04:05.000"
			if !spark && t == delta.TimestampNTZ {
				layout = "2006-01-02 15:04:05.000"
			}
			if t == delta.Timestamp {
				layout += "Z07:00"
			}
			return mustTime(time.DateTime, text).Format(layout) // cuts
		case delta.Date:
			return text
		case delta.Boolean:
			if spark {
				return nil
			}
			return text == "true"
		}
		return json.Number(text)
	}
	return nil
}

// scientific writes 1.50 as 150E-2.
func scientific(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	if digits == "" {
		digits = "0"
	}
	if strings.HasPrefix(text, "-") {
		digits = "-" + digits
	}
	return digits + "E-" + string(rune('0'+len(fraction)/10)) + string(rune('0'+len(fraction)%10))
}

// sparkString cuts a string as Spark does.
func sparkString(text string, upper bool) any {
	runes := []rune(text)
	if len(runes) <= 32 {
		return text
	}
	if !upper {
		return string(runes[:32])
	}
	for n := 32; n < 64 && n < len(runes); n++ {
		if runes[n] < 0x7f {
			return string(runes[:n]) + "\x7f"
		}
		if runes[n] < utf8.MaxRune {
			return string(runes[:n]) + string(utf8.MaxRune)
		}
	}
	return nil
}
