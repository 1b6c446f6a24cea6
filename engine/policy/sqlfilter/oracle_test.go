package sqlfilter_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// The oracle evaluates definitions by the words of the semantics: no Cedar, no
// SQL, no code of the package under test.

type tri int

const (
	no tri = iota
	maybe
	yes
)

func (t tri) not() tri { return yes - t }

func triOf(b bool) tri {
	if b {
		return yes
	}
	return no
}

// row holds nil, string, bool, *big.Rat (numbers) or time.Time by column name.
type row map[string]any

type world struct {
	columns []engine.Column
	role    string
	attrs   map[string]string
	// mistyped, if not nil, becomes true when a permit tests a column that does not have the type of
	// the test.
	mistyped *bool
}

// visible is the whole semantics of a table's row policies.
func (w world) visible(defs []bound, r row) bool {
	if len(defs) == 0 {
		return true
	}
	granted := false
	for _, d := range defs {
		w := w
		if d.def.Effect == policy.Forbid {
			w.mistyped = nil
		}
		v := min(w.subject(d, r), w.condition(d, d.def.Condition, r))
		if d.def.Effect == policy.Forbid && v != no {
			return false
		}
		granted = granted || d.def.Effect == policy.Permit && v == yes
	}
	return granted
}

// bound is a definition with its policy's column.
type bound struct {
	def    policy.Definition
	column string
}

func (w world) subject(d bound, r row) tri {
	s := d.def.Subject
	switch {
	case s.Role != nil:
		return triOf(*s.Role == w.role)
	case s.Attribute == nil:
		return yes
	}
	raw, present := w.attrs[*s.Attribute]
	switch {
	case *s.Op == policy.OpIsNull:
		return triOf(!present)
	case *s.Op == policy.OpIsNotNull:
		return triOf(present)
	case s.Value == nil:
		return w.test(policy.Condition{Column: &d.column, Op: *s.Op, Attribute: s.Attribute}, d.column, r)
	case !present:
		return maybe
	}
	values, ok := s.Value.([]any)
	if !ok {
		values = []any{s.Value}
	}
	// The attribute has the type of the value it is compared with.
	typ := "VARCHAR"
	switch v := values[0].(type) {
	case bool:
		typ = "BOOLEAN"
	case json.Number:
		typ = "BIGINT"
		for _, item := range values {
			if strings.Contains(item.(json.Number).String(), ".") {
				typ = "DECIMAL(19,4)"
			}
		}
	case string:
		if slices.Contains([]policy.Op{policy.OpLt, policy.OpLte, policy.OpGt, policy.OpGte}, *s.Op) {
			typ = "TIMESTAMP"
		}
		_ = v
	}
	left, ok := cast(typ, raw)
	if !ok {
		return maybe
	}
	return compare(typ, *s.Op, left, values)
}

func (w world) condition(d bound, c *policy.Condition, r row) tri {
	switch {
	case c == nil:
		return yes
	case c.Not != nil:
		return w.condition(d, c.Not, r).not()
	case c.And != nil:
		out := yes
		for i := range c.And {
			out = min(out, w.condition(d, &c.And[i], r))
		}
		return out
	case c.Or != nil:
		out := no
		for i := range c.Or {
			out = max(out, w.condition(d, &c.Or[i], r))
		}
		return out
	}
	return w.test(*c, d.column, r)
}

func (w world) test(c policy.Condition, column string, r row) tri {
	if c.Column != nil {
		column = *c.Column
	}
	i := slices.IndexFunc(w.columns, func(col engine.Column) bool {
		return strings.EqualFold(col.Name, column)
	})
	var v any // of a column that the table lacks, every row lacks the value
	if i >= 0 {
		v = r[w.columns[i].Name]
	}
	switch {
	case c.Op == policy.OpIsNull:
		return triOf(v == nil)
	case c.Op == policy.OpIsNotNull:
		return triOf(v != nil)
	case v == nil:
		return maybe
	}
	values, isList := c.Value.([]any)
	if !isList {
		values = []any{c.Value}
	}
	if c.Attribute != nil {
		raw, present := w.attrs[*c.Attribute]
		if !present {
			return maybe
		}
		values = []any{raw}
		if c.Op == policy.OpIn || c.Op == policy.OpNotIn {
			var ok bool
			if values, ok = list(raw); !ok {
				return maybe
			}
		}
	}
	typ := w.columns[i].Type.String()
	if !comparable(typ, c.Op) || c.Attribute == nil && !isPattern(c.Op) && !typed(typ, values) {
		if w.mistyped != nil {
			*w.mistyped = true
		}
		return maybe
	}
	return compare(typ, c.Op, v, values)
}

// isPattern reports whether an operator matches text.
func isPattern(op policy.Op) bool {
	return op == policy.OpLike || op == policy.OpStartsWith || op == policy.OpContains
}

// comparable reports whether values of a type have the operator.
func comparable(typ string, op policy.Op) bool {
	switch op {
	case policy.OpLt, policy.OpLte, policy.OpGt, policy.OpGte:
		return typ != "VARCHAR" && typ != "BOOLEAN" && typ != "DOUBLE"
	}
	return typ == "VARCHAR" || typ != "DOUBLE" && !isPattern(op)
}

// typed reports whether values of a definition can be of a column's type, whatever its width. They
// are of one type.
func typed(typ string, values []any) bool {
	for _, v := range values {
		n, isNumber := v.(json.Number)
		s, isString := v.(string)
		_, isBool := v.(bool)
		ok := false
		switch {
		case typ == "VARCHAR":
			ok = isString
		case typ == "BOOLEAN":
			ok = isBool
		case strings.HasPrefix(typ, "DECIMAL"):
			_, ok = cast("DECIMAL(19,4)", v)
			ok = ok || isNumber
		case typ == "DATE" || strings.HasPrefix(typ, "TIMESTAMP"):
			_, ok = instant(s)
		default:
			ok = isNumber && !strings.Contains(n.String(), ".")
		}
		if !ok {
			return false
		}
	}
	return true
}

