package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
)

// Derive returns a definition of a kind with the same meaning as the text for
// every user and row, if there is one. Columns are those of the policy's table,
// nil for a policy of all tables; with them, the definition's literals are
// written as their columns need them. The definition of a row policy names its
// columns itself, so it holds with any columnName; that of another kind holds
// with the one that the text [Parsed.Suits].
func Derive(p Parsed, kind Kind, columns []engine.Column) (Definition, bool) {
	column, _ := columnScope(p.policy)
	if p.Suits(kind, column, columns) != nil {
		return Definition{}, false
	}
	d, ok := guess(p.policy)
	if !ok {
		return Definition{}, false
	}
	if mask := p.mask(); kind == KindMask && mask != MaskNull {
		d.Mask = &mask
	}
	// The guess reads guards generously. It stands only if its own text has
	// the meaning of the text it came from.
	text, err := Render(d, column, kind, columns)
	if err != nil {
		return Definition{}, false
	}
	again, err := Parse(text)
	if err != nil || !sameMeaning(p.policy, again.policy) {
		return Definition{}, false
	}
	return d, true
}

// sameMeaning compares what two policies decide: where a permit is true, where
// a forbid is false.
func sameMeaning(a, b *ast.Policy) bool {
	if a.Effect != b.Effect || a.Principal != b.Principal {
		return false
	}
	ta, strictA, err := symbolicTruth(a)
	tb, strictB, err2 := symbolicTruth(b)
	if err != nil || err2 != nil {
		return false
	}
	if a.Effect == ast.EffectPermit {
		return ta.yes.sql == tb.yes.sql
	}
	return ta.no.sql == tb.no.sql && strictA.no.sql == strictB.no.sql
}

// guess reads a policy as a definition and leaves out guards.
func guess(p *ast.Policy) (Definition, bool) {
	d := Definition{Effect: Forbid}
	if p.Effect == ast.EffectPermit {
		d.Effect = Permit
	}
	switch s := p.Principal.(type) {
	case ast.ScopeTypeAll:
	case ast.ScopeTypeIn:
		role := string(s.Entity.ID)
		d.Subject.Role = &role
	default:
		return d, false
	}
	var parts []part
	for _, c := range p.Conditions {
		got, ok := readPart(c.Body, c.Condition != ast.ConditionWhen)
		if !ok {
			return d, false
		}
		parts = append(parts, got.conjuncts()...)
	}
	parts = withoutGuards(parts)
	var rows []Condition
	for _, part := range parts {
		if part.subject == nil {
			rows = append(rows, part.condition())
			continue
		}
		if d.Subject.Role != nil || d.Subject.Attribute != nil {
			return d, false
		}
		d.Subject = *part.subject
	}
	if d.Subject.Role == nil && d.Subject.Attribute == nil {
		everyone := true
		d.Subject.Everyone = &everyone
	}
	switch len(rows) {
	case 0:
	case 1:
		d.Condition = &rows[0]
	default:
		d.Condition = &Condition{And: rows}
	}
	for _, part := range parts {
		if part.nestedSubject() {
			return d, false
		}
	}
	return d, true
}

// part is a piece of a condition with negations pushed to its tests: one test,
// or several joined by and or or.
type part struct {
	test    *Condition
	subject *Subject
	all     bool
	kids    []part
}

func (p part) conjuncts() []part {
	if p.all && p.test == nil && p.subject == nil {
		return p.kids
	}
	return []part{p}
}

func (p part) nestedSubject() bool {
	for _, k := range p.kids {
		if k.subject != nil || k.nestedSubject() {
			return true
		}
	}
	return false
}

func (p part) condition() Condition {
	switch {
	case p.test != nil && p.test.Not != nil:
		return Condition{Not: p.test.Not}
	case p.test != nil:
		return *p.test
	}
	list := make([]Condition, len(p.kids))
	for i, k := range p.kids {
		list[i] = k.condition()
	}
	if p.all {
		return Condition{And: list}
	}
	return Condition{Or: list}
}

// operands returns what the tests of p look at.
func (p part) operands(out map[string]bool) {
	for _, k := range p.kids {
		k.operands(out)
	}
	if p.test != nil && p.test.Op.needsOperand() {
		out[columnKey(*p.test.Column)] = true
		if p.test.Attribute != nil {
			out[attributeKey(*p.test.Attribute)] = true
		}
	}
	if p.subject != nil && p.subject.Op.needsOperand() {
		out[attributeKey(*p.subject.Attribute)] = true
	}
}

// withoutGuards drops presence tests of what the neighbours test anyway.
func withoutGuards(parts []part) []part {
	tested := map[string]bool{}
	for _, p := range parts {
		p.operands(tested)
	}
	var out []part
	for _, p := range parts {
		guard := p.test != nil && !p.test.Op.needsOperand() && tested[columnKey(*p.test.Column)] ||
			p.subject != nil && !p.subject.Op.needsOperand() && tested[attributeKey(*p.subject.Attribute)]
		if !guard {
			out = append(out, p)
		}
	}
	return out
}

