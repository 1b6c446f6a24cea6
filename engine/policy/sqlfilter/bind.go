package sqlfilter

import (
	"cmp"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/lakewarden/lakewarden/engine/policy"
)

// The columns of replaced tests have names that no policy can contain, because they are not valid
// UTF-8.
const (
	unknownColumn  = "\xffunknown"
	mistypedColumn = "\xffmistyped"
)

var (
	// unknownNode replaces a test that cannot be decided.
	unknownNode = reading(unknownColumn)
	// mistypedNode replaces a test that cannot be decided because of the types of its operands.
	mistypedNode = reading(mistypedColumn)
)

func reading(column types.String) ast.IsNode {
	return ast.NodeTypeAccess{StrOpNode: ast.StrOpNode{Arg: ast.NodeTypeVariable{Name: "resource"}, Value: column}}
}

// residual folds a policy for one user. The result depends on the row only; keep is
// false if the policy cannot apply to any row.
func residual(p *ast.Policy, user Principal, t *sqlTerms) (out *ast.Policy, keep bool) {
	b := binder{user.Attributes, p.Effect == ast.EffectForbid, t}
	bound := *p
	bound.Conditions = nil
	if body := joinConditions(p); body != nil {
		bound.Conditions = []ast.ConditionType{{Condition: ast.ConditionWhen, Body: b.bind(body)}}
	}
	uid := types.NewEntityUID(policy.UserType, types.String(user.UserID))
	attributes := types.RecordMap{}
	for name, value := range user.Attributes {
		attributes[types.String(name)] = types.String(value)
	}
	roles := types.NewEntityUIDSet()
	if user.Role != "" {
		roles = types.NewEntityUIDSet(policy.RoleUID(user.Role))
	}
	entities := types.EntityMap{uid: {UID: uid, Parents: roles, Attributes: types.NewRecord(attributes)}}
	// The resource is a row, of which only the type is known.
	switch bound.Resource.(type) {
	case ast.ScopeTypeIs:
		bound.Resource = ast.ScopeTypeAll{}
	}
	return eval.PartialPolicy(eval.Env{
		Entities:  entities,
		Principal: uid,
		Action:    policy.ReadUID,
		Resource:  eval.Variable("resource"),
		Context:   types.NewRecord(nil),
	}, &bound)
}

// joinConditions combines the conditions of a policy into one; nil without any. If
// they were separate, partial evaluation would drop a failing condition that precedes
// one that is false for the user, and with it the error.
func joinConditions(p *ast.Policy) ast.IsNode {
	var out ast.IsNode
	for _, c := range p.Conditions {
		body := c.Body
		if c.Condition != ast.ConditionWhen {
			body = ast.NodeTypeNot{UnaryNode: ast.UnaryNode{Arg: body}}
		}
		if out != nil {
			body = ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: out, Right: body}}
		}
		out = body
	}
	return out
}

// binder gives user attributes the types of the literals that they are compared
// with. An attribute that is not a value of that type makes the test unknown.
type binder struct {
	attributes map[string]string
	// kleene makes a test of a missing attribute unknown as well. Otherwise Cedar evaluates the
	// test and fails.
	kleene bool
	// terms holds the columns, and how literals are read.
	terms *sqlTerms
}

// value returns the attribute that an operand names. If the attribute is missing, it
// returns the node to use in place of test n.
func (b binder) value(o policy.Operand, n ast.IsNode) (raw string, instead ast.IsNode) {
	raw, present := b.attributes[o.Attribute]
	switch {
	case present && policy.Storable(raw):
		return raw, nil
	case present || b.kleene:
		return "", unknownNode
	}
	return "", n
}

func (b binder) bind(n ast.IsNode) ast.IsNode {
	switch n := n.(type) {
	case ast.NodeTypeNot:
		return ast.NodeTypeNot{UnaryNode: ast.UnaryNode{Arg: b.bind(n.Arg)}}
	case ast.NodeTypeAnd:
		return ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: b.bind(n.Left), Right: b.bind(n.Right)}}
	case ast.NodeTypeOr:
		return ast.NodeTypeOr{BinaryNode: ast.BinaryNode{Left: b.bind(n.Left), Right: b.bind(n.Right)}}
	}
	if !policy.Decidable(n, b.terms.columns, b.terms.reading) {
		return mistypedNode
	}
	switch n := n.(type) {
	case ast.NodeTypeContains:
		return b.contains(n)
	case ast.NodeTypeLike:
		if o, ok := policy.ReadOperand(n.Arg); ok && o.Attribute != "" {
			if _, instead := b.value(o, n); instead != nil {
				return instead
			}
		}
		return n
	}
	if op, sides, ok := policy.ReadComparison(n); ok {
		return b.comparison(n, op, sides)
	}
	return n
}

func (b binder) comparison(n ast.IsNode, op policy.Op, sides ast.BinaryNode) ast.IsNode {
	l, lok := policy.ReadOperand(sides.Left)
	r, rok := policy.ReadOperand(sides.Right)
	if !lok || !rok {
		return n
	}
	if l.Attribute == "" {
		l, r, op = r, l, op.Mirrored()
	}
	if l.Attribute == "" {
		return n
	}
	raw, instead := b.value(l, n)
	switch {
	case instead != nil:
		return instead
	case r.Value == nil:
		// The column determines its type.
		return n
	}
	v, ok := policy.AsTypeOf(types.String(raw), r.Value)
	if !ok {
		return unknownNode
	}
	holds, ok := compareValues(op, v, r.Value)
	if !ok {
		return n
	}
	return ast.NodeValue{Value: types.Boolean(holds)}
}

func (b binder) contains(n ast.NodeTypeContains) ast.IsNode {
	list, lok := policy.ReadOperand(n.Left)
	element, eok := policy.ReadOperand(n.Right)
	if !lok || !eok {
		return n
	}
	var elements, items []types.Value
	switch {
	case element.Attribute != "":
		raw, instead := b.value(element, n)
		if instead != nil {
			return instead
		}
		set, ok := list.Value.(types.Set)
		if !ok {
			return n
		}
		elements, items = []types.Value{types.String(raw)}, set.Slice()
	case list.Attribute != "":
		raw, instead := b.value(list, n)
		switch {
		case instead != nil:
			return instead
		case element.Value == nil:
			return n
		}
		parts, ok := policy.ListItems(types.String(raw))
		if !ok {
			return unknownNode
		}
		elements, items = parts, []types.Value{element.Value}
	default:
		return n
	}
	found := false
	for _, item := range items {
		for _, e := range elements {
			v, ok := policy.AsTypeOf(e, item)
			if !ok {
				return unknownNode
			}
			found = found || v.Equal(item)
		}
	}
	return ast.NodeValue{Value: types.Boolean(found)}
}

// compareValues compares two values of one type. It returns ok false for an order of types without
// one, so that Cedar evaluates the test and fails.
func compareValues(op policy.Op, l, r types.Value) (holds, ok bool) {
	switch op {
	case policy.OpEq:
		return l.Equal(r), true
	case policy.OpNeq:
		return !l.Equal(r), true
	}
	order := 0
	switch l := l.(type) {
	case types.Long:
		order = cmp.Compare(int64(l), int64(r.(types.Long)))
	case types.Decimal:
		order = l.Compare(r.(types.Decimal))
	case types.Datetime:
		order = cmp.Compare(l.Milliseconds(), r.(types.Datetime).Milliseconds())
	default:
		return false, false
	}
	switch op {
	case policy.OpLt:
		return order < 0, true
	case policy.OpLte:
		return order <= 0, true
	case policy.OpGt:
		return order > 0, true
	}
	return order >= 0, true
}
