package constraint

import "github.com/lakewarden/lakewarden/engine/delta"

// op is the kind of a node.
type op int

const (
	opColumn  op = iota // path
	opNull              // NULL
	opLiteral           // text, typ
	opCompare           // text is the operator; two args
	opAnd
	opOr
	opNot
	opIn     // args[0] among the others
	opIsNull // one arg
	opBetween
	opLike  // args: value, pattern, and maybe the escape character
	opArith // text is + - * % / //; two args
	opNegate
	opCase // when, then, when, then …, else
	opCast // to typ
	opCall // text is the name of a function
)

// expr is a node of a tree that both languages are parsed into and printed from. Only builder makes
// nodes, so every tree is typed.
type expr struct {
	op   op
	typ  delta.DataType
	path []string
	text string
	args []*expr
	// local is the reason why Spark's SQL has no equivalent; empty if it has one.
	local string
}

// portable returns the first such reason in e and its children.
func (e *expr) portable() string {
	if e.local != "" {
		return e.local
	}
	for _, a := range e.args {
		if reason := a.portable(); reason != "" {
			return reason
		}
	}
	return ""
}

// columns adds the top-level columns in e to seen, without duplicates.
func (e *expr) columns(seen []string) []string {
	if e.op == opColumn {
		for _, name := range seen {
			if name == e.path[0] {
				return seen
			}
		}
		return append(seen, e.path[0])
	}
	for _, a := range e.args {
		seen = a.columns(seen)
	}
	return seen
}

// depth is the height of the tree.
func (e *expr) depth() int {
	most := 0
	for _, a := range e.args {
		most = max(most, a.depth())
	}
	return most + 1
}

// Limits of an expression.
const (
	maxText  = 16 << 10
	maxDepth = 100
)

// family groups types that behave alike.
type family int

const (
	famOther family = iota
	famNull
	famBool
	famInt
	famDecimal
	famFloat
	famDouble
	famText
	famDate
	famInstant // an instant, stored in UTC
	famLocal   // a time without time zone
	famBinary
)

func familyOf(t delta.DataType) family {
	switch t := t.(type) {
	case delta.Decimal:
		return famDecimal
	case delta.Primitive:
		return familyByType[t]
	}
	return famOther
}

var familyByType = map[delta.Primitive]family{
	delta.Void: famNull, delta.Boolean: famBool, delta.Byte: famInt, delta.Short: famInt, delta.Integer: famInt,
	delta.Long: famInt, delta.Float: famFloat, delta.Double: famDouble, delta.String: famText, delta.Date: famDate,
	delta.Timestamp: famInstant, delta.TimestampNTZ: famLocal, delta.Binary: famBinary,
}
