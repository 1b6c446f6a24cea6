package policy

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/lakewarden/lakewarden/engine"
)

// condition says what pruning may use of a predicate.
func (p *predicate) condition() engine.Condition {
	parts := make([]engine.Condition, len(p.kids))
	for i, k := range p.kids {
		parts[i] = k.condition()
	}
	switch p.kind {
	case predicateFalse:
		return engine.Condition{Op: engine.ConditionNever}
	case predicateTest:
		return p.skip
	case predicateNull:
		return engine.Condition{Op: engine.ConditionIsNull, Column: p.column}
	case predicateNotNull:
		return present(p.column)
	case predicateAnd:
		return engine.AllOf(parts...)
	case predicateOr:
		return engine.AnyOf(parts...)
	}
	return engine.Condition{}
}

// assured returns a condition that only rows for which the predicate is TRUE fulfil.
// Parts that pruning does not understand completely are never fulfilled.
func (p *predicate) assured() engine.Condition {
	parts := make([]engine.Condition, len(p.kids))
	for i, k := range p.kids {
		parts[i] = k.assured()
	}
	switch p.kind {
	case predicateNull, predicateNotNull:
		return p.condition()
	case predicateAnd:
		return engine.AllOf(parts...)
	case predicateOr:
		return engine.AnyOf(parts...)
	case predicateTest:
		if p.exact {
			return p.skip
		}
	}
	return engine.Condition{Op: engine.ConditionNever}
}

var conditionOps = map[Op]engine.ConditionOp{
	OpEq: engine.ConditionEqual, OpNeq: engine.ConditionNotEqual, OpLt: engine.ConditionLess,
	OpLte: engine.ConditionLessOrEqual, OpGt: engine.ConditionGreater, OpGte: engine.ConditionGreaterOrEqual,
}

// comparison compares a column with a value that coerce returned.
func (t columnType) comparison(op Op, column string, v types.Value) engine.Condition {
	value, ok := t.conditionValue(v)
	if !ok {
		return present(column)
	}
	return engine.Condition{Op: conditionOps[op], Column: column, Values: []engine.ConditionValue{value}}
}

// membership is fulfilled by the values that coerce returned.
func (t columnType) membership(column string, values []types.Value) engine.Condition {
	c := engine.Condition{Op: engine.ConditionIn, Column: column}
	for _, v := range values {
		value, ok := t.conditionValue(v)
		if !ok {
			return present(column)
		}
		c.Values = append(c.Values, value)
	}
	slices.Sort(c.Values)
	if c.Values = slices.Compact(c.Values); len(c.Values) == 1 {
		c.Op = engine.ConditionEqual
	}
	return c
}

// exclusion is fulfilled by all other values.
func (t columnType) exclusion(column string, values []types.Value) engine.Condition {
	parts := make([]engine.Condition, len(values))
	for i, v := range values {
		parts[i] = t.comparison(OpNeq, column, v)
	}
	return engine.AllOf(parts...)
}

// patternCondition is the range of the texts that begin as the pattern does.
func patternCondition(column string, pieces []piece) engine.Condition {
	text := columnType{class: classText}
	switch {
	case len(pieces) == 0:
		return text.comparison(OpEq, column, types.String(""))
	case pieces[0].any || pieces[0].text == "":
		return present(column)
	case len(pieces) == 1:
		return text.comparison(OpEq, column, types.String(pieces[0].text))
	}
	from := text.comparison(OpGte, column, types.String(pieces[0].text))
	after, ok := successor(pieces[0].text)
	if !ok {
		return from
	}
	return engine.AllOf(from, text.comparison(OpLt, column, types.String(after)))
}

// isText reports whether the pattern matches exactly one text.
func isText(pieces []piece) bool { return len(pieces) == 0 || len(pieces) == 1 && !pieces[0].any }

// successor is the least text above every text that begins with prefix, in the
// order of code points, which is that of the bytes of UTF-8.
func successor(prefix string) (string, bool) {
	runes := []rune(prefix)
	for n := len(runes); n > 0; n-- {
		next := runes[n-1] + 1
		if 0xd800 <= next && next <= 0xdfff { // no characters
			next = 0xe000
		}
		if next <= utf8.MaxRune {
			return string(runes[:n-1]) + string(next), true
		}
	}
	return "", false
}

func present(column string) engine.Condition {
	return engine.Condition{Op: engine.ConditionIsNotNull, Column: column}
}

// hasConditionValues reports whether pruning understands values that coerce
// returned.
func (t columnType) hasConditionValues(values ...types.Value) bool {
	return !slices.ContainsFunc(values, func(v types.Value) bool {
		_, ok := t.conditionValue(v)
		return !ok
	})
}

// conditionValue prints a value that coerce returned, as engine.ConditionValue
// says.
func (t columnType) conditionValue(v types.Value) (engine.ConditionValue, bool) {
	switch v := v.(type) {
	case types.String:
		return engine.ConditionValue(v), true
	case types.Boolean, types.Long, types.Decimal:
		return engine.ConditionValue(v.String()), true
	case types.Datetime:
		layout := "2006-01-02 15:04:05.000"
		if t.class == classDate {
			layout = time.DateOnly
		}
		return engine.ConditionValue(v.Time().UTC().Format(layout)), true
	}
	return "", false
}
