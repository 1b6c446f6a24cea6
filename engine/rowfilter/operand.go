package rowfilter

import (
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// member reads an operand with what follows its dots.
func (p *parser) member() (expr, error) {
	e, err := p.primary()
	if err != nil {
		return expr{}, err
	}
	for {
		t := p.peek()
		switch {
		case p.accept("."):
			name := p.next()
			if name.kind != tokenIdent {
				return expr{}, name.at.errorf("expected a name")
			}
			if p.is("(") {
				if e, err = p.method(e, name); err != nil {
					return expr{}, err
				}
				continue
			}
			if !isIdent(name.text) {
				return expr{}, name.at.errorf(strconv.Quote(name.text) + ` is a word of the language: write ["` + name.text + `"]`)
			}
			if e, err = field(e, name.text, t.at); err != nil {
				return expr{}, err
			}
		case e.sort != sortBoolean && p.accept("["):
			name, err := p.str()
			if err != nil {
				return expr{}, err
			}
			if err := p.expect("]"); err != nil {
				return expr{}, err
			}
			if e, err = field(e, name, t.at); err != nil {
				return expr{}, err
			}
		default:
			return e, nil
		}
	}
}

// field is a column of the row or an attribute of the user.
func field(e expr, name string, at position) (expr, error) {
	node := ast.NodeTypeAccess{StrOpNode: ast.StrOpNode{Arg: e.node, Value: types.String(name)}}
	switch e.sort {
	case sortResource:
		return expr{node, sortColumn, e.at}, nil
	case sortPrincipal:
		return expr{node, sortAttribute, e.at}, nil
	}
	return expr{}, at.errorf("only principal and resource have members")
}

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch {
	case t.kind == tokenInt:
		return integer(t.text, t.at)
	case t.kind == tokenString:
		_, s, err := unquote(t.text, false)
		if err != nil {
			return expr{}, t.at.errorf(err.Error())
		}
		return expr{ast.NodeValue{Value: types.String(s)}, sortLiteral, t.at}, nil
	case t.kind == tokenSymbol && t.text == "(":
		if err := p.enter(t.at); err != nil {
			return expr{}, err
		}
		e, err := p.or()
		if err != nil {
			return expr{}, err
		}
		p.leave()
		return e, p.expect(")")
	case t.kind == tokenSymbol && t.text == "[":
		return p.set(t.at)
	case t.kind != tokenIdent:
		return expr{}, t.at.errorf("expected a condition or a value")
	}
	switch t.text {
	case "true", "false":
		return expr{ast.NodeValue{Value: types.Boolean(t.text == "true")}, sortLiteral, t.at}, nil
	case "principal":
		return expr{ast.NodeTypeVariable{Name: "principal"}, sortPrincipal, t.at}, nil
	case "resource":
		if p.marks.rowAt.line == 0 {
			p.marks.rowAt = t.at
		}
		return expr{ast.NodeTypeVariable{Name: "resource"}, sortResource, t.at}, nil
	case "decimal", "datetime":
		return p.function(t)
	case "if":
		return expr{}, t.at.errorf("if is not supported: use && and ||")
	}
	return expr{}, t.at.errorf(strconv.Quote(clip(t.text)) + " is not supported")
}

// set reads [literal, …].
func (p *parser) set(at position) (expr, error) {
	var items []ast.IsNode
	for !p.accept("]") {
		item, err := p.unary()
		if err != nil {
			return expr{}, err
		}
		if item.sort != sortLiteral {
			return expr{}, item.at.errorf("a list holds literals only")
		}
		if items = append(items, item.node); len(items) > MaxListValues {
			return expr{}, item.at.errorf("the list has more than " + strconv.Itoa(MaxListValues) + " values")
		}
		if !p.is("]") {
			if err := p.expect(","); err != nil {
				return expr{}, err
			}
		}
	}
	return expr{ast.NodeTypeSet{Elements: items}, sortSet, at}, nil
}

// function reads decimal("1.5") or datetime("2024-01-31").
func (p *parser) function(name token) (expr, error) {
	if err := p.expect("("); err != nil {
		return expr{}, err
	}
	at := p.peek().at
	s, err := p.str()
	if err != nil {
		return expr{}, err
	}
	if name.text == "decimal" {
		_, err = types.ParseDecimal(s)
	} else {
		_, err = types.ParseDatetime(s)
	}
	if err != nil {
		return expr{}, at.errorf("is not a " + name.text)
	}
	node := ast.NodeTypeExtensionCall{Name: types.Path(name.text), Args: []ast.IsNode{ast.NodeValue{Value: types.String(s)}}}
	return expr{node, sortLiteral, name.at}, p.expect(")")
}

// decimalMethods are Cedar's order of decimals.
var decimalMethods = map[string]Op{
	"lessThan": OpLt, "lessThanOrEqual": OpLte, "greaterThan": OpGt, "greaterThanOrEqual": OpGte,
}

func (p *parser) method(e expr, name token) (expr, error) {
	_, ordered := decimalMethods[name.text]
	if !ordered && name.text != "contains" {
		return expr{}, name.at.errorf(strconv.Quote(clip(name.text)) + " is not a method that is supported")
	}
	if err := p.test(name.at); err != nil {
		return expr{}, err
	}
	if err := p.expect("("); err != nil {
		return expr{}, err
	}
	arg, err := p.unary()
	if err != nil {
		return expr{}, err
	}
	if err := p.expect(")"); err != nil {
		return expr{}, err
	}
	if ordered {
		if err := checkSides(e, arg, name.at); err != nil {
			return expr{}, err
		}
		return expr{ast.NodeTypeExtensionCall{Name: types.Path(name.text), Args: []ast.IsNode{e.node, arg.node}}, sortBoolean, e.at}, nil
	}
	switch {
	case e.sort == sortSet && (arg.sort == sortColumn || arg.sort == sortAttribute):
	case e.sort == sortAttribute && (arg.sort == sortColumn || arg.sort == sortLiteral):
	default:
		return expr{}, name.at.errorf("contains is for [ … ].contains(resource.<column> or principal.<attribute>) and principal.<attribute>.contains(resource.<column> or a literal)")
	}
	return expr{ast.NodeTypeContains{BinaryNode: binary(e.node, arg.node)}, sortBoolean, e.at}, nil
}
