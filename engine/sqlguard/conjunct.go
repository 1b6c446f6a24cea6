package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxPushed caps the constants of an IN list that moves into a barrier.
const maxPushed = 1000

// conjuncts finds, for every table reference, the conditions of the statement
// that may also be evaluated while its filtered copy is made, and by which files
// of the table may be left out. The statement keeps them, so leaving one out is
// always right, and so is a table that still holds rows which do not fulfil them.
//
// A condition moves when it compares a bare column with constants of that
// column's type, stands in the top-level AND of WHERE or ON, and belongs to the
// table without doubt. It may then drop rows only that the statement drops
// anyway; outer joins therefore take part only with conditions that NULL does
// not fulfil.
func (q *Query) conjuncts(relations []Relation) [][]conjunct {
	out := make([][]conjunct, len(q.tables))
	index := map[*tableUse]int{}
	for i, t := range q.tables {
		index[t] = i
	}
	for _, sel := range q.selects {
		if len(sel.tables) == 0 || sel.node.child("sample") != nil {
			continue
		}
		p := &pusher{q: q, relations: relations, index: index, out: out, sel: sel, inner: map[*node]*tableUse{}}
		for _, t := range sel.tables {
			p.inner[t.node] = t
		}
		p.aliases()
		p.visit(sel.node.child("from_table"), topConjuncts(sel.node.child("where_clause")), false)
	}
	return out
}

type pusher struct {
	q         *Query
	relations []Relation
	index     map[*tableUse]int
	out       [][]conjunct
	sel       *selectUse
	inner     map[*node]*tableUse
	ambiguous map[string]bool // names that may be something else than a column
}

// aliases collects the names of the SELECT's own results: WHERE may mean these.
func (p *pusher) aliases() {
	p.ambiguous = map[string]bool{}
	for _, e := range p.sel.node.list("select_list") {
		p.ambiguous[strings.ToLower(e.(*node).str("alias"))] = true
	}
	p.usingNames(p.sel.node.child("from_table"))
}

func (p *pusher) usingNames(ref *node) {
	if !ref.is("type", "JOIN") {
		return
	}
	for _, c := range ref.strings("using_columns") {
		p.ambiguous[strings.ToLower(c)] = true
	}
	p.usingNames(ref.child("left"))
	p.usingNames(ref.child("right"))
}

// topConjuncts splits a condition at its top-level ANDs.
func topConjuncts(e *node) []*node {
	if e == nil {
		return nil
	}
	if e.is("type", "CONJUNCTION_AND") {
		var out []*node
		for _, c := range e.list("children") {
			out = append(out, topConjuncts(c.(*node))...)
		}
		return out
	}
	return []*node{e}
}

// visit carries conditions down the joins to the tables. nullable says that the
// join above may put NULLs in the place of this side.
func (p *pusher) visit(ref *node, conds []*node, nullable bool) {
	switch {
	case ref.is("type", "BASE_TABLE"):
		if t := p.inner[ref]; t != nil {
			p.table(t, conds, nullable)
		}
	case ref.is("type", "JOIN"):
		left, right := ref.child("left"), ref.child("right")
		on := topConjuncts(ref.child("condition"))
		if ref.is("ref_type", "CROSS") {
			p.visit(left, conds, nullable)
			p.visit(right, conds, nullable)
			return
		}
		if !ref.is("ref_type", "REGULAR") {
			if ref.is("ref_type", "ASOF") && ref.is("join_type", "INNER") {
				p.visit(left, conds, nullable) // the right side's best match must stay
			}
			return
		}
		both := append(append([]*node(nil), conds...), on...)
		switch ref.str("join_type") {
		case "INNER":
			p.visit(left, both, nullable)
			p.visit(right, both, nullable)
		case "LEFT":
			p.visit(left, conds, nullable)
			p.visit(right, both, true)
		case "RIGHT":
			p.visit(left, both, true)
			p.visit(right, conds, nullable)
		case "FULL":
			p.visit(left, conds, true)
			p.visit(right, conds, true)
		case "SEMI", "ANTI":
			p.visit(left, conds, nullable)
		}
	}
}

func (p *pusher) table(t *tableUse, conds []*node, nullable bool) {
	i := p.index[t]
	r := p.relations[i]
	if t.sampled || r.KeepWhole || r.Inline != nil || t.renamed {
		return
	}
	for _, c := range conds {
		if found, ok := p.condition(t, r, c, nullable); ok {
			p.out[i] = append(p.out[i], found)
		}
	}
}

