package pushdown

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// maxPushed caps the constants of an IN that moves.
const maxPushed = 1000

// Table is a table reference of the statement.
type Table struct {
	Node  *sqltree.Node
	Alias string
	// Columns are the columns that the caller sees.
	Columns []engine.Column
	// Masked holds the columns, in lower case, whose values are replaced.
	Masked map[string]string
	// Whole forbids moving conditions to the table.
	Whole bool
}

// Select is a SELECT with the tables that its FROM holds directly, as indexes in
// the tables of the statement.
type Select struct {
	Node   *sqltree.Node
	Tables []int
}

// Find returns, for every table, the conditions of the statement that may also be evaluated
// while its filtered copy is made, and by which files of the table may be excluded. The
// statement keeps these conditions. So it is always correct to ignore one, and to read more
// rows than fulfil them.
//
// A condition moves if it compares a bare column with constants of that column's type, is
// part of the top-level AND of WHERE or ON, and belongs to the table unambiguously. It may
// drop only rows that the statement drops anyway; outer joins therefore take part only with
// conditions that NULL does not fulfil.
func Find(selects []Select, tables []Table) [][]Conjunct {
	out := make([][]Conjunct, len(tables))
	for _, sel := range selects {
		if len(sel.Tables) == 0 || sel.Node.Child("sample") != nil {
			continue
		}
		p := &pusher{tables: tables, out: out, sel: sel, inner: map[*sqltree.Node]int{}}
		for _, i := range sel.Tables {
			p.inner[tables[i].Node] = i
		}
		p.aliases()
		p.visit(sel.Node.Child("from_table"), sqltree.Conjuncts(sel.Node.Child("where_clause")), false)
	}
	return out
}

type pusher struct {
	tables    []Table
	out       [][]Conjunct
	sel       Select
	inner     map[*sqltree.Node]int // the tables of this FROM
	ambiguous map[string]bool       // names that may be something else than a column
}

// aliases collects the names of the SELECT's results, to which WHERE may refer.
func (p *pusher) aliases() {
	p.ambiguous = map[string]bool{}
	for e := range p.sel.Node.Each("select_list") {
		p.ambiguous[strings.ToLower(e.Str("alias"))] = true
	}
	p.usingNames(p.sel.Node.Child("from_table"))
}

func (p *pusher) usingNames(ref *sqltree.Node) {
	if !ref.Is("type", "JOIN") {
		return
	}
	for _, c := range ref.Strings("using_columns") {
		p.ambiguous[strings.ToLower(c)] = true
	}
	p.usingNames(ref.Child("left"))
	p.usingNames(ref.Child("right"))
}

