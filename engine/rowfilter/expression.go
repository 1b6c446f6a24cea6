package rowfilter

import (
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// sort says what an expression of a text stands for.
type sort int

const (
	sortBoolean sort = iota
	sortColumn
	sortAttribute
	sortLiteral
	sortSet
	sortPrincipal
	sortResource
)

// expr is a parsed expression with the place where it starts.
type expr struct {
	node ast.IsNode
	sort sort
	at   position
}

// condition reports whether e can stand where a truth value is needed.
func (e expr) condition() bool {
	if v, ok := e.node.(ast.NodeValue); ok {
		_, ok := v.Value.(types.Boolean)
		return ok
	}
	return e.sort == sortBoolean || e.sort == sortColumn
}

// boolean reads an expression that is true or false.
func (p *parser) boolean() (ast.IsNode, error) {
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if !e.condition() {
		return nil, e.at.errorf("expected a condition")
	}
	return e.node, nil
}

func (p *parser) or() (expr, error) {
	return p.chain("||", p.and, func(l, r ast.IsNode) ast.IsNode {
		return ast.NodeTypeOr{BinaryNode: ast.BinaryNode{Left: l, Right: r}}
	})
}

func (p *parser) and() (expr, error) {
	return p.chain("&&", p.relation, func(l, r ast.IsNode) ast.IsNode {
		return ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: l, Right: r}}
	})
}

// chain reads operands joined by one operator, grouped from the left.
func (p *parser) chain(op string, operand func() (expr, error), join func(l, r ast.IsNode) ast.IsNode) (expr, error) {
	left, err := operand()
	if err != nil {
		return expr{}, err
	}
	for p.accept(op) {
		if p.joins++; p.joins > maxTests {
			return expr{}, left.at.errorf("the policy has too many parts")
		}
		right, err := operand()
		if err != nil {
			return expr{}, err
		}
		for _, e := range []expr{left, right} {
			if !e.condition() {
				return expr{}, e.at.errorf("expected a condition beside " + op)
			}
		}
		left = expr{join(left.node, right.node), sortBoolean, left.at}
	}
	return left, nil
}

// enter counts a level of nesting; the caller calls leave when it succeeds.
func (p *parser) enter(at position) error {
	if p.nesting++; p.nesting > maxNesting {
		return at.errorf("is nested too deeply")
	}
	return nil
}

func (p *parser) leave() { p.nesting-- }

func (p *parser) test(at position) error {
	if p.tests++; p.tests > maxTests {
		return at.errorf("the policy has more than " + strconv.Itoa(maxTests) + " tests")
	}
	return nil
}

func (p *parser) relation() (expr, error) {
	left, err := p.unary()
	if err != nil {
		return expr{}, err
	}
	op := p.peek()
	switch {
	case op.kind == tokenIdent && op.text == "has":
		p.pos++
		return p.has(left)
	case op.kind == tokenIdent && op.text == "like":
		p.pos++
		return p.like(left)
	case op.kind == tokenIdent && op.text == "in":
		p.pos++
		if left.sort != sortPrincipal {
			return expr{}, op.at.errorf(`in is for principal in Role::"…"; for a list of values use [ … ].contains( … )`)
		}
		uid, err := p.entity(roleType)
		if err != nil {
			return expr{}, err
		}
		return expr{ast.NodeTypeIn{BinaryNode: binary(left.node, ast.NodeValue{Value: uid})}, sortBoolean, left.at}, p.test(op.at)
	case op.kind == tokenSymbol && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, op.text):
		p.pos++
		return p.comparison(left, op)
	}
	return left, nil
}

func binary(l, r ast.IsNode) ast.BinaryNode { return ast.BinaryNode{Left: l, Right: r} }

func (p *parser) comparison(left expr, op token) (expr, error) {
	if err := p.test(op.at); err != nil {
		return expr{}, err
	}
	if left.sort == sortPrincipal {
		if op.text != "==" && op.text != "!=" {
			return expr{}, op.at.errorf("principal has no order")
		}
		uid, err := p.entity(userType)
		if err != nil {
			return expr{}, err
		}
		return expr{compareNode(op.text, left.node, ast.NodeValue{Value: uid}), sortBoolean, left.at}, nil
	}
	right, err := p.unary()
	if err != nil {
		return expr{}, err
	}
	if err := checkSides(left, right, op.at); err != nil {
		return expr{}, err
	}
	return expr{compareNode(op.text, left.node, right.node), sortBoolean, left.at}, nil
}

