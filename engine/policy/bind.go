package policy

import (
	"cmp"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// unknownColumn is a name that no policy can contain, because it is not valid UTF-8.
const unknownColumn = "\xffunknown"

// unknownNode stands for a test that cannot be decided.
var unknownNode ast.IsNode = ast.NodeTypeAccess{StrOpNode: ast.StrOpNode{
	Arg: ast.NodeTypeVariable{Name: "resource"}, Value: unknownColumn,
}}

// residual folds a policy for one user. What is left depends on the row only;
// keep is false when the policy cannot apply to any row.
func residual(p *ast.Policy, user Principal) (out *ast.Policy, keep bool) {
	b := binder{user.Attributes, p.Effect == ast.EffectForbid}
	bound := *p
	bound.Conditions = nil
	if body := joinConditions(p); body != nil {
		bound.Conditions = []ast.ConditionType{{Condition: ast.ConditionWhen, Body: b.bind(body)}}
	}
	uid := types.NewEntityUID(userType, types.String(user.UserID))
	attributes := types.RecordMap{}
	for name, value := range user.Attributes {
		attributes[types.String(name)] = types.String(value)
	}
	roles := types.NewEntityUIDSet()
	if user.Role != "" {
		roles = types.NewEntityUIDSet(roleUID(user.Role))
	}
	entities := types.EntityMap{uid: {UID: uid, Parents: roles, Attributes: types.NewRecord(attributes)}}
	// The resource is a row: nothing but its type is known.
	switch bound.Resource.(type) {
	case ast.ScopeTypeIs:
		bound.Resource = ast.ScopeTypeAll{}
	}
	return eval.PartialPolicy(eval.Env{
		Entities:  entities,
		Principal: uid,
		Action:    readUID,
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
			body = ast.NodeTypeAnd{BinaryNode: binary(out, body)}
		}
		out = body
	}
	return out
}

// binder gives user attributes the types of the literals that they are compared
// with. An attribute that is not a value of that type makes the test unknown.
type binder struct {
	attributes map[string]string
	// kleene makes a test of a missing attribute unknown as well. Otherwise it
	// is left to Cedar, which fails on it.
	kleene bool
}

// value returns the attribute that an operand names. When it is missing, the
// node to use for test n is returned instead.
func (b binder) value(o operand, n ast.IsNode) (raw string, instead ast.IsNode) {
	raw, present := b.attributes[o.attribute]
	switch {
	case present && storable(raw):
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
		return ast.NodeTypeAnd{BinaryNode: binary(b.bind(n.Left), b.bind(n.Right))}
	case ast.NodeTypeOr:
		return ast.NodeTypeOr{BinaryNode: binary(b.bind(n.Left), b.bind(n.Right))}
	case ast.NodeTypeContains:
		return b.contains(n)
	case ast.NodeTypeLike:
		if o, ok := asOperand(n.Arg); ok && o.attribute != "" {
			if _, instead := b.value(o, n); instead != nil {
				return instead
			}
		}
		return n
	case ast.NodeTypeExtensionCall:
		if op, ok := decimalMethods[string(n.Name)]; ok && len(n.Args) == 2 {
			return b.comparison(n, op, binary(n.Args[0], n.Args[1]))
		}
		return n
	}
	if op, sides, ok := comparison(n); ok {
		return b.comparison(n, op, sides)
	}
	return n
}

func (b binder) comparison(n ast.IsNode, op Op, sides ast.BinaryNode) ast.IsNode {
	l, lok := asOperand(sides.Left)
	r, rok := asOperand(sides.Right)
	if !lok || !rok {
		return n
	}
	if l.attribute == "" {
		l, r, op = r, l, mirrored[op]
	}
	if l.attribute == "" {
		return n
	}
	raw, instead := b.value(l, n)
	switch {
	case instead != nil:
		return instead
	case r.value == nil:
		// The column will type it.
		return n
	}
	v, ok := asKind(types.String(raw), r.value)
	if !ok {
		return unknownNode
	}
	holds, ok := compareValues(op, v, r.value)
	if !ok {
		return n
	}
	return ast.NodeValue{Value: types.Boolean(holds)}
}

func (b binder) contains(n ast.NodeTypeContains) ast.IsNode {
	list, lok := asOperand(n.Left)
	element, eok := asOperand(n.Right)
	if !lok || !eok {
		return n
	}
	var elements, items []types.Value
	switch {
	case element.attribute != "":
		raw, instead := b.value(element, n)
		if instead != nil {
			return instead
		}
		set, ok := list.value.(types.Set)
		if !ok {
			return n
		}
		elements, items = []types.Value{types.String(raw)}, set.Slice()
	case list.attribute != "":
		raw, instead := b.value(list, n)
		switch {
		case instead != nil:
			return instead
		case element.value == nil:
			return n
		}
		parts, ok := listItems(types.String(raw))
		if !ok {
			return unknownNode
		}
		elements, items = parts, []types.Value{element.value}
	default:
		return n
	}
	found := false
	for _, item := range items {
		for _, e := range elements {
			v, ok := asKind(e, item)
			if !ok {
				return unknownNode
			}
			found = found || v.Equal(item)
		}
	}
	return ast.NodeValue{Value: types.Boolean(found)}
}

// asKind reads a string as a value of the type that like has.
func asKind(s, like types.Value) (types.Value, bool) {
	switch like.(type) {
	case types.String:
		return s, true
	case types.Long:
		return asLong(s)
	case types.Decimal:
		return asDecimal(s)
	case types.Boolean:
		return asBoolean(s)
	case types.Datetime:
		return asDatetime(s)
	}
	return nil, false
}

// compareValues compares two values of one type. Types without an order leave
// an order to Cedar, which fails on it.
func compareValues(op Op, l, r types.Value) (holds, ok bool) {
	switch op {
	case OpEq:
		return l.Equal(r), true
	case OpNeq:
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
	case OpLt:
		return order < 0, true
	case OpLte:
		return order <= 0, true
	case OpGt:
		return order > 0, true
	}
	return order >= 0, true
}
