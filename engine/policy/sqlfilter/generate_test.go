package sqlfilter_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func ptr[T any](v T) *T { return &v }

var columns = []engine.Column{
	{Name: "Region", Type: sqltype.Varchar, Nullable: true},
	{Name: "level", Type: sqltype.BigInt, Nullable: true},
	{Name: "tiny", Type: sqltype.TinyInt, Nullable: true},
	{Name: "amount", Type: sqltype.MustParse("DECIMAL(10,2)"), Nullable: true},
	{Name: "rate", Type: sqltype.MustParse("DECIMAL(3,1)"), Nullable: true},
	{Name: "active", Type: sqltype.Boolean, Nullable: true},
	{Name: "born", Type: sqltype.Date, Nullable: true},
	{Name: "at", Type: sqltype.Timestamp, Nullable: true},
	{Name: "seen", Type: sqltype.TimestampTZ, Nullable: true},
	{Name: "score", Type: sqltype.Double, Nullable: true},
	{Name: `in "odd" näme`, Type: sqltype.Varchar, Nullable: true},
}

var texts = []string{
	"EU", "eu", "US", "EU-west", "a_b", "axb", "100%", "100", "", " ", "'; DROP TABLE rows; --", `"quoted"`, `back\slash`, `\`,
	"Ünïcode", "日本", "*", "a*b", "%", "_", "1", "true", "2024-02-29", "line\nbreak", "NULL", "[", "€𝄞", "0",
}

var numbers = []string{
	"0", "1", "-1", "5", "127", "128", "-128", "-129", "300", "1.5", "1.25", "-0.5", "1.2345", "99999999.99", "100000000",
	"9223372036854775807", "-9223372036854775808", "922337203685477.5807",
}

var times = []string{
	"2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29T10:30:00Z", "2024-02-29T12:30:00+0200", "2024-02-29T10:30:00.001Z",
	"1969-12-31", "0001-01-01", "9999-12-31T23:59:59.999Z", "2024-02-30", "2024-02-29 10:30:00", "+000010000-01-01",
}

// wrong are attribute values that look like something.
var wrong = []string{"1e3", " 5", "5 ", "+5", "0x5", "NaN", "Infinity", "1_000", "9223372036854775808", "--5", "5.", ".5", "TRUE", "a\x00b",
	"\xff"}

var lists = []string{"EU,US", " EU , US ", "EU,,US", "", ",", "1,5,127", "1,x", `["EU","US"]`, `["a,b", 5, true]`, "[]", "[1, 5]", "[1.50]",
	"[null]", "[[1]]", "[1", "2024-02-29,1969-12-31", `["EU"] x`}

func anyText(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom(texts), rapid.SampledFrom(numbers), rapid.SampledFrom(times), rapid.StringN(0, 6, 12)).Draw(t, "text")
}

func scalar(t *rapid.T) any {
	switch rapid.IntRange(0, 5).Draw(t, "scalar") {
	case 0:
		return rapid.Bool().Draw(t, "bool")
	case 1, 2:
		return json.Number(rapid.SampledFrom(numbers).Draw(t, "number"))
	case 3:
		return rapid.SampledFrom(times).Draw(t, "time")
	}
	return anyText(t)
}

// fitting draws a value that is often one of the column's type.
func fitting(t *rapid.T, column string) any {
	if rapid.IntRange(0, 4).Draw(t, "fit") == 0 {
		return scalar(t)
	}
	switch column {
	case "level", "tiny", "LEVEL", "amount", "rate":
		return json.Number(rapid.SampledFrom(numbers).Draw(t, "number"))
	case "active":
		return rapid.Bool().Draw(t, "bool")
	case "born", "at", "seen":
		return rapid.SampledFrom(times).Draw(t, "time")
	}
	return anyText(t)
}

var ops = []policy.Op{
	policy.OpEq, policy.OpNeq, policy.OpLt, policy.OpLte, policy.OpGt, policy.OpGte, policy.OpIn, policy.OpNotIn,
	policy.OpLike, policy.OpStartsWith, policy.OpContains, policy.OpIsNull, policy.OpIsNotNull,
}

var columnNames = []string{"Region", "region", "REGION", "level", "LEVEL", "tiny", "amount", "rate", "active", "born", "at", "seen",
	"score", `in "odd" näme`, "missing"}

var attributeNames = []string{"region", "level", "list", "odd name", "absent", "in"}

func value(t *rapid.T, op policy.Op, column string) any {
	switch op {
	case policy.OpIsNull, policy.OpIsNotNull:
		return nil
	case policy.OpIn, policy.OpNotIn:
		n := rapid.IntRange(1, 4).Draw(t, "n")
		out := make([]any, n)
		for i := range out {
			out[i] = fitting(t, column)
		}
		return out
	case policy.OpLike:
		return rapid.SampledFrom([]string{"EU*", "*b", "a*b", "a_b", `100\%`, `\*`, "*", "*U*", `a\*b`, "**", "*'*", `back\\*`, "E*-*t", "ü*",
			"*日*"}).Draw(t, "pattern")
	case policy.OpStartsWith, policy.OpContains:
		return anyText(t)
	}
	return fitting(t, column)
}

func test(t *rapid.T) policy.Condition {
	c := policy.Condition{Op: rapid.SampledFrom(ops).Draw(t, "op")}
	column := rapid.SampledFrom(columnNames).Draw(t, "column")
	if rapid.IntRange(0, 3).Draw(t, "own") > 0 {
		c.Column = &column
	}
	if rapid.IntRange(0, 3).Draw(t, "by") == 0 && c.Op != policy.OpIsNull && c.Op != policy.OpIsNotNull {
		c.Attribute = ptr(rapid.SampledFrom(attributeNames).Draw(t, "attribute"))
		return c
	}
	c.Value = value(t, c.Op, column)
	return c
}

func condition(t *rapid.T, depth int) policy.Condition {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return test(t)
	}
	if kind == 2 {
		return policy.Condition{Not: ptr(condition(t, depth-1))}
	}
	list := make([]policy.Condition, rapid.IntRange(1, 3).Draw(t, "n"))
	for i := range list {
		list[i] = condition(t, depth-1)
	}
	if kind == 3 {
		return policy.Condition{And: list}
	}
	return policy.Condition{Or: list}
}

func definition(t *rapid.T) bound {
	d := policy.Definition{Effect: rapid.SampledFrom([]policy.Effect{policy.Permit, policy.Permit, policy.Forbid}).Draw(t, "effect")}
	switch rapid.IntRange(0, 5).Draw(t, "subject") {
	case 0:
		d.Subject.Role = ptr(rapid.SampledFrom([]string{"analyst", "admin", `ro"le`}).Draw(t, "role"))
	case 1:
		d.Subject.Attribute = ptr(rapid.SampledFrom(attributeNames).Draw(t, "attribute"))
		d.Subject.Op = ptr(rapid.SampledFrom(ops).Draw(t, "op"))
		d.Subject.Value = value(t, *d.Subject.Op, "")
	case 2:
		d.Subject.Attribute = ptr(rapid.SampledFrom(attributeNames).Draw(t, "attribute"))
		d.Subject.Op = ptr(rapid.SampledFrom(ops[:8]).Draw(t, "op"))
	default:
		d.Subject.Everyone = ptr(true)
	}
	if rapid.IntRange(0, 9).Draw(t, "all") > 0 {
		d.Condition = ptr(condition(t, 3))
	}
	return bound{d, rapid.SampledFrom(columnNames).Draw(t, "columnName")}
}

