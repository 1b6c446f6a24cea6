package engine

// Condition is the part of a predicate over one table that pruning can use: a file whose statistics
// and partition values rule the condition out has no row that satisfies the predicate. The zero
// value restricts nothing.
//
// A Condition may be weaker than the predicate that it was derived from, never stronger: every row
// for which the predicate is TRUE satisfies the condition.
type Condition struct {
	Op ConditionOp
	// Children are the operands of [ConditionAnd] and [ConditionOr].
	Children []Condition
	// Column is the name of a column, spelled as in the table's schema.
	Column string
	// Values are the constants that the column is compared with: one, or several for [ConditionIn].
	// [ConditionValue] describes their format.
	Values []ConditionValue
}

// ConditionValue is a constant of exactly the column's type, as text: digits of integers and
// decimals without exponent, true and false, YYYY-MM-DD, YYYY-MM-DD HH:MM:SS[.ffffff] for
// timestamps (in UTC if the type is an instant), and strings unchanged. Other types have no
// constants.
type ConditionValue string

// ConditionOp is the operator of a condition.
type ConditionOp int

// The operators. Only non-NULL values satisfy a comparison.
const (
	// ConditionUnknown restricts nothing: every row may satisfy it.
	ConditionUnknown ConditionOp = iota
	// ConditionNever is satisfied by no row.
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

// AnyOf is the disjunction of conditions. With no arguments it is never satisfied.
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
