package engine

// Condition is what pruning understands of a predicate over one table:
// enough to tell from a file's statistics and partition values that none of its
// rows can fulfil it. The zero value is a condition that says nothing.
//
// A Condition may be weaker than the predicate that it was made from, never
// stronger: every row for which the predicate is TRUE fulfils the condition.
type Condition struct {
	Op ConditionOp
	// Children are the parts of [ConditionAnd] and [ConditionOr].
	Children []Condition
	// Column is the name of a column, as the table's schema spells it.
	Column string
	// Values are what the column is compared with: one value, or several for
	// [ConditionIn]. They are written as [ConditionValue] says.
	Values []ConditionValue
}

// ConditionValue is a constant of exactly the column's type, as text: digits of
// integers and decimals without exponent, true and false, YYYY-MM-DD,
// YYYY-MM-DD HH:MM:SS[.ffffff] for timestamps (in UTC where the type is an
// instant), and strings as they are. Other types have none.
type ConditionValue string

// ConditionOp is what a condition says.
type ConditionOp int

// The conditions. Comparisons are fulfilled by non-NULL values only.
const (
	// ConditionUnknown says nothing: every row may fulfil it.
	ConditionUnknown ConditionOp = iota
	// ConditionNever is fulfilled by no row.
	ConditionNever
	ConditionAnd
	ConditionOr
	ConditionEqual
	ConditionNotEqual
	ConditionLess
	ConditionLessOrEqual
	ConditionGreater
	ConditionGreaterOrEqual
	ConditionIn
	ConditionIsNull
	ConditionIsNotNull
)

// AllOf is the conjunction of conditions.
func AllOf(conditions ...Condition) Condition {
	var parts []Condition
	for _, c := range conditions {
		switch c.Op {
		case ConditionUnknown:
		case ConditionNever:
			return c
		case ConditionAnd:
			parts = append(parts, c.Children...)
		default:
			parts = append(parts, c)
		}
	}
	switch len(parts) {
	case 0:
		return Condition{}
	case 1:
		return parts[0]
	}
	return Condition{Op: ConditionAnd, Children: parts}
}

// AnyOf is the disjunction of conditions. Without any, it is never fulfilled.
func AnyOf(conditions ...Condition) Condition {
	var parts []Condition
	for _, c := range conditions {
		switch c.Op {
		case ConditionUnknown:
			return c
		case ConditionNever:
		case ConditionOr:
			parts = append(parts, c.Children...)
		default:
			parts = append(parts, c)
		}
	}
	switch len(parts) {
	case 0:
		return Condition{Op: ConditionNever}
	case 1:
		return parts[0]
	}
	return Condition{Op: ConditionOr, Children: parts}
}
