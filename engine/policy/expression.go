package policy

import (
	"maps"
	"slices"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// Operand is one side of a test: a column, a user attribute, or a constant. Exactly one
// field is set.
type Operand struct {
	Column    string
	Attribute string
	Value     types.Value
}

// ReadComparison returns the operator and the sides of a comparison. Decimals are
// compared by methods.
func ReadComparison(n ast.IsNode) (Op, ast.BinaryNode, bool) {
	switch n := n.(type) {
	case ast.NodeTypeEquals:
		return OpEq, n.BinaryNode, true
	case ast.NodeTypeNotEquals:
		return OpNeq, n.BinaryNode, true
	case ast.NodeTypeLessThan:
		return OpLt, n.BinaryNode, true
	case ast.NodeTypeLessThanOrEqual:
		return OpLte, n.BinaryNode, true
	case ast.NodeTypeGreaterThan:
		return OpGt, n.BinaryNode, true
	case ast.NodeTypeGreaterThanOrEqual:
		return OpGte, n.BinaryNode, true
	case ast.NodeTypeExtensionCall:
		if op, ok := decimalMethods[string(n.Name)]; ok && len(n.Args) == 2 {
			return op, ast.BinaryNode{Left: n.Args[0], Right: n.Args[1]}, true
		}
	}
	return "", ast.BinaryNode{}, false
}

// ReadOperand returns the column, attribute or constant that n denotes, if it is one.
func ReadOperand(n ast.IsNode) (Operand, bool) {
	if a, ok := n.(ast.NodeTypeAccess); ok {
		v, ok := a.Arg.(ast.NodeTypeVariable)
		switch {
		case ok && v.Name == "resource":
			return Operand{Column: string(a.Value)}, true
		case ok && v.Name == "principal":
			return Operand{Attribute: string(a.Value)}, true
		}
		return Operand{}, false
	}
	v, ok := asConstant(n)
	return Operand{Value: v}, ok
}

// asConstant folds literals, calls of decimal and datetime, and lists of them.
func asConstant(n ast.IsNode) (types.Value, bool) {
	switch n.(type) {
	case ast.NodeValue, ast.NodeTypeExtensionCall, ast.NodeTypeSet:
		v, err := eval.Eval(n, eval.Env{})
		return v, err == nil && v != nil
	}
	return nil, false
}

// decimalMethods maps Cedar's methods that compare decimals to operators.
var decimalMethods = map[string]Op{
	"lessThan": OpLt, "lessThanOrEqual": OpLte, "greaterThan": OpGt, "greaterThanOrEqual": OpGte,
}

// Columns returns the columns that the policy names, as written, sorted.
func (p Parsed) Columns() []string {
	names := map[string]bool{}
	add := func(op ast.StrOpNode) {
		if v, ok := op.Arg.(ast.NodeTypeVariable); ok && v.Name == "resource" {
			names[string(op.Value)] = true
		}
	}
	for _, c := range p.Tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			switch n := n.(type) {
			case ast.NodeTypeAccess:
				add(n.StrOpNode)
			case ast.NodeTypeHas:
				add(n.StrOpNode)
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(names))
}