func list(raw string) ([]any, bool) {
	trimmed := strings.TrimSpace(raw)
	if !strings.HasPrefix(trimmed, "[") {
		var out []any
		for _, part := range strings.Split(raw, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				return nil, false
			}
			out = append(out, part)
		}
		return out, true
	}
	var raws []json.RawMessage
	if json.Unmarshal([]byte(trimmed), &raws) != nil {
		return nil, false
	}
	out := []any{}
	for _, item := range raws {
		var s string
		switch text := string(item); {
		case text == "null" || text[0] == '{' || text[0] == '[':
			return nil, false
		case text[0] == '"':
			if json.Unmarshal(item, &s) != nil {
				return nil, false
			}
			out = append(out, s)
		default:
			out = append(out, text)
		}
	}
	return out, true
}

// compare tests a value of a type with operands that are not typed yet.
func compare(typ string, op policy.Op, left any, operands []any) tri {
	_, isText := left.(string)
	_, isBool := left.(bool)
	if typ == "DOUBLE" {
		return maybe
	}
	switch op {
	case policy.OpLike, policy.OpStartsWith, policy.OpContains:
		if !isText {
			return maybe
		}
		return triOf(matches(op, left.(string), operands[0].(string)))
	case policy.OpLt, policy.OpLte, policy.OpGt, policy.OpGte:
		if isText || isBool {
			return maybe
		}
	}
	found := false
	order := 0
	for _, operand := range operands {
		v, ok := cast(typ, operand)
		if n, isNumber := operand.(json.Number); isNumber {
			v, ok = new(big.Rat).SetString(n.String()) // exactly, whatever the width of the column
		}
		if !ok {
			return maybe
		}
		switch v := v.(type) {
		case *big.Rat:
			order = left.(*big.Rat).Cmp(v)
		case time.Time:
			order = left.(time.Time).Compare(v)
		default:
			order = 1
			if left == v {
				order = 0
			}
		}
		found = found || order == 0
	}
	switch op {
	case policy.OpEq, policy.OpIn:
		return triOf(found)
	case policy.OpNeq, policy.OpNotIn:
		return triOf(!found)
	case policy.OpLt:
		return triOf(order < 0)
	case policy.OpLte:
		return triOf(order <= 0)
	case policy.OpGt:
		return triOf(order > 0)
	}
	return triOf(order >= 0)
}

// matches interprets patterns as regular expressions.
func matches(op policy.Op, s, pattern string) bool {
	switch op {
	case policy.OpStartsWith:
		return strings.HasPrefix(s, pattern)
	case policy.OpContains:
		return strings.Contains(s, pattern)
	}
	var re strings.Builder
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch {
		case runes[i] == '*':
			re.WriteString(".*")
		case runes[i] == '\\':
			i++
			re.WriteString(regexp.QuoteMeta(string(runes[i])))
		default:
			re.WriteString(regexp.QuoteMeta(string(runes[i])))
		}
	}
	return regexp.MustCompile(`(?s)\A` + re.String() + `\z`).MatchString(s)
}

var (
	numberForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	timeForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d{4})$`)
)

// bounds of the integer types used in tests.
var bounds = map[string][2]string{
	"BIGINT": {"-9223372036854775808", "9223372036854775807"}, "TINYINT": {"-128", "127"},
}

// cast reads a string, a number or a boolean as a value of a type, exactly.
func cast(typ string, v any) (any, bool) {
	s, isString := v.(string)
	if n, ok := v.(json.Number); ok {
		s = n.String()
	}
	b, isBool := v.(bool)
	switch {
	case typ == "VARCHAR":
		return s, isString && utf8.ValidString(s) && !strings.Contains(s, "\x00")
	case typ == "BOOLEAN":
		if isBool {
			return b, true
		}
		return s == "true", isString && (s == "true" || s == "false")
	case isBool:
		return nil, false
	case typ == "DATE" || strings.HasPrefix(typ, "TIMESTAMP"):
		if !isString {
			return nil, false
		}
		t, ok := instant(s)
		return t, ok && (typ != "DATE" || t.Equal(t.Truncate(24*time.Hour)))
	case !numberForm.MatchString(s):
		return nil, false
	}
	n, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, false
	}
	switch typ {
	case "DECIMAL(10,2)":
		return n, inside(n, 100, "9999999999")
	case "DECIMAL(3,1)":
		return n, inside(n, 10, "999")
	case "DECIMAL(19,4)":
		return n, inside(n, 10000, "9223372036854775807")
	}
	low, _ := new(big.Rat).SetString(bounds[typ][0])
	high, _ := new(big.Rat).SetString(bounds[typ][1])
	return n, n.IsInt() && n.Cmp(low) >= 0 && n.Cmp(high) <= 0
}

// inside reports whether n times scale is an integer of at most limit.
func inside(n *big.Rat, scale int64, limit string) bool {
	m := new(big.Rat).Mul(n, big.NewRat(scale, 1))
	l, _ := new(big.Rat).SetString(limit)
	return m.IsInt() && new(big.Rat).Abs(m).Cmp(l) <= 0
}

func instant(s string) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil && len(s) == 10 {
		return t, t.Year() >= 1
	}
	if !timeForm.MatchString(s) {
		return time.Time{}, false
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05-0700",
		"2006-01-02T15:04:05.000-0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC()
			return t, t.Year() >= 1 && t.Year() <= 9999
		}
	}
	return time.Time{}, false
}
