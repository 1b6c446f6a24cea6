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

// parsedStats rebuilds the statistics' JSON from the typed form, which is the
// only one where delta.checkpoint.writeStatsAsJson is off. Values that JSON
// statistics do not have (NaN, infinities, binaries) are left out.
func (r *row) parsedStats() (string, error) {
	var err error
	g := r.group("stats_parsed", &err)
	if g == nil {
		return "", err
	}
	value := g.members()
	if len(value) == 0 {
		return "", nil
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("parsed statistics: %w: %v", ErrCorrupt, err)
	}
	return string(text), nil
}

func (r *row) members() map[string]any {
	out := make(map[string]any)
	for _, f := range r.order {
		switch {
		case f.leaf == nil:
			if m := f.members(); len(m) > 0 {
				out[f.name] = m
			}
		case f.leaf.maxRep == 0 && f.leaf.cells[0].def >= f.leaf.maxDef:
			if v := f.leaf.json(f.leaf.cells[0]); v != nil {
				out[f.name] = v
			}
		}
	}
	return out
}

// json prints a value by the column's logical type; nil when it has no form.
func (l *leaf) json(c cell) any {
	switch t := l.column.LogicalType().(type) {
	case schema.DecimalLogicalType:
		return decimalJSON(l.kind, c, int(t.Scale()))
	case schema.DateLogicalType:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(c.num)).Format(time.DateOnly)
	case schema.TimestampLogicalType:
		return timestampJSON(c.num, t)
	case schema.StringLogicalType:
		return c.text
	}
	switch l.kind {
	case kindInt:
		return c.num
	case kindBool:
		return c.num != 0
	case kindFloat:
		if !math.IsNaN(c.real) && !math.IsInf(c.real, 0) {
			return c.real
		}
	}
	return nil
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
func decimalJSON(k kind, c cell, scale int) any {
	if scale < 0 || scale > 38 {
		return nil
	}
	n := big.NewInt(c.num)
	if k == kindText { // two's complement, big-endian
		n.SetBytes([]byte(c.text))
		if c.text != "" && c.text[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(c.text))))
		}
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
