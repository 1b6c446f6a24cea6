package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The codes of a [Remark].
const (
	// RemarkWrongType is a test that no value of its column can decide, because column and
	// literal have different types, or the operator does not apply to them.
	RemarkWrongType = "wrong_type"
	// RemarkOutOfRange is a literal that is not a value of its column's type.
	RemarkOutOfRange = "out_of_range"
	// RemarkMissingColumn is a column that the table lacks.
	RemarkMissingColumn = "missing_column"
)

// Remark is a part of a text that decides less about the rows of a table than it seems to.
type Remark struct {
	// Code is one of the Remark constants.
	Code string
	// Column is the column, as the text names it; empty for a test of an attribute.
	Column string
	// Message is meant for authors of policies.
	Message string
	node    ast.IsNode
}

// Remarks returns the remarks about a text over a table with the given columns, in the order of
// the text.
func (p Parsed) Remarks(columns []engine.Column, as Reading) []Remark {
	var out []Remark
	seen := map[string]bool{}
	add := func(r Remark) {
		if !seen[r.Message] {
			seen[r.Message] = true
			out = append(out, r)
		}
	}
	for _, name := range p.Columns() {
		if _, ok := FindColumn(columns, name); !ok {
			add(Remark{RemarkMissingColumn, name, "the table has no column " + name, nil})
		}
	}
	for _, c := range p.Tree.Conditions {
		eachTest(c.Body, func(n ast.IsNode) {
			test := readTest(n)
			if why, at := test.wrongType(columns, as); why != "" {
				add(Remark{RemarkWrongType, test.column, why, at})
				return
			}
			c, ok := FindColumn(columns, test.column)
			if !ok {
				return
			}
			t := Classify(c.Type)
			for _, v := range test.literals {
				if fit, ok := as.Literal(t, v); ok && !t.Has(fit) {
					add(Remark{RemarkOutOfRange, test.column, fmt.Sprintf("%s is not a value of %s, which is of type %s",
						clip(string(v.MarshalCedar())), test.columnName(), typeName(c.Type)), n})
				}
			}
		})
	}
	return out
}

// CheckTypes returns an error of type [*TextError] for the first test that cannot be decided
// because of the types of its operands. Without columns, only tests of attributes are checked.
func (p Parsed) CheckTypes(columns []engine.Column) error {
	for _, r := range p.Remarks(columns, ReadTyped) {
		if r.Code == RemarkWrongType {
			return p.text.place(r.node).errorf(r.Message)
		}
	}
	return nil
}

// DependsOnReading reports whether a definition would read a literal of the text as a value of
// more types than the text does. It matters for columns of unknown types.
func (p Parsed) DependsOnReading() bool {
	found := false
	for _, c := range p.Tree.Conditions {
		eachTest(c.Body, func(n ast.IsNode) {
			test := readTest(n)
			for _, v := range test.literals {
				_, decimal := asDecimal(v)
				_, instant := asDatetime(v)
				switch v.(type) {
				case types.Long, types.String:
					found = found || test.column != "" && (decimal || instant)
				}
			}
		})
	}
	return found
}

// eachTest calls visit for the tests of a condition, from left to right.
func eachTest(n ast.IsNode, visit func(ast.IsNode)) {
	switch n := n.(type) {
	case ast.NodeTypeNot:
		eachTest(n.Arg, visit)
	case ast.NodeTypeAnd:
		eachTest(n.Left, visit)
		eachTest(n.Right, visit)
	case ast.NodeTypeOr:
		eachTest(n.Left, visit)
		eachTest(n.Right, visit)
	default:
		visit(n)
	}
}

// Decidable reports whether the types of its operands let a test be decided over a table with the
// given columns. A column that the table lacks has any type.
func Decidable(n ast.IsNode, columns []engine.Column, as Reading) bool {
	t := readTest(n)
	if _, ok := FindColumn(columns, t.column); t.column != "" && !ok {
		return true
	}
	why, _ := t.wrongType(columns, as)
	return why == ""
}

// test is a test of a text, as far as types matter.
type test struct {
	node ast.IsNode
	// column is the column that it reads, or empty.
	column string
	op     Op
	// method reports that the operator is a method of decimals, such as lessThan.
	method bool
	// literals are the constants that it compares with. attribute reports that it compares with
	// an attribute.
	literals  []types.Value
	attribute bool
	pattern   types.Pattern
}

