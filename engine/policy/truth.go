package policy

import (
	"errors"
	"maps"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// truth is what an expression can come to, as two predicates: where it is true
// and where it is false. Where neither holds it is unknown or, in Cedar's
// terms, an error. Keeping both makes negation a swap, so that SQL never needs
// a NOT around something that can be NULL.
type truth struct {
	yes, no *predicate
	// errs holds the columns whose NULL makes Cedar's evaluation an error. What
	// is unknown for other reasons is ours, not an error of Cedar, and follows
	// three-valued logic.
	errs map[string]bool
	// fails reports that evaluation can fail for reasons other than a NULL.
	fails bool
	// lacks reports that evaluation can fail because the table lacks a column. It
	// implies fails.
	lacks bool
}

// unknown is neither true nor false, and no error.
var unknown = truth{yes: never, no: never}

// failure is an error for every row.
var failure = truth{yes: never, no: never, fails: true}

// lacking is the error of a test that reads a column which the table lacks.
var lacking = truth{yes: never, no: never, fails: true, lacks: true}

// unknownOf returns a truth that is unknown for every row, and an error where the
// column is NULL.
func unknownOf(column string) truth {
	return truth{yes: never, no: never, errs: map[string]bool{column: true}}
}

func constant(b bool) truth {
	if b {
		return truth{yes: always, no: never}
	}
	return truth{yes: never, no: always}
}

func (t truth) not() truth {
	t.yes, t.no = t.no, t.yes
	return t
}

// clean reports that Cedar never fails on t.
func (t truth) clean() bool { return !t.fails && len(t.errs) == 0 }

// and is Cedar's &&: the right side counts where the left one is true. Where
// the left one cannot fail, plain three-valued logic says the same in less.
func (t truth) and(r truth) truth {
	// An unknown left side may be true, so the right side is evaluated unless the left
	// one is false for every row.
	reached := t.no.kind != predicateTrue
	out := truth{yes: and(t.yes, r.yes), errs: maps.Clone(t.errs), fails: t.fails || reached && r.fails, lacks: t.lacks || reached && r.lacks}
	if reached {
		out.errs = after(t, r)
	}
	if t.clean() {
		out.no = or(t.no, r.no)
	} else {
		out.no = or(t.no, and(t.yes, r.no))
	}
	return out
}

func (t truth) or(r truth) truth { return t.not().and(r.not()).not() }

// after returns the columns whose NULL can make l fail, or r where l is not
// false.
func after(l, r truth) map[string]bool {
	out := map[string]bool{}
	maps.Copy(out, l.errs)
	for c := range r.errs {
		if !l.yes.rejects[c] {
			out[c] = true
		}
	}
	return out
}

// terms turns the leaves of an expression into truths.
type terms interface {
	// has tests presence of a column (principal false) or an attribute.
	has(principal bool, name string) truth
	// compare tests two operands.
	compare(op Op, l, r operand) truth
	// match tests an operand against a pattern.
	match(l operand, pieces []piece) truth
	// member tests whether a list holds an element.
	member(list, element operand) truth
	// user tests what depends on the user only.
	user(n ast.IsNode) truth
	// limit bounds the text of a truth in bytes.
	limit() int
}

// operand is one side of a test: a column, an attribute, or a constant.
type operand struct {
	column    string
	attribute string
	value     types.Value
}

var errComplex = errors.New("the policy is too complex")

// walker turns expressions into truths.
type walker struct {
	terms
	// kleene takes errors for unknowns that stay where they are, instead of ones
	// that undo the whole policy. The error of a column that the table lacks
	// undoes it nevertheless.
	kleene bool
}

// walk returns the truth of an expression. What it does not know fails.
func (t walker) walk(n ast.IsNode) (truth, error) {
	out, err := t.walkNode(n)
	if err == nil && len(out.yes.sql)+len(out.no.sql) > t.limit() {
		return failure, errComplex
	}
	if t.kleene {
		out.errs, out.fails = nil, out.lacks
	}
	return out, err
}

func (t walker) walkNode(n ast.IsNode) (truth, error) {
	switch n := n.(type) {
	case ast.NodeValue:
		if b, ok := n.Value.(types.Boolean); ok {
			return constant(bool(b)), nil
		}
		return failure, nil
	case ast.NodeTypeNot:
		arg, err := t.walk(n.Arg)
		return arg.not(), err
	case ast.NodeTypeAnd:
		return t.walkBinary(n.BinaryNode, truth.and)
	case ast.NodeTypeOr:
		return t.walkBinary(n.BinaryNode, truth.or)
	case ast.NodeTypeHas:
		v, ok := n.Arg.(ast.NodeTypeVariable)
		if !ok {
			return failure, nil
		}
		return t.has(v.Name == "principal", string(n.Value)), nil
	case ast.NodeTypeAccess:
		// A column of type boolean standing alone.
		if l, ok := asOperand(n); ok && l.column != "" {
			return t.compare(OpEq, l, operand{value: types.True}), nil
		}
		return failure, nil
	case ast.NodeTypeLike:
		pieces, ok := patternPieces(n.Value)
		l, ok2 := asOperand(n.Arg)
		if !ok || !ok2 {
			return failure, nil
		}
		return t.match(l, pieces), nil
	case ast.NodeTypeContains:
		return walkTest(n.BinaryNode, t.member), nil
	case ast.NodeTypeIn:
		return t.user(n), nil
	case ast.NodeTypeExtensionCall:
		op, ok := decimalMethods[string(n.Name)]
		if _, failed := eval.ToPartialError(n); failed || !ok || len(n.Args) != 2 {
			return failure, nil
		}
		return walkTest(binary(n.Args[0], n.Args[1]), comparing(t, op)), nil
	}
	if op, b, ok := comparison(n); ok {
		if v, ok := b.Left.(ast.NodeTypeVariable); ok && v.Name == "principal" {
			return t.user(n), nil
		}
		return walkTest(b, comparing(t, op)), nil
	}
	return failure, nil
}

func (t walker) walkBinary(b ast.BinaryNode, join func(l, r truth) truth) (truth, error) {
	l, err := t.walk(b.Left)
	if err != nil {
		return failure, err
	}
	r, err := t.walk(b.Right)
	if err != nil {
		return failure, err
	}
	return join(l, r), nil
}

func walkTest(b ast.BinaryNode, test func(l, r operand) truth) truth {
	l, ok := asOperand(b.Left)
	r, ok2 := asOperand(b.Right)
	if !ok || !ok2 {
		return failure
	}
	return test(l, r)
}

// comparing returns a test that has its constant on the right.
func comparing(t terms, op Op) func(l, r operand) truth {
	return func(l, r operand) truth {
		if l.value != nil || l.attribute != "" && r.column != "" {
			return t.compare(mirrored[op], r, l)
		}
		return t.compare(op, l, r)
	}
}

// mirrored maps an operator to the one that holds with the sides exchanged.
var mirrored = map[Op]Op{OpEq: OpEq, OpNeq: OpNeq, OpLt: OpGt, OpGt: OpLt, OpLte: OpGte, OpGte: OpLte}

func comparison(n ast.IsNode) (Op, ast.BinaryNode, bool) {
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
	}
	return "", ast.BinaryNode{}, false
}

