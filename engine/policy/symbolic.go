package policy

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// symbolicTerms keeps users and columns as names. It tells whether two policies
// mean the same for every user and every row.
type symbolicTerms struct{}

var _ terms = symbolicTerms{}

func columnKey(name string) string { return "resource" + access(foldASCII(name)) }

func attributeKey(name string) string { return "principal" + access(name) }

// keys returns the names that must be present for an operand to have a value.
func (o operand) keys() []string {
	switch {
	case o.column != "":
		return []string{columnKey(o.column)}
	case o.attribute != "":
		return []string{attributeKey(o.attribute)}
	}
	return nil
}

func (o operand) String() string {
	if k := o.keys(); k != nil {
		return k[0]
	}
	set, ok := o.value.(types.Set)
	if !ok {
		return string(o.value.MarshalCedar())
	}
	var items []string
	for item := range set.All() {
		items = append(items, string(item.MarshalCedar()))
	}
	slices.Sort(items)
	return "[" + strings.Join(items, ", ") + "]"
}

// symbol is a test that fails without its keys.
func symbol(yes, no string, operands ...operand) truth {
	var keys []string
	errs := map[string]bool{}
	for _, o := range operands {
		for _, k := range o.keys() {
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

func (symbolicTerms) compare(op Op, l, r operand) truth {
	if l.value != nil {
		return failure
	}
	sql := func(op Op) string { return l.String() + sqlOperators[op] + r.String() }
	return symbol(sql(op), sql(opposite[op]), l, r)
}

func (symbolicTerms) match(l operand, pieces []piece) truth {
	if l.value != nil {
		return failure
	}
	test := l.String() + " LIKE " + string(cedarPattern(pieces).MarshalCedar())
	return symbol(test, "NOT "+test, l)
}

func (symbolicTerms) member(list, element operand) truth {
	in := func(word string) string { return element.String() + word + list.String() }
	return symbol(in(" IN "), in(" NOT IN "), element, list)
}

func (symbolicTerms) user(n ast.IsNode) truth {
	text, not := "", false
	switch n := n.(type) {
	case ast.NodeTypeIn:
		o, ok := asOperand(n.Right)
		if !ok {
			return failure
		}
		text = "principal IN " + o.String()
	case ast.NodeTypeEquals:
		o, ok := asOperand(n.Right)
		if !ok {
			return failure
		}
		text = "principal = " + o.String()
	case ast.NodeTypeNotEquals:
		o, ok := asOperand(n.Right)
		if !ok {
			return failure
		}
		text, not = "principal = "+o.String(), true
	default:
		return failure
	}
	out := truth{yes: testOf(text), no: testOf("NOT " + text)}
	if not {
		return out.not()
	}
	return out
}

// limit lets every rendered policy pass. Alternating && and || of tests without
// guards can double with every step, which is what it stops, early enough that
// the SQL of a policy that passed stays below maxPredicate.
func (symbolicTerms) limit() int { return 3 * MaxTextBytes }

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
