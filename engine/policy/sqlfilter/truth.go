package sqlfilter

import (
	"errors"
	"maps"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/lakewarden/lakewarden/engine/policy"
)

// truth is the value of an expression as two predicates: one for where it is true and one for where
// it is false. Where neither holds, the expression is unknown or, in Cedar's terms, an error. With
// both, negation is a swap, so SQL never needs a NOT around an expression that can be NULL.
type truth struct {
	yes, no *predicate
	// errs holds the columns whose NULL makes Cedar's evaluation an error. A test that is unknown
	// for other reasons is not an error in Cedar, and follows three-valued logic.
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

// lacking is the error of a test that reads a column that does not exist in the table.
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

// and implements Cedar's &&, which evaluates the right side if the left one is true. If the left
// one cannot fail, three-valued logic gives the same result in a shorter text.
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

// terms converts the leaves of an expression to truths.
type terms interface {
	// has tests presence of a column (principal false) or an attribute.
	has(principal bool, name string) truth
	// compare tests two operands.
	compare(op policy.Op, l, r policy.Operand) truth
	// match tests an operand against a pattern.
	match(l policy.Operand, pieces []policy.Piece) truth
	// member tests whether a list holds an element.
	member(list, element policy.Operand) truth
	// user tests an expression that depends on the user only.
	user(n ast.IsNode) truth
	// limit bounds the text of a truth in bytes.
	limit() int
}

var errComplex = errors.New("the policy is too complex")

// walker converts expressions to truths.
type walker struct {
	terms
	// kleene treats errors as unknown tests, where otherwise an error invalidates the whole policy.
	// The error of a column that does not exist in the table invalidates it in any case.
	kleene bool
}

// walk returns the truth of an expression. An unknown construct is a failure.
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
		// A column of type boolean without a comparison.
		if l, ok := policy.ReadOperand(n); ok && l.Column != "" {
			return t.compare(policy.OpEq, l, policy.Operand{Value: types.True}), nil
		}
		return failure, nil
	case ast.NodeTypeLike:
		pieces, ok := policy.PatternPieces(n.Value)
		l, ok2 := policy.ReadOperand(n.Arg)
		if !ok || !ok2 {
			return failure, nil
		}
		return t.match(l, pieces), nil
	case ast.NodeTypeContains:
		return walkTest(n.BinaryNode, t.member), nil
	case ast.NodeTypeIn:
		return t.user(n), nil
	case ast.NodeTypeExtensionCall:
		if _, failed := eval.ToPartialError(n); failed {
			return failure, nil
		}
	}
	if op, b, ok := policy.ReadComparison(n); ok {
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

func walkTest(b ast.BinaryNode, test func(l, r policy.Operand) truth) truth {
	l, ok := policy.ReadOperand(b.Left)
	r, ok2 := policy.ReadOperand(b.Right)
	if !ok || !ok2 {
		return failure
	}
	return test(l, r)
}

// comparing returns a test that has its constant on the right.
func comparing(t terms, op policy.Op) func(l, r policy.Operand) truth {
	return func(l, r policy.Operand) truth {
		if l.Value != nil || l.Attribute != "" && r.Column != "" {
			return t.compare(op.Mirrored(), r, l)
		}
		return t.compare(op, l, r)
	}
}

// bodyTruth combines the conditions of a policy. A permit follows Cedar's errors. A forbid hides
// the rows for which three-valued logic does not make it false, and those for which Cedar reads a
// column that does not exist in the table.
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
