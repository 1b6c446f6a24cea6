package sqlfilter

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// condition returns the part of a predicate that pruning may use.
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

// assured returns a condition that only rows for which the predicate is TRUE satisfy. Parts that
// pruning does not understand completely are never satisfied.
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

var conditionOps = map[policy.Op]engine.ConditionOp{
	policy.OpEq: engine.ConditionEqual, policy.OpNeq: engine.ConditionNotEqual, policy.OpLt: engine.ConditionLess,
	policy.OpLte: engine.ConditionLessOrEqual, policy.OpGt: engine.ConditionGreater, policy.OpGte: engine.ConditionGreaterOrEqual,
}

// comparisonOf compares a column of type t with a value of that type.
func comparisonOf(t policy.ColumnType, op policy.Op, column string, v types.Value) engine.Condition {
	value, ok := conditionValue(t, v)
	if !ok {
		return present(column)
	}
	return engine.Condition{Op: conditionOps[op], Column: column, Values: []engine.ConditionValue{value}}
}

// membershipOf returns the condition that only the given values of t satisfy.
func membershipOf(t policy.ColumnType, column string, values []types.Value) engine.Condition {
	c := engine.Condition{Op: engine.ConditionIn, Column: column}
	for _, v := range values {
		value, ok := conditionValue(t, v)
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

// exclusionOf returns the condition that all values except the given ones satisfy.
func exclusionOf(t policy.ColumnType, column string, values []types.Value) engine.Condition {
	parts := make([]engine.Condition, len(values))
	for i, v := range values {
		parts[i] = comparisonOf(t, policy.OpNeq, column, v)
	}
	return engine.AllOf(parts...)
}

// patternCondition returns the range of the texts that begin with the pattern's prefix.
func patternCondition(column string, pieces []policy.Piece) engine.Condition {
	text := policy.ColumnType{Class: policy.ClassText}
	switch {
	case len(pieces) == 0:
		return comparisonOf(text, policy.OpEq, column, types.String(""))
	case pieces[0].Any || pieces[0].Text == "":
		return present(column)
	case len(pieces) == 1:
		return comparisonOf(text, policy.OpEq, column, types.String(pieces[0].Text))
	}
	from := comparisonOf(text, policy.OpGte, column, types.String(pieces[0].Text))
	after, ok := successor(pieces[0].Text)
	if !ok {
		return from
	}
	return engine.AllOf(from, comparisonOf(text, policy.OpLt, column, types.String(after)))
}

// isText reports whether the pattern matches exactly one text.
func isText(pieces []policy.Piece) bool {
	return len(pieces) == 0 || len(pieces) == 1 && !pieces[0].Any
}

// successor returns the least text above every text that begins with prefix, in the order of code
// points, which is that of the bytes of UTF-8.
func successor(prefix string) (string, bool) {
	runes := []rune(prefix)
	for n := len(runes); n > 0; n-- {
		next := runes[n-1] + 1
		if 0xd800 <= next && next <= 0xdfff { // surrogates are not characters
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

// hasConditionValues reports whether pruning understands all of the values of t.
func hasConditionValues(t policy.ColumnType, values ...types.Value) bool {
	return !slices.ContainsFunc(values, func(v types.Value) bool {
		_, ok := conditionValue(t, v)
		return !ok
	})
}

// conditionValue formats a value of type t as [engine.ConditionValue] defines.
func conditionValue(t policy.ColumnType, v types.Value) (engine.ConditionValue, bool) {
	switch v := v.(type) {
	case types.String:
		return engine.ConditionValue(v), true
	case types.Boolean, types.Long, types.Decimal:
		return engine.ConditionValue(v.String()), true
	case types.Datetime:
		layout := "2006-01-02 15:04:05.000"
		if t.Class == policy.ClassDate {
			layout = time.DateOnly
		}
		return engine.ConditionValue(v.Time().UTC().Format(layout)), true
	}
	return "", false
}

// sqlLiteral returns the SQL literal of a value of type t.
func sqlLiteral(t policy.ColumnType, v types.Value) string {
	switch v := v.(type) {
	case types.String:
		return engine.QuoteString(string(v))
	case types.Boolean:
		if v {
			return "TRUE"
		}
		return "FALSE"
	case types.Long:
		return fmt.Sprintf("CAST(%d AS %s)", int64(v), t.SQL)
	case types.Decimal:
		return fmt.Sprintf("CAST('%s' AS %s)", v, t.SQL)
	case types.Datetime:
		at := v.Time().UTC()
		switch {
		case t.Class == policy.ClassDate:
			return "DATE " + engine.QuoteString(at.Format(time.DateOnly))
		case t.Zoned:
			return "TIMESTAMPTZ " + engine.QuoteString(at.Format("2006-01-02 15:04:05.000")+"+00")
		}
		return "TIMESTAMP " + engine.QuoteString(at.Format("2006-01-02 15:04:05.000"))
	}
	return "NULL"
}