// checkSides checks the two sides of a comparison: a column or an attribute
// with a literal, or a column with an attribute.
func checkSides(l, r expr, at position) error {
	for _, e := range []expr{l, r} {
		if e.sort != sortColumn && e.sort != sortAttribute && e.sort != sortLiteral {
			return e.at.errorf("expected resource.<column>, principal.<attribute> or a literal")
		}
	}
	if l.sort == r.sort {
		return at.errorf("a comparison needs a column and a value or attribute, or an attribute and a value")
	}
	return nil
}

func compareNode(op string, l, r ast.IsNode) ast.IsNode {
	b := binary(l, r)
	switch op {
	case "==":
		return ast.NodeTypeEquals{BinaryNode: b}
	case "!=":
		return ast.NodeTypeNotEquals{BinaryNode: b}
	case "<":
		return ast.NodeTypeLessThan{BinaryNode: b}
	case "<=":
		return ast.NodeTypeLessThanOrEqual{BinaryNode: b}
	case ">":
		return ast.NodeTypeGreaterThan{BinaryNode: b}
	}
	return ast.NodeTypeGreaterThanOrEqual{BinaryNode: b}
}

func (p *parser) has(left expr) (expr, error) {
	if left.sort != sortPrincipal && left.sort != sortResource {
		return expr{}, left.at.errorf("has is for principal and resource")
	}
	t := p.peek()
	if err := p.test(t.at); err != nil {
		return expr{}, err
	}
	name := t.text
	switch {
	case t.kind == tokenString:
		var err error
		if name, err = p.str(); err != nil {
			return expr{}, err
		}
	case t.kind == tokenIdent && isIdent(name):
		p.pos++
	default:
		return expr{}, t.at.errorf("expected a name after has")
	}
	if next := p.peek(); p.is(".") {
		return expr{}, next.at.errorf("columns and attributes have no members")
	}
	return expr{ast.NodeTypeHas{StrOpNode: ast.StrOpNode{Arg: left.node, Value: types.String(name)}}, sortBoolean, left.at}, nil
}

func (p *parser) like(left expr) (expr, error) {
	if left.sort != sortColumn && left.sort != sortAttribute {
		return expr{}, left.at.errorf("like is for resource.<column> and principal.<attribute>")
	}
	t := p.next()
	if t.kind != tokenString {
		return expr{}, t.at.errorf("expected a pattern in quotes")
	}
	pieces, _, err := unquote(t.text, true)
	if err != nil {
		return expr{}, t.at.errorf(err.Error())
	}
	if err := checkPattern(pieces); err != nil {
		return expr{}, t.at.errorf(err.Error())
	}
	return expr{ast.NodeTypeLike{Arg: left.node, Value: cedarPattern(pieces)}, sortBoolean, left.at}, p.test(t.at)
}

func (p *parser) unary() (expr, error) {
	t := p.peek()
	switch {
	case p.accept("!"):
		if err := p.enter(t.at); err != nil {
			return expr{}, err
		}
		e, err := p.unary()
		if err != nil {
			return expr{}, err
		}
		if !e.condition() {
			return expr{}, e.at.errorf("expected a condition after !")
		}
		p.leave()
		return expr{ast.NodeTypeNot{UnaryNode: ast.UnaryNode{Arg: e.node}}, sortBoolean, t.at}, nil
	case p.accept("-"):
		n := p.next()
		if n.kind != tokenInt {
			return expr{}, n.at.errorf("expected a number after -")
		}
		return integer("-"+n.text, t.at)
	}
	return p.member()
}

func integer(text string, at position) (expr, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return expr{}, at.errorf("is not an integer of 64 bits")
	}
	return expr{ast.NodeValue{Value: types.Long(n)}, sortLiteral, at}, nil
}