// asOperand reads a column, an attribute or a constant.
func asOperand(n ast.IsNode) (operand, bool) {
	if a, ok := n.(ast.NodeTypeAccess); ok {
		v, ok := a.Arg.(ast.NodeTypeVariable)
		switch {
		case ok && v.Name == "resource":
			return operand{column: string(a.Value)}, true
		case ok && v.Name == "principal":
			return operand{attribute: string(a.Value)}, true
		}
		return operand{}, false
	}
	v, ok := asConstant(n)
	return operand{value: v}, ok
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

// bodyTruth joins the conditions of a policy. A permit follows Cedar's errors;
// a forbid hides all that three-valued logic does not make false, and all for
// which Cedar reads a column that the table lacks.
func bodyTruth(p *ast.Policy, t terms) (truth, error) {
	return conditionTruth(p, walker{terms: t, kleene: p.Effect == ast.EffectForbid})
}

func conditionTruth(p *ast.Policy, w walker) (truth, error) {
	out := constant(true)
	for _, c := range p.Conditions {
		body, err := w.walk(c.Body)
		if err != nil {
			return failure, err
		}
		if c.Condition != ast.ConditionWhen {
			body = body.not()
		}
		out = out.and(body)
	}
	if len(out.yes.sql)+len(out.no.sql) > w.limit() {
		return failure, errComplex
	}
	return out, nil
}