func attributes(t *rapid.T) map[string]string {
	out := map[string]string{}
	for _, name := range attributeNames {
		if name == "absent" || rapid.IntRange(0, 5).Draw(t, "present") == 0 {
			continue
		}
		out[name] = rapid.OneOf(
			rapid.SampledFrom(lists), rapid.SampledFrom(texts), rapid.SampledFrom(numbers), rapid.SampledFrom(times), rapid.SampledFrom(wrong),
		).Draw(t, name)
	}
	return out
}

// rows covers the values above, NULLs, and all-NULL.
func rows() []row {
	n := func(s string) any { v, _ := new(big.Rat).SetString(s); return v }
	at := func(s string) any { v, _ := instant(s); return v }
	out := []row{{}}
	for i := range 56 {
		r := row{}
		set := func(column string, every int, v any) {
			if (i+len(column))%every != 0 {
				r[column] = v
			}
		}
		set("Region", 7, texts[i%len(texts)])
		set(`in "odd" näme`, 5, texts[(i*3+1)%len(texts)])
		set("level", 6, n([]string{"0", "1", "-1", "5", "127", "300", "9223372036854775807", "-9223372036854775808"}[i%8]))
		set("tiny", 5, n([]string{"0", "1", "127", "-128", "5"}[i%5]))
		set("amount", 6, n([]string{"0", "1.5", "1.25", "-0.5", "99999999.99", "-99999999.99", "5"}[i%7]))
		set("rate", 5, n([]string{"0.5", "-0.5", "99.9", "-99.9", "0"}[i%5]))
		set("active", 4, i%3 == 0)
		set("born", 6, at([]string{"2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"}[i%4]))
		set("at", 5, at([]string{"2024-02-29T00:00:00Z", "2024-02-29T10:30:00Z", "2024-02-29T10:30:00.001Z", "1969-12-31T00:00:00Z",
			"0001-01-01T00:00:00Z"}[i%5]))
		set("seen", 5, at([]string{"2024-02-29T00:00:00Z", "2024-02-29T10:30:00Z", "9999-12-31T23:59:59.999Z", "1969-12-31T00:00:00Z"}[i%4]))
		set("score", 3, n("1.5"))
		out = append(out, r)
	}
	return out
}

func jsonNumber(s string) json.Number { return json.Number(s) }

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