func readPart(n ast.IsNode, not bool) (part, bool) {
	switch n := n.(type) {
	case ast.NodeTypeNot:
		return readPart(n.Arg, !not)
	case ast.NodeTypeAnd:
		return readJoin(n.BinaryNode, not, true)
	case ast.NodeTypeOr:
		return readJoin(n.BinaryNode, not, false)
	case ast.NodeTypeHas:
		v, ok := n.Arg.(ast.NodeTypeVariable)
		op := OpIsNotNull
		if not {
			op = OpIsNull
		}
		l := operand{column: string(n.Value)}
		if ok && v.Name == "principal" {
			l = operand{attribute: string(n.Value)}
		}
		return newTest(l, op, nil), ok
	case ast.NodeTypeAccess:
		l, ok := asOperand(n)
		return newTest(l, OpEq, !not), ok && l.column != ""
	case ast.NodeTypeLike:
		l, ok := asOperand(n.Arg)
		pieces, ok2 := patternPieces(n.Value)
		pattern := likeText(pieces)
		if not && l.column != "" {
			// The condition keeps its column while guards are looked for.
			inner := newTest(l, OpLike, pattern)
			return part{test: &Condition{Not: inner.test, Column: &l.column}}, ok && ok2
		}
		return newTest(l, OpLike, pattern), ok && ok2 && !not
	case ast.NodeTypeContains:
		op := OpIn
		if not {
			op = OpNotIn
		}
		list, ok := asOperand(n.Left)
		element, ok2 := asOperand(n.Right)
		return readTest(element, op, list, ok && ok2 && element.value == nil)
	}
	op, b, ok := comparison(n)
	if call, isCall := n.(ast.NodeTypeExtensionCall); isCall && len(call.Args) == 2 {
		op, ok = decimalMethods[string(call.Name)]
		b = binary(call.Args[0], call.Args[1])
	}
	if !ok {
		return part{}, false
	}
	if not {
		op = opposite[op]
	}
	l, ok := asOperand(b.Left)
	r, ok2 := asOperand(b.Right)
	if l.value != nil || l.attribute != "" && r.column != "" {
		l, r, op = r, l, mirrored[op]
	}
	return readTest(l, op, r, ok && ok2)
}

func readJoin(b ast.BinaryNode, not, all bool) (part, bool) {
	l, ok := readPart(b.Left, not)
	r, ok2 := readPart(b.Right, not)
	if !ok || !ok2 {
		return part{}, false
	}
	out := part{all: all != not}
	for _, p := range []part{l, r} {
		if p.test == nil && p.subject == nil && p.all == out.all {
			out.kids = append(out.kids, p.kids...)
		} else {
			out.kids = append(out.kids, p)
		}
	}
	out.kids = withoutGuards(out.kids)
	if len(out.kids) == 1 {
		return out.kids[0], true
	}
	return out, true
}

// readTest reads a test of l against r.
func readTest(l operand, op Op, r operand, ok bool) (part, bool) {
	if !ok {
		return part{}, false
	}
	if r.value == nil {
		p := newTest(l, op, nil)
		if p.test == nil || r.attribute == "" {
			return part{}, false
		}
		p.test.Attribute = &r.attribute
		return p, true
	}
	value, ok := toJSON(r.value)
	return newTest(l, op, value), ok
}

// newTest is a test of a column, or of an attribute: a subject.
func newTest(l operand, op Op, value any) part {
	if l.attribute != "" {
		return part{subject: &Subject{Attribute: &l.attribute, Op: &op, Value: value}}
	}
	return part{test: &Condition{Column: &l.column, Op: op, Value: value}}
}

// toJSON turns a Cedar value into a value of a definition.
func toJSON(v types.Value) (any, bool) {
	switch v := v.(type) {
	case types.Boolean:
		return bool(v), true
	case types.String:
		return string(v), true
	case types.Long:
		return json.Number(v.String()), true
	case types.Decimal:
		return json.Number(strings.TrimSuffix(v.String(), ".0")), true
	case types.Datetime:
		if v.Milliseconds()%millisPerDay == 0 {
			return v.Time().UTC().Format("2006-01-02"), true
		}
		return v.String(), true
	case types.Set:
		items := v.Slice()
		slices.SortFunc(items, func(a, b types.Value) int { return bytes.Compare(a.MarshalCedar(), b.MarshalCedar()) })
		out := []any{}
		for _, item := range items {
			item, ok := toJSON(item)
			if !ok {
				return nil, false
			}
			out = append(out, item)
		}
		return out, true
	}
	return nil, false
}
