package checkpoint

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// statistics rebuilds the statistics' JSON of a row from the typed form, which
// is the only one where delta.checkpoint.writeStatsAsJson is off. Values that
// JSON statistics do not have (NaN, infinities, binaries) are left out.
func (r *row) statistics(i int) (string, error) {
	value := r.members(i)
	if len(value) == 0 {
		return "", nil
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("parsed statistics: %w: %v", ErrCorrupt, err)
	}
	return string(text), nil
}

func (r *row) members(i int) map[string]any {
	out := make(map[string]any)
	for _, f := range r.order {
		switch {
		case f.leaf == nil:
			if m := f.members(i); len(m) > 0 {
				out[f.name] = m
			}
		case f.leaf.maxRep == 0 && f.leaf.has(i):
			if v := f.leaf.json(i); v != nil {
				out[f.name] = v
			}
		}
	}
	return out
}

// json prints a value by the column's logical type; nil when it has no form.
func (l *leaf) json(i int) any {
	switch l.kind {
	case kindText:
		switch t := l.column.LogicalType().(type) {
		case schema.DecimalLogicalType:
			return decimalJSON(fromBigEndian(l.texts[i]), int(t.Scale()))
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
	case kindBool:
		return l.ints[i] != 0
	case kindFloat:
		if real := l.reals[i]; !math.IsNaN(real) && !math.IsInf(real, 0) {
			return real
		}
	}
	return nil
}

// fromBigEndian reads two's complement.
func fromBigEndian(text string) *big.Int {
	n := new(big.Int).SetBytes([]byte(text))
	if text != "" && text[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(text))))
	}
	return n
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
	text := at.UTC().Format("2006-01-02T15:04:05.000000")
	if t.IsAdjustedToUTC() {
		text += "Z"
	}
	return text
}

// decimalJSON prints plain digits, never through a float.
func decimalJSON(n *big.Int, scale int) any {
	if scale < 0 || scale > 38 {
		return nil
	}
	digits := new(big.Int).Abs(n).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return jsontext.Value(digits)
}
