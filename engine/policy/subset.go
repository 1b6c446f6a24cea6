package policy

import (
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// subset checks that a policy is in the subset of Cedar that can be compiled.
type subset struct {
	source
	tests, joins int
}

// sort is the kind of thing that an expression denotes.
type sort int

const (
	sortCondition sort = iota
	sortColumn
	sortAttribute
	sortLiteral
	sortBoolean // a literal that is a condition too
	sortSet
	sortPrincipal
	sortResource
)

func (s sort) literal() bool { return s == sortLiteral || s == sortBoolean }

// condition reports whether an expression of the sort may be a condition.
func (s sort) condition() bool { return s == sortCondition || s == sortColumn || s == sortBoolean }

const errNoName = "the name of a column or attribute must not be empty"

func (s *subset) policy(p *ast.Policy) error {
	for _, a := range p.Annotations {
		if a.Key == maskAnnotation && !validMask(string(a.Value)) {
			return s.mask().errorf("the masks are null, hash, last4 and year")
		}
	}
	if err := s.scopes(p); err != nil {
		return err
	}
	for _, c := range p.Conditions {
		if err := s.conditions(c.Body); err != nil {
			return err
		}
	}
	return nil
}

func (s *subset) scopes(p *ast.Policy) error {
	switch scope := p.Principal.(type) {
	case ast.ScopeTypeAll:
	case ast.ScopeTypeEq:
		if scope.Entity.Type != UserType {
			return s.principal().errorf(`principal == needs User::"…"`)
		}
	case ast.ScopeTypeIn:
		if scope.Entity.Type != roleType {
			return s.principal().errorf(`principal in needs Role::"…"`)
		}
	case ast.ScopeTypeIs:
		if scope.Type != UserType {
			return s.principal().errorf("principal is needs User")
		}
	case ast.ScopeTypeIsIn:
		if scope.Type != UserType || scope.Entity.Type != roleType {
			return s.principal().errorf(`principal is … in needs User and Role::"…"`)
		}
	default:
		return s.principal().errorf("this scope of principal is not supported")
	}
	switch scope := p.Action.(type) {
	case ast.ScopeTypeAll:
	case ast.ScopeTypeEq:
		if scope.Entity != ReadUID && scope.Entity != unmaskUID {
			return s.action().errorf(`the actions are Action::"read" and Action::"unmask"`)
		}
	default:
		return s.action().errorf(`the scope of action is action or action == Action::"…"`)
	}
	switch scope := p.Resource.(type) {
	case ast.ScopeTypeAll:
	case ast.ScopeTypeEq:
		if scope.Entity.Type != columnEnt {
			return s.resource().errorf(`resource == needs Column::"…"`)
		}
	case ast.ScopeTypeIs:
		if scope.Type != rowType {
			return s.resource().errorf("resource is needs Row")
		}
	default:
		return s.resource().errorf(`the scope of resource is resource, resource is Row or resource == Column::"…"`)
	}
	return nil
}

// conditions checks expressions that must be conditions.
func (s *subset) conditions(nodes ...ast.IsNode) error {
	for _, n := range nodes {
		sort, err := s.expression(n)
		if err != nil {
			return err
		}
		if !sort.condition() {
			return s.place(n).errorf("expected a condition, found " + describe(n))
		}
	}
	return nil
}

// expression checks an expression and returns its sort.
func (s *subset) expression(n ast.IsNode) (sort, error) {
	switch n := n.(type) {
	case ast.NodeTypeNot:
		return sortCondition, s.conditions(n.Arg)
	case ast.NodeTypeAnd:
		return sortCondition, s.join(n.BinaryNode)
	case ast.NodeTypeOr:
		return sortCondition, s.join(n.BinaryNode)
	case ast.NodeTypeHas:
		if v, ok := n.Arg.(ast.NodeTypeVariable); !ok || v.Name != "principal" && v.Name != "resource" {
			return 0, s.place(n).errorf("has can only be applied to principal and resource")
		}
		if n.Value == "" {
			return 0, s.place(n).errorf(errNoName)
		}
		return sortCondition, s.test(n)
	case ast.NodeTypeLike:
		return sortCondition, s.like(n)
	case ast.NodeTypeContains:
		return sortCondition, s.contains(n)
	case ast.NodeTypeIn:
		if uid, ok := entity(n.Right); !isPrincipal(n.Left) || !ok || uid.Type != roleType {
			return 0, s.place(n).errorf(`in is for principal in Role::"…"; for a list of values use [ … ].contains( … )`)
		}
		return sortCondition, s.test(n)
	case ast.NodeTypeExtensionCall:
		return s.call(n)
	}
	if _, sides, ok := ReadComparison(n); ok {
		return sortCondition, s.comparison(n, sides)
	}
	return s.operand(n)
}

func (s *subset) join(sides ast.BinaryNode) error {
	if s.joins++; s.joins > maxTests {
		return position{1, 1}.errorf("the policy has too many parts")
	}
	return s.conditions(sides.Left, sides.Right)
}

// test counts a test and refuses one too many.
func (s *subset) test(n ast.IsNode) error {
	if s.tests++; s.tests > maxTests {
		return s.place(n).errorf("the policy has more than " + strconv.Itoa(maxTests) + " tests")
	}
	return nil
}

func (s *subset) comparison(n ast.IsNode, sides ast.BinaryNode) error {
	if err := s.test(n); err != nil {
		return err
	}
	if isPrincipal(sides.Left) {
		switch n.(type) {
		case ast.NodeTypeEquals, ast.NodeTypeNotEquals:
		default:
			return s.place(n).errorf("principal has no order")
		}
		if uid, ok := entity(sides.Right); !ok || uid.Type != UserType {
			return s.place(n).errorf(`principal is compared with User::"…"`)
		}
		return nil
	}
	return s.sides(n, sides)
}

// sides checks a comparison of a column or an attribute with a literal, or of a column
// with an attribute.
func (s *subset) sides(n ast.IsNode, sides ast.BinaryNode) error {
	var literals, columns, attributes int
	for _, side := range []ast.IsNode{sides.Left, sides.Right} {
		switch sort, err := s.expression(side); {
		case err != nil:
			return err
		case sort.literal():
			literals++
		case sort == sortColumn:
			columns++
		case sort == sortAttribute:
			attributes++
		default:
			return s.place(side).errorf("expected resource.<column>, principal.<attribute> or a literal, found " + describe(side))
		}
	}
	if max(literals, columns, attributes) > 1 {
		return s.place(n).errorf("a comparison needs a column and a value or attribute, or an attribute and a value")
	}
	return nil
}

func (s *subset) like(n ast.NodeTypeLike) error {
	sort, err := s.expression(n.Arg)
	if err != nil {
		return err
	}
	if sort != sortColumn && sort != sortAttribute {
		return s.place(n).errorf("like is for resource.<column> and principal.<attribute>")
	}
	pieces, ok := PatternPieces(n.Value)
	if !ok {
		return s.place(n).errorf("the pattern is not supported")
	}
	if err := checkPattern(pieces); err != nil {
		return s.place(n).errorf(err.Error())
	}
	return s.test(n)
}

func (s *subset) contains(n ast.NodeTypeContains) error {
	list, err := s.expression(n.Left)
	if err != nil {
		return err
	}
	element, err := s.expression(n.Right)
	if err != nil {
		return err
	}
	switch {
	case list == sortSet && (element == sortColumn || element == sortAttribute):
	case list == sortAttribute && (element == sortColumn || element.literal()):
	default:
		return s.place(n).errorf("contains is for [ … ].contains(resource.<column> or principal.<attribute>) and " +
			"principal.<attribute>.contains(resource.<column> or a literal)")
	}
	return s.test(n)
}

// call checks decimal("1.5"), datetime("2024-01-31") and the methods that compare
// decimals.
func (s *subset) call(n ast.NodeTypeExtensionCall) (sort, error) {
	if _, ok := decimalMethods[string(n.Name)]; ok {
		if len(n.Args) != 2 {
			return 0, s.place(n).errorf(string(n.Name) + " needs one argument")
		}
		if err := s.sides(n, ast.BinaryNode{Left: n.Args[0], Right: n.Args[1]}); err != nil {
			return 0, err
		}
		return sortCondition, s.test(n)
	}
	if n.Name != "decimal" && n.Name != "datetime" {
		return 0, s.place(n).errorf(describe(n) + " is not supported")
	}
	if _, ok := asConstant(n); !ok {
		return 0, s.place(n).errorf("is not a " + string(n.Name))
	}
	if v, ok := n.Args[0].(ast.NodeValue); !ok || !isString(v.Value) {
		return 0, s.place(n).errorf(string(n.Name) + " needs a literal in quotes")
	}
	return sortLiteral, nil
}

// operand checks one side of a test.
func (s *subset) operand(n ast.IsNode) (sort, error) {
	switch n := n.(type) {
	case ast.NodeTypeVariable:
		switch n.Name {
		case "principal":
			return sortPrincipal, nil
		case "resource":
			return sortResource, nil
		}
	case ast.NodeTypeAccess:
		if n.Value == "" {
			return 0, s.place(n).errorf(errNoName)
		}
		if v, ok := n.Arg.(ast.NodeTypeVariable); ok && v.Name == "resource" {
			return sortColumn, nil
		} else if ok && v.Name == "principal" {
			return sortAttribute, nil
		}
		if _, err := s.expression(n.Arg); err != nil {
			return 0, err
		}
		return 0, s.place(n).errorf("only principal and resource have members")
	case ast.NodeValue:
		switch n.Value.(type) {
		case types.Boolean:
			return sortBoolean, nil
		case types.Long, types.String:
			return sortLiteral, nil
		}
	case ast.NodeTypeSet:
		for i, item := range n.Elements {
			sort, err := s.expression(item)
			switch {
			case err != nil:
				return 0, err
			case !sort.literal():
				return 0, s.place(item).errorf("a list holds literals only")
			case i >= MaxListValues:
				return 0, s.condition("[").errorf("the list has more than " + strconv.Itoa(MaxListValues) + " values")
			}
		}
		return sortSet, nil
	}
	return 0, s.place(n).errorf(describe(n) + " is not supported")
}

func isPrincipal(n ast.IsNode) bool {
	v, ok := n.(ast.NodeTypeVariable)
	return ok && v.Name == "principal"
}

func isString(v types.Value) bool {
	_, ok := v.(types.String)
	return ok
}

// entity returns the entity that a node names.
func entity(n ast.IsNode) (types.EntityUID, bool) {
	v, ok := n.(ast.NodeValue)
	if !ok {
		return types.EntityUID{}, false
	}
	uid, ok := v.Value.(types.EntityUID)
	return uid, ok
}