// readTest reads a test. Of a test without columns and literals only the node is set.
func readTest(n ast.IsNode) test {
	t := test{node: n}
	operands := func(nodes ...ast.IsNode) {
		for _, n := range nodes {
			o, ok := ReadOperand(n)
			switch set, isSet := o.Value.(types.Set); {
			case !ok:
			case o.Column != "":
				t.column = o.Column
			case o.Attribute != "":
				t.attribute = true
			case isSet:
				t.literals = append(t.literals, sortedItems(set)...)
			default:
				t.literals = append(t.literals, o.Value)
			}
		}
	}
	switch n := n.(type) {
	case ast.NodeTypeAccess:
		t.op, t.literals = OpEq, []types.Value{types.True}
		operands(n)
	case ast.NodeTypeLike:
		t.op, t.pattern = OpLike, n.Value
		operands(n.Arg)
	case ast.NodeTypeContains:
		t.op = OpIn
		operands(n.Left, n.Right)
	default:
		if op, sides, ok := ReadComparison(n); ok {
			t.op = op
			_, t.method = n.(ast.NodeTypeExtensionCall)
			operands(sides.Left, sides.Right)
		}
	}
	return t
}

// wrongType returns why the types of its operands make the test undecidable, and the part at fault.
// It returns "" for a test that can be decided.
func (t test) wrongType(columns []engine.Column, as Reading) (why string, at ast.IsNode) {
	if t.op == OpLike {
		if pieces, _ := PatternPieces(t.pattern); slices.ContainsFunc(pieces, func(p Piece) bool { return !Storable(p.Text) }) {
			return "a pattern cannot contain NUL", t.node
		}
	}
	c, ok := FindColumn(columns, t.column)
	if !ok {
		return t.wrongOrder(as), t.node
	}
	typ := Classify(c.Type)
	if _, bare := t.node.(ast.NodeTypeAccess); bare && typ.Class != classBoolean {
		return t.typed(c) + ": only a column of type boolean is a condition by itself", t.node
	}
	if !typ.Class.Supports(t.op) {
		return t.typed(c) + ", which " + describe(t.node) + " does not support", t.node
	}
	if why := t.wrongOrder(as); why != "" {
		return why, t.node
	}
	if t.attribute && t.op.ordered() && as == ReadTyped && t.method != (typ.Class == classDecimal) {
		return t.typed(c) + ": " + methodRule, t.node
	}
	for _, v := range t.literals {
		if _, ok := as.Literal(typ, v); !ok {
			return t.wrongLiteral(c, typ, v), literalNode(v)
		}
	}
	return "", nil
}

// literalNode returns a node that a text has for a literal.
func literalNode(v types.Value) ast.IsNode {
	switch v.(type) {
	case types.Decimal:
		return ast.NodeTypeExtensionCall{Name: "decimal"}
	case types.Datetime:
		return ast.NodeTypeExtensionCall{Name: "datetime"}
	}
	return ast.NodeValue{Value: v}
}

const methodRule = "decimals are ordered by lessThan, lessThanOrEqual, greaterThan and greaterThanOrEqual, other types by <, <=, > and >="

// wrongOrder returns why the literals of the test have no order by its operator, or "".
func (t test) wrongOrder(as Reading) string {
	if !t.op.ordered() || as == ReadNotation {
		return ""
	}
	for _, v := range t.literals {
		switch v.(type) {
		case types.Decimal:
			if !t.method {
				return methodRule
			}
		case types.Long, types.Datetime:
			if t.method {
				return methodRule
			}
		default:
			return literalKind(v) + " has no order"
		}
	}
	return ""
}

// wrongLiteral returns why v cannot be compared with the column.
func (t test) wrongLiteral(c engine.Column, typ ColumnType, v types.Value) string {
	text := clip(string(v.MarshalCedar()))
	switch v.(type) {
	case types.Datetime:
		if typ.Class == ClassDate || typ.Class == classTimestamp {
			return text + " is outside the years 1 to 9999"
		}
	case types.String:
		if typ.Class == ClassText {
			return text + " contains NUL"
		}
	}
	return fmt.Sprintf("%s and cannot be compared with %s, which is %s", t.typed(c), text, literalKind(v))
}

// typed names the column and its type.
func (t test) typed(c engine.Column) string {
	return t.columnName() + " is of type " + typeName(c.Type)
}

func (t test) columnName() string { return "resource" + clip(MemberText(t.column)) }

func typeName(t sqltype.Type) string { return strings.ToLower(t.String()) }
