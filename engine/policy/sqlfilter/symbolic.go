package sqlfilter

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine/policy"
)

// symbolicTerms leaves users and columns symbolic. It is used to decide whether two policies mean
// the same for every user and every row.
type symbolicTerms struct{}

var _ terms = symbolicTerms{}

func columnKey(name string) string { return "resource" + policy.MemberText(policy.FoldName(name)) }

func attributeKey(name string) string { return "principal" + policy.MemberText(name) }

// keysOf returns the names that must be present for an operand to have a value.
func keysOf(o policy.Operand) []string {
	switch {
	case o.Column != "":
		return []string{columnKey(o.Column)}
	case o.Attribute != "":
		return []string{attributeKey(o.Attribute)}
	}
	return nil
}

// textOf returns a text that identifies an operand.
func textOf(o policy.Operand) string {
	if k := keysOf(o); k != nil {
		return k[0]
	}
	set, ok := o.Value.(types.Set)
	if !ok {
		return string(o.Value.MarshalCedar())
	}
	var items []string
	for item := range set.All() {
		items = append(items, string(item.MarshalCedar()))
	}
	slices.Sort(items)
	return "[" + strings.Join(items, ", ") + "]"
}

// symbol returns a test that fails without its keys.
func symbol(yes, no string, operands ...policy.Operand) truth {
	var keys []string
	errs := map[string]bool{}
	for _, o := range operands {
		for _, k := range keysOf(o) {
			keys = append(keys, k)
			errs[k] = true
		}
	}
	return truth{yes: testOf(yes, keys...), no: testOf(no, keys...), errs: errs}
}

func (symbolicTerms) has(principal bool, name string) truth {
	key := columnKey(name)
	if principal {
		key = attributeKey(name)
	}
	return truth{yes: notNull(key, key), no: isNull(key, key)}
}

func (symbolicTerms) compare(op policy.Op, l, r policy.Operand) truth {
	if l.Value != nil {
		return failure
	}
	sql := func(op policy.Op) string { return textOf(l) + sqlOperators[op] + textOf(r) }
	return symbol(sql(op), sql(op.Opposite()), l, r)
}

func (symbolicTerms) match(l policy.Operand, pieces []policy.Piece) truth {
	if l.Value != nil {
		return failure
	}
	test := textOf(l) + " LIKE " + string(policy.CedarPattern(pieces).MarshalCedar())
	return symbol(test, "NOT "+test, l)
}

func (symbolicTerms) member(list, element policy.Operand) truth {
	in := func(word string) string { return textOf(element) + word + textOf(list) }
	return symbol(in(" IN "), in(" NOT IN "), element, list)
}

func (symbolicTerms) user(n ast.IsNode) truth {
	text, not := "", false
	switch n := n.(type) {
	case ast.NodeTypeIn:
		o, ok := policy.ReadOperand(n.Right)
		if !ok {
			return failure
		}
		text = "principal IN " + textOf(o)
	case ast.NodeTypeEquals:
		o, ok := policy.ReadOperand(n.Right)
		if !ok {
			return failure
		}
		text = "principal = " + textOf(o)
	case ast.NodeTypeNotEquals:
		o, ok := policy.ReadOperand(n.Right)
		if !ok {
			return failure
		}
		text, not = "principal = "+textOf(o), true
	default:
		return failure
	}
	out := truth{yes: testOf(text), no: testOf("NOT " + text)}
	if not {
		return out.not()
	}
	return out
}

// limit admits every rendered policy. It stops alternating && and || of tests without
// guards, which can double with every step, early enough that the SQL of an admitted
// policy stays below maxPredicate.
func (symbolicTerms) limit() int { return 3 * policy.MaxTextBytes }

// symbolicTruth returns the meaning of a policy's conditions for every user if the
// table has every column, and strict, the meaning that follows Cedar's errors, as for
// tables that lack some. For a permit both are the same.
func symbolicTruth(p *ast.Policy) (meaning, strict truth, err error) {
	if strict, err = conditionTruth(p, walker{terms: symbolicTerms{}}); err != nil || p.Effect == ast.EffectPermit {
		return strict, strict, err
	}
	meaning, err = bodyTruth(p, symbolicTerms{})
	return meaning, strict, err
}

// Check reports whether the conditions of a policy stay small enough to be compiled for
// every user. Errors are of type [*policy.TextError].
func Check(p policy.Parsed) error {
	if _, _, err := symbolicTruth(p.Tree); err != nil {
		return &policy.TextError{Line: 1, Column: 1, Message: err.Error()}
	}
	return nil
}