// column returns the column of t that e names without doubt.
func (p *pusher) column(t *tableUse, r Relation, e *node) (engine.Column, bool) {
	if !e.is("class", "COLUMN_REF") {
		return engine.Column{}, false
	}
	parts := e.strings("column_names")
	name := strings.ToLower(parts[len(parts)-1])
	switch len(parts) {
	case 1:
		if p.ambiguous[name] || p.owners(name) != 1 {
			return engine.Column{}, false
		}
	case 2:
		if !strings.EqualFold(parts[0], t.Alias) || p.named(parts[0]) != 1 {
			return engine.Column{}, false
		}
	default:
		return engine.Column{}, false
	}
	if _, masked := r.ColumnExpr[name]; masked {
		return engine.Column{}, false
	}
	for _, c := range r.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return engine.Column{}, false
}

// owners counts the tables of this FROM that have a column.
func (p *pusher) owners(column string) int {
	n := 0
	for _, t := range p.sel.tables {
		for _, c := range p.relations[p.index[t]].Columns {
			if strings.EqualFold(c.Name, column) {
				n++
			}
		}
	}
	return n
}

// named counts the items of this FROM that answer to an alias.
func (p *pusher) named(alias string) int { return countAlias(p.sel.node.child("from_table"), alias) }

func countAlias(ref *node, alias string) int {
	if ref.is("type", "JOIN") {
		return countAlias(ref.child("left"), alias) + countAlias(ref.child("right"), alias)
	}
	name := ref.str("alias")
	if name == "" {
		name = ref.str("table_name")
	}
	if strings.EqualFold(name, alias) {
		return 1
	}
	return 0
}

// comparisons are the operators of conjuncts by the types of nodes.
var comparisons = map[string]engine.ConditionOp{
	"COMPARE_EQUAL": engine.ConditionEqual, "COMPARE_LESSTHAN": engine.ConditionLess, "COMPARE_GREATERTHAN": engine.ConditionGreater,
	"COMPARE_LESSTHANOREQUALTO": engine.ConditionLessOrEqual, "COMPARE_GREATERTHANOREQUALTO": engine.ConditionGreaterOrEqual,
}

var flipped = map[string]string{
	"COMPARE_EQUAL": "COMPARE_EQUAL", "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
	"COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}

// condition returns the conjunct that e is, if it may move.
func (p *pusher) condition(t *tableUse, r Relation, e *node, nullable bool) (conjunct, bool) {
	switch e.str("class") {
	case "COMPARISON":
		typ, left, right := e.str("type"), e.child("left"), e.child("right")
		if !left.is("class", "COLUMN_REF") {
			typ, left, right = flipped[typ], right, left
		}
		op, known := comparisons[typ]
		col, ok := p.column(t, r, left)
		if !ok || !known {
			return conjunct{}, false
		}
		return newConjunct(col, test{op: op}, right)
	case "BETWEEN":
		col, ok := p.column(t, r, e.child("input"))
		if !ok {
			return conjunct{}, false
		}
		return newConjunct(col, test{between: true}, e.child("lower"), e.child("upper"))
	case "OPERATOR":
		return p.operator(t, r, e, nullable)
	}
	return conjunct{}, false
}

func (p *pusher) operator(t *tableUse, r Relation, e *node, nullable bool) (conjunct, bool) {
	args := e.list("children")
	if len(args) == 0 {
		return conjunct{}, false
	}
	col, ok := p.column(t, r, args[0].(*node))
	if !ok {
		return conjunct{}, false
	}
	switch e.str("type") {
	case "OPERATOR_IS_NULL":
		return conjunct{column: col, test: test{op: engine.ConditionIsNull}}, !nullable
	case "OPERATOR_IS_NOT_NULL":
		return conjunct{column: col, test: test{op: engine.ConditionIsNotNull}}, true
	case "COMPARE_IN":
		if len(args) < 2 || len(args) > maxPushed {
			return conjunct{}, false
		}
		items := make([]*node, len(args)-1)
		for i, a := range args[1:] {
			items[i] = a.(*node)
		}
		return newConjunct(col, test{op: engine.ConditionIn}, items...)
	}
	return conjunct{}, false
}
