package rowfilter

import (
	"cmp"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// unknownNode stands for a test that nothing can decide: a column that no
// table has.
var unknownNode ast.IsNode = ast.NodeTypeAccess{StrOpNode: ast.StrOpNode{
	Arg: ast.NodeTypeVariable{Name: "resource"}, Value: "\x00unknown",
}}

// residual folds a policy for one user. What is left depends on the row only;
// keep is false when the policy cannot apply to any row.
func residual(p *ast.Policy, user Principal) (out *ast.Policy, keep bool) {
	bound := *p
	bound.Conditions = make([]ast.ConditionType, len(p.Conditions))
	for i, c := range p.Conditions {
		bound.Conditions[i] = ast.ConditionType{Condition: c.Condition, Body: bind(c.Body, user.Attributes)}
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

// bind gives user attributes the types of the literals that they are compared
// with. An attribute that is not a value of that type makes the test unknown;
// one that is missing is left to Cedar, which fails on it.
func bind(n ast.IsNode, attributes map[string]string) ast.IsNode {
	switch n := n.(type) {
	case ast.NodeTypeNot:
		return ast.NodeTypeNot{UnaryNode: ast.UnaryNode{Arg: bind(n.Arg, attributes)}}
	case ast.NodeTypeAnd:
		return ast.NodeTypeAnd{BinaryNode: binary(bind(n.Left, attributes), bind(n.Right, attributes))}
	case ast.NodeTypeOr:
		return ast.NodeTypeOr{BinaryNode: binary(bind(n.Left, attributes), bind(n.Right, attributes))}
	case ast.NodeTypeContains:
		return bindContains(n, attributes)
	case ast.NodeTypeLike:
		if l, ok := asOperand(n.Arg); ok && l.attribute != "" && !storable(attributes[l.attribute]) {
			return unknownNode
		}
		return n
	case ast.NodeTypeExtensionCall:
		op, ok := decimalMethods[string(n.Name)]
		if !ok || len(n.Args) != 2 {
			return n
		}
		return bindComparison(n, op, binary(n.Args[0], n.Args[1]), attributes)
	}
	if op, b, ok := comparison(n); ok {
		return bindComparison(n, op, b, attributes)
	}
	return n
}

func bindComparison(n ast.IsNode, op Op, b ast.BinaryNode, attributes map[string]string) ast.IsNode {
	l, lok := asOperand(b.Left)
	r, rok := asOperand(b.Right)
	if !lok || !rok {
		return n
	}
	if l.value != nil {
		l, r, op = r, l, mirrored[op]
	}
	raw, present := attributes[l.attribute]
	if l.attribute == "" || r.value == nil || !present {
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

func bindContains(n ast.NodeTypeContains, attributes map[string]string) ast.IsNode {
	list, lok := asOperand(n.Left)
	element, eok := asOperand(n.Right)
	if !lok || !eok {
		return n
	}
	if raw, present := attributes[element.attribute]; present && element.attribute != "" {
		set, ok := list.value.(types.Set)
		if !ok {
			return n
		}
		for item := range set.All() {
			v, ok := asKind(types.String(raw), item)
			if !ok {
				return unknownNode
			}
			if v.Equal(item) {
				return ast.NodeValue{Value: types.True}
			}
		}
		return ast.NodeValue{Value: types.False}
	}
	if raw, present := attributes[list.attribute]; present && list.attribute != "" && element.value != nil {
		items, ok := splitList(raw)
		if !ok {
			return unknownNode
		}
		found := false
		for _, item := range items {
			v, ok := asKind(item, element.value)
			if !ok {
				return unknownNode
			}
			found = found || v.Equal(element.value)
		}
		return ast.NodeValue{Value: types.Boolean(found)}
	}
	return n
}

// asKind reads s as a value of the type that like has.
func asKind(s types.String, like types.Value) (types.Value, bool) {
	switch like.(type) {
	case types.String:
		return s, storable(string(s))
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
