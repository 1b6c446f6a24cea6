package sqlfilter

import (
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// Derive returns a definition of a kind with the same meaning as the text for every
// user and row, if there is one. columns are those of the policy's table, and nil for a
// policy of all tables; with them, literals of the definition have the columns' types.
// The definition of a row policy names its columns itself, so it is valid with any
// columnName. One of another kind is valid with the column that the text's scope names.
func Derive(p policy.Parsed, kind policy.Kind, columns []engine.Column) (policy.Definition, bool) {
	column, _ := policy.ColumnScope(p.Tree)
	if p.Suits(kind, column, columns) != nil || p.CheckTypes(columns) != nil || columns == nil && p.DependsOnReading() {
		return policy.Definition{}, false
	}
	d, ok := guess(p.Tree)
	if !ok {
		return policy.Definition{}, false
	}
	if mask := p.Mask(); kind == policy.KindMask && mask != policy.MaskNull {
		d.Mask = &mask
	}
	// The guess omits guards. It is right only if its own text has the same meaning.
	text, err := policy.Render(d, column, kind, columns)
	if err != nil {
		return policy.Definition{}, false
	}
	again, err := policy.Parse(text)
	if err != nil || !sameMeaning(p.Tree, again.Tree) {
		return policy.Definition{}, false
	}
	return d, true
}

// sameMeaning reports whether two policies decide alike: where a permit is true, where a forbid is
// false.
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

// guess converts a policy to a definition, without its guards.
func guess(p *ast.Policy) (policy.Definition, bool) {
	d := policy.Definition{Effect: policy.Forbid}
	if p.Effect == ast.EffectPermit {
		d.Effect = policy.Permit
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
	var rows []policy.Condition
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
		d.Condition = &policy.Condition{And: rows}
	}
	for _, part := range parts {
		if part.nestedSubject() {
			return d, false
		}
	}
	return d, true
}

// part is a piece of a condition with negations pushed to its tests: one test, or
// several parts joined by and (all) or or.
type part struct {
	test    *policy.Condition
	subject *policy.Subject
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

func (p part) condition() policy.Condition {
	switch {
	case p.test != nil && p.test.Not != nil:
		return policy.Condition{Not: p.test.Not}
	case p.test != nil:
		return *p.test
	}
	list := make([]policy.Condition, len(p.kids))
	for i, k := range p.kids {
		list[i] = k.condition()
	}
	if p.all {
		return policy.Condition{And: list}
	}
	return policy.Condition{Or: list}
}

// operands adds the keys of the operands of p's tests to out.
func (p part) operands(out map[string]bool) {
	for _, k := range p.kids {
		k.operands(out)
	}
	if p.test != nil && p.test.Op.NeedsOperand() {
		out[columnKey(*p.test.Column)] = true
		if p.test.Attribute != nil {
			out[attributeKey(*p.test.Attribute)] = true
		}
	}
	if p.subject != nil && p.subject.Op.NeedsOperand() {
		out[attributeKey(*p.subject.Attribute)] = true
	}
}

// withoutGuards removes presence tests of operands that other parts test anyway.
func withoutGuards(parts []part) []part {
	tested := map[string]bool{}
	for _, p := range parts {
		p.operands(tested)
	}
	var out []part
	for _, p := range parts {
		guard := p.test != nil && !p.test.Op.NeedsOperand() && tested[columnKey(*p.test.Column)] ||
			p.subject != nil && !p.subject.Op.NeedsOperand() && tested[attributeKey(*p.subject.Attribute)]
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
		op := policy.OpIsNotNull
		if not {
			op = policy.OpIsNull
		}
		l := policy.Operand{Column: string(n.Value)}
		if ok && v.Name == "principal" {
			l = policy.Operand{Attribute: string(n.Value)}
		}
		return newTest(l, op, nil), ok
	case ast.NodeTypeAccess:
		l, ok := policy.ReadOperand(n)
		return newTest(l, policy.OpEq, !not), ok && l.Column != ""
	case ast.NodeTypeLike:
		l, ok := policy.ReadOperand(n.Arg)
		pieces, ok2 := policy.PatternPieces(n.Value)
		pattern := policy.LikeText(pieces)
		if not && l.Column != "" {
			// The condition keeps its column while guards are searched.
			inner := newTest(l, policy.OpLike, pattern)
			return part{test: &policy.Condition{Not: inner.test, Column: &l.Column}}, ok && ok2
		}
		return newTest(l, policy.OpLike, pattern), ok && ok2 && !not
	case ast.NodeTypeContains:
		op := policy.OpIn
		if not {
			op = policy.OpNotIn
		}
		list, ok := policy.ReadOperand(n.Left)
		element, ok2 := policy.ReadOperand(n.Right)
		return readTest(element, op, list, ok && ok2 && element.Value == nil)
	}
	op, b, ok := policy.ReadComparison(n)
	if !ok {
		return part{}, false
	}
	if not {
		op = op.Opposite()
	}
	l, ok := policy.ReadOperand(b.Left)
	r, ok2 := policy.ReadOperand(b.Right)
	if l.Value != nil || l.Attribute != "" && r.Column != "" {
		l, r, op = r, l, op.Mirrored()
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
func readTest(l policy.Operand, op policy.Op, r policy.Operand, ok bool) (part, bool) {
	if !ok {
		return part{}, false
	}
	if r.Value == nil {
		p := newTest(l, op, nil)
		if p.test == nil || r.Attribute == "" {
			return part{}, false
		}
		p.test.Attribute = &r.Attribute
		return p, true
	}
	value, ok := policy.JSONValue(r.Value)
	return newTest(l, op, value), ok
}

// newTest returns a test of a column or, for a subject, of an attribute.
func newTest(l policy.Operand, op policy.Op, value any) part {
	if l.Attribute != "" {
		return part{subject: &policy.Subject{Attribute: &l.Attribute, Op: &op, Value: value}}
	}
	return part{test: &policy.Condition{Column: &l.Column, Op: op, Value: value}}
}
