package limits

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Planning cannot be interrupted, and a short text can describe a plan that is
// exponentially larger: a WITH query that joins its predecessor to itself doubles its
// columns. A plan computes what the engine's planner would have to handle, with saturating
// arithmetic and without building it. The engine plans within about a second what every
// bound allows.
const (
	// maxRelations caps the tables and subqueries of the statement, where every
	// reference to a WITH query counts the relations of that query again.
	maxRelations = 10_000
	// maxColumns caps the columns of all relations and results together. Members
	// of nested types count like columns.
	maxColumns = 100_000
	// maxFilterTerms caps the terms of all conditions: the engine moves a
	// condition towards the tables and replaces columns by their expressions.
	maxFilterTerms = 20_000
	// maxBoundTerms caps the terms that are bound to columns: the engine binds a
	// subquery of an expression up to four times, and so one nested in it 16 times.
	maxBoundTerms = 1_000_000
	bindsAgain    = 4
	// maxVisited caps the expressions, columns and members that the plan itself
	// visits or copies, so that its own time and memory stay small: it runs in the
	// server, outside the engine's limits. A text of the greatest length has fewer
	// expressions.
	maxVisited = 200_000
	// maxCompared caps the pairs of columns and expressions that are compared with
	// each other, as for DISTINCT, NATURAL JOIN, aggregates and windows.
	maxCompared = 32_000_000
	// maxEquated caps the equalities that follow from those of the conditions:
	// from a = b and b = c follows a = c.
	maxEquated = 500_000
	// maxGroupingSets caps the grouping sets of the statement.
	maxGroupingSets = 4096
)

// plan accumulates the sizes to which a statement expands.
type plan struct {
	// tables maps table references to the columns that the caller sees. The columns of
	// a table that is not in the map are unknown.
	tables map[*sqltree.Node][]engine.Column
	// at is the last visited node that has a position in the text.
	at  *sqltree.Node
	err *refusal.Error

	columns, filterTerms, boundTerms, visited, compared, sets int64
	equalities                                                []*columnClass
	// casts caches the types that casts name, because COLUMNS repeats a cast for each
	// column.
	casts map[*sqltree.Node]*dataType
}

// CheckPlan refuses statements that expand to more than the engine can plan in time.
// tables maps the table references to the columns that the caller sees; without it,
// only the columns that the statement itself makes are known. text is that of stmt.
func CheckPlan(text string, stmt *sqltree.Node, tables map[*sqltree.Node][]engine.Column) *refusal.Error {
	p := &plan{tables: tables, casts: map[*sqltree.Node]*dataType{}}
	p.query(stmt.Child("node"), nil, 1)
	p.equated()
	if p.err != nil {
		p.err.Locate(text)
	}
	return p.err
}

// count adds n to a total and refuses the statement when that exceeds its limit.
func (p *plan) count(total *int64, n, limit int64, message string) {
	*total = sum(*total, n)
	if *total > limit && p.err == nil {
		p.err = refusal.New(refusal.CodeTooComplex, "", message, limit)
		if p.at != nil {
			p.err = p.err.At(p.at)
		}
	}
}

func (p *plan) countColumns(columns []column) {
	for i := range columns {
		p.count(&p.columns, columns[i].typ.size(), maxColumns, "the statement expands to more than %d columns")
	}
}

func (p *plan) countCompared(n int64) {
	p.count(&p.compared, n, maxCompared, "the statement compares more than %d pairs of columns or expressions")
}

// countVisited counts work that is about to be done, and reports whether it is allowed.
func (p *plan) countVisited(n int64) bool {
	p.count(&p.visited, n, maxVisited, "the statement expands to more than %d expressions, columns and members of them")
	return p.err == nil
}

// bind counts n terms that the engine binds in a scope, and reports whether the
// statement is still small enough.
func (p *plan) bind(n int64, sc *scope) bool {
	p.count(&p.boundTerms, product(sc.binds, n), maxBoundTerms, tooManyTerms)
	return p.countVisited(n)
}

func (p *plan) visit(n *sqltree.Node) {
	if sqltree.Offset(n) >= 0 {
		p.at = n
	}
}

func sum(a, b int64) int64 { return min(a+b, saturated) }

func product(a, b int64) int64 {
	if a != 0 && b > saturated/a {
		return saturated
	}
	return a * b
}

// column is one column of a relation or result.
type column struct {
	name string // in lower case; empty if the engine chooses it
	// terms is the size of the expression that the engine may put in its place.
	terms int64
	typ   *dataType
	class *columnClass
}

// unknownColumn returns a column about which nothing is known.
func unknownColumn() column { return column{terms: 1, typ: scalarType, class: &columnClass{}} }

// aliased renames columns by a list of column aliases.
func aliased(columns []column, names []string) []column {
	if len(names) == 0 {
		return columns
	}
	out := append([]column(nil), columns...)
	for i, name := range names[:min(len(names), len(out))] {
		out[i].name = strings.ToLower(name)
	}
	return out
}

// columnClass is a set of columns that conditions and expressions relate to each
// other. It is a tree whose root represents the set.
type columnClass struct {
	parent              *columnClass
	columns, equalities int64 // without the first column
}

func (c *columnClass) root() *columnClass {
	for c.parent != nil {
		if c.parent.parent != nil {
			c.parent = c.parent.parent
		}
		c = c.parent
	}
	return c
}

func (c *columnClass) join(other *columnClass) *columnClass {
	a, b := c.root(), other.root()
	if a != b {
		if a.columns < b.columns {
			a, b = b, a
		}
		b.parent = a
		a.columns += b.columns + 1
		a.equalities += b.equalities
	}
	return a
}

// classOf returns the class of a column that an expression makes. The column is a new
// member of the class of the columns in the expression, unless it is one of them. The
// result is nil for a constant.
func (c column) classOf(n *sqltree.Node) *columnClass {
	if c.class == nil || n.Is("class", "COLUMN_REF") {
		return c.class
	}
	return c.class.join(&columnClass{})
}

// equate records a condition of the form left = right.
func (p *plan) equate(left, right *columnClass) {
	if left == nil || right == nil {
		return // a constant
	}
	class := left.join(right)
	class.equalities++
	p.equalities = append(p.equalities, class)
}

// equated counts the equalities that follow from those of each class.
func (p *plan) equated() {
	seen := map[*columnClass]bool{}
	var total int64
	for _, c := range p.equalities {
		root := c.root()
		if seen[root] {
			continue
		}
		seen[root] = true
		members := min(root.equalities, root.columns) + 1
		p.count(&total, product(root.equalities, product(members, members)), maxEquated,
			"equalities between columns build on each other too often (more than %d follow)")
	}
}