// visit moves conditions down the joins to the tables. nullable reports whether the join
// above may replace the rows of this side by NULLs.
func (p *pusher) visit(ref *sqltree.Node, conds []*sqltree.Node, nullable bool) {
	switch {
	case ref.Is("type", "BASE_TABLE"):
		if i, ok := p.inner[ref]; ok {
			p.table(i, conds, nullable)
		}
	case ref.Is("type", "JOIN"):
		left, right := ref.Child("left"), ref.Child("right")
		on := sqltree.Conjuncts(ref.Child("condition"))
		if ref.Is("ref_type", "CROSS") {
			p.visit(left, conds, nullable)
			p.visit(right, conds, nullable)
			return
		}
		if !ref.Is("ref_type", "REGULAR") {
			if ref.Is("ref_type", "ASOF") && ref.Is("join_type", "INNER") {
				p.visit(left, conds, nullable) // the right side's best match must stay
			}
			return
		}
		both := append(append([]*sqltree.Node(nil), conds...), on...)
		switch ref.Str("join_type") {
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

func (p *pusher) table(i int, conds []*sqltree.Node, nullable bool) {
	t := p.tables[i]
	if t.Whole {
		return
	}
	for _, c := range conds {
		if found, ok := p.condition(t, c, nullable); ok {
			p.out[i] = append(p.out[i], found)
		}
	}
}

// column returns the column of t that e refers to unambiguously.
func (p *pusher) column(t Table, e *sqltree.Node) (engine.Column, bool) {
	if !e.Is("class", "COLUMN_REF") {
		return engine.Column{}, false
	}
	parts := e.Strings("column_names")
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
	if _, masked := t.Masked[name]; masked {
		return engine.Column{}, false
	}
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return engine.Column{}, false
}

// owners returns the number of tables in this FROM that have a column.
func (p *pusher) owners(column string) int {
	n := 0
	for _, i := range p.sel.Tables {
		for _, c := range p.tables[i].Columns {
			if strings.EqualFold(c.Name, column) {
				n++
			}
		}
	}
	return n
}

// named returns the number of relations in this FROM with an alias.
func (p *pusher) named(alias string) int { return countAlias(p.sel.Node.Child("from_table"), alias) }

func countAlias(ref *sqltree.Node, alias string) int {
	if ref.Is("type", "JOIN") {
		return countAlias(ref.Child("left"), alias) + countAlias(ref.Child("right"), alias)
	}
	name := ref.Str("alias")
	if name == "" {
		name = ref.Str("table_name")
	}
	if strings.EqualFold(name, alias) {
		return 1
	}
	return 0
}

// comparisons maps types of nodes to operators.
var comparisons = map[string]engine.ConditionOp{
	"COMPARE_EQUAL": engine.ConditionEqual, "COMPARE_LESSTHAN": engine.ConditionLess, "COMPARE_GREATERTHAN": engine.ConditionGreater,
	"COMPARE_LESSTHANOREQUALTO": engine.ConditionLessOrEqual, "COMPARE_GREATERTHANOREQUALTO": engine.ConditionGreaterOrEqual,
}

var flipped = map[string]string{
	"COMPARE_EQUAL": "COMPARE_EQUAL", "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
	"COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}

// condition returns e as a conjunct, if it may move.
func (p *pusher) condition(t Table, e *sqltree.Node, nullable bool) (Conjunct, bool) {
	switch e.Str("class") {
	case "COMPARISON":
		typ, left, right := e.Str("type"), e.Child("left"), e.Child("right")
		if !left.Is("class", "COLUMN_REF") {
			typ, left, right = flipped[typ], right, left
		}
		op, known := comparisons[typ]
		col, ok := p.column(t, left)
		if !ok || !known {
			return Conjunct{}, false
		}
		return newConjunct(col, test{op: op}, right)
	case "BETWEEN":
		col, ok := p.column(t, e.Child("input"))
		if !ok {
			return Conjunct{}, false
		}
		return newConjunct(col, test{between: true}, e.Child("lower"), e.Child("upper"))
	case "OPERATOR":
		return p.operator(t, e, nullable)
	}
	return Conjunct{}, false
}

func (p *pusher) operator(t Table, e *sqltree.Node, nullable bool) (Conjunct, bool) {
	args := e.List("children")
	if len(args) == 0 {
		return Conjunct{}, false
	}
	col, ok := p.column(t, args[0].(*sqltree.Node))
	if !ok {
		return Conjunct{}, false
	}
	switch e.Str("type") {
	case "OPERATOR_IS_NULL":
		return Conjunct{column: col, test: test{op: engine.ConditionIsNull}}, !nullable
	case "OPERATOR_IS_NOT_NULL":
		return Conjunct{column: col, test: test{op: engine.ConditionIsNotNull}}, true
	case "COMPARE_IN":
		if len(args) < 2 || len(args) > maxPushed {
			return Conjunct{}, false
		}
		items := make([]*sqltree.Node, len(args)-1)
		for i, a := range args[1:] {
			items[i] = a.(*sqltree.Node)
		}
		return newConjunct(col, test{op: engine.ConditionIn}, items...)
	}
	return Conjunct{}, false
}
