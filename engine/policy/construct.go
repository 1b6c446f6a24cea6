package policy

import (
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// place returns the position of the first construct of n's kind in the conditions.
// Cedar's tree has no positions, so the result is not always the position of n itself.
// For a construct without tokens of its own it is the beginning of the text.
func (s source) place(n ast.IsNode) position {
	_, run := construct(n)
	if len(run) == 0 {
		return position{1, 1}
	}
	return s.condition(run...)
}

// describe returns the name of a construct for error messages.
func describe(n ast.IsNode) string {
	name, _ := construct(n)
	return name
}

// construct returns the name of a node for error messages, and the run of tokens by which
// the text is searched for it.
func construct(n ast.IsNode) (name string, run []string) {
	switch n := n.(type) {
	case ast.NodeTypeVariable:
		return word(string(n.Name))
	case ast.NodeTypeIfThenElse:
		return word("if")
	case ast.NodeTypeNot:
		return word("!")
	case ast.NodeTypeAnd:
		return word("&&")
	case ast.NodeTypeOr:
		return word("||")
	case ast.NodeTypeEquals:
		return word("==")
	case ast.NodeTypeNotEquals:
		return word("!=")
	case ast.NodeTypeLessThan:
		return word("<")
	case ast.NodeTypeLessThanOrEqual:
		return word("<=")
	case ast.NodeTypeGreaterThan:
		return word(">")
	case ast.NodeTypeGreaterThanOrEqual:
		return word(">=")
	case ast.NodeTypeHas:
		return word("has")
	case ast.NodeTypeLike:
		return word("like")
	case ast.NodeTypeIn:
		return word("in")
	case ast.NodeTypeIs, ast.NodeTypeIsIn:
		return word("is")
	case ast.NodeTypeAdd:
		return word("+")
	case ast.NodeTypeSub, ast.NodeTypeNegate:
		return word("-")
	case ast.NodeTypeMult:
		return word("*")
	case ast.NodeTypeContains:
		return method("contains")
	case ast.NodeTypeContainsAll:
		return method("containsAll")
	case ast.NodeTypeContainsAny:
		return method("containsAny")
	case ast.NodeTypeIsEmpty:
		return method("isEmpty")
	case ast.NodeTypeHasTag:
		return method("hasTag")
	case ast.NodeTypeGetTag:
		return method("getTag")
	case ast.NodeTypeExtensionCall:
		switch name := string(n.Name); name {
		case "ip", "decimal", "datetime", "duration":
			return name + "()", []string{name, "("}
		default:
			return method(name)
		}
	case ast.NodeTypeAccess:
		of := describe(n.Arg)
		if v, ok := n.Arg.(ast.NodeTypeVariable); ok {
			of, run = string(v.Name), []string{string(v.Name)}
		}
		if isIdent(string(n.Value)) {
			return of + clip(MemberText(string(n.Value))), append(run, ".", string(n.Value))
		}
		return of + clip(MemberText(string(n.Value))), append(run, "[", string(n.Value.MarshalCedar()))
	case ast.NodeTypeSet:
		return "a list", []string{"["}
	case ast.NodeTypeRecord:
		return "a record", nil
	case ast.NodeValue:
		return literal(n.Value)
	}
	return "this expression", nil
}

func word(text string) (string, []string) { return strconv.Quote(text), []string{text} }

func method(name string) (string, []string) {
	return "." + name + "()", []string{".", name, "("}
}

func literal(v types.Value) (string, []string) {
	text := string(v.MarshalCedar())
	name := "the value " + clip(text)
	switch v := v.(type) {
	case types.EntityUID:
		return "the entity " + clip(text), []string{string(v.Type), "::"}
	case types.Long:
		if v < 0 {
			return name, []string{"-", text[1:]}
		}
	}
	return name, []string{text}
}
