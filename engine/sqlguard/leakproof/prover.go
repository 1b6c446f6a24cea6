package leakproof

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Proof is the result of a successful proof: what the statement needs to be run in place.
type Proof struct {
	// order holds positions of result columns to sort by in addition, so that the order of
	// rows is determined.
	order []int
	// Rebatch reports that rows have the order of the table, and that hidden rows may
	// determine where the engine ends its batches.
	Rebatch bool
}

// Table is a table reference of the statement.
type Table struct {
	Alias string
	// Columns are the columns that the caller sees.
	Columns []engine.Column
}

// Prove proves that a query may read its tables in place, or returns the reason why it
// may not. tables has the table references of the query, args the values of its
// parameters.
func (l *List) Prove(query *sqltree.Node, tables map[*sqltree.Node]Table, args constant.Arguments) (out Proof, reason error) {
	defer recoverDoubt(&reason)
	p := &prover{list: l, args: args, tables: tables, ctes: map[string][]column{}}
	return p.statement(query), nil
}

// Expression proves an expression over the columns of t. typ is its type in the
// engine, or nil. fallible reports whether it may fail on rows that the caller sees.
func (l *List) Expression(e *sqltree.Node, t Table, args constant.Arguments) (typ sqltype.Type, fallible bool, reason error) {
	defer recoverDoubt(&reason)
	p := &prover{list: l, args: args}
	v := p.expr(e, spot{scope: &scope{items: []item{itemOf(t)}}})
	return v.sqlType(), v.fallible, nil
}

// doubt is the reason why a statement is not proved. It is raised by a panic, because the
// first doubt at any depth ends the proof; no caller can forget to check for it.
type doubt string

// Error returns the reason.
func (d doubt) Error() string { return string(d) }

func doubtf(format string, args ...any) doubt { return doubt(fmt.Sprintf(format, args...)) }

// doubtIf raises a doubt if the condition holds.
func doubtIf(condition bool, format string, args ...any) {
	if condition {
		panic(doubtf(format, args...))
	}
}

// recoverDoubt ends a proof that raised a doubt.
func recoverDoubt(reason *error) {
	switch r := recover().(type) {
	case nil:
	case doubt:
		*reason = r
	default:
		panic(r)
	}
}

// prover checks a statement against the list. It doubts everything that it does not know.
type prover struct {
	list   *List
	args   constant.Arguments
	tables map[*sqltree.Node]Table
	ctes   map[string][]column
}

// column is a column of a relation in FROM or of a result.
type column struct {
	name  string
	value value
	known bool // that its type takes part in proofs
}

// item is a relation in FROM.
type item struct {
	alias   string
	columns []column
	byName  map[string]int // index in columns, or -1 if several have the name
}

func newItem(alias string, columns []column) item {
	item := item{alias: alias, columns: columns, byName: make(map[string]int, len(columns))}
	for i, c := range columns {
		name := strings.ToLower(c.name)
		if _, twice := item.byName[name]; twice {
			i = -1
		}
		item.byName[name] = i
	}
	return item
}

// scope resolves names in the expressions of one SELECT.
type scope struct {
	parent *scope
	items  []item
	merged map[string]bool // columns of USING, which stand for one of each side
	// aliases holds the names that the SELECT gives its results.
	aliases map[string]*sqltree.Node
}

// own returns a column in the SELECT's own FROM and the number of columns with its name.
func (sc *scope) own(parts []string) (column, int) {
	var found column
	count := 0
	name := strings.ToLower(parts[len(parts)-1])
	for _, item := range sc.items {
		if len(parts) == 2 && !strings.EqualFold(item.alias, parts[0]) {
			continue
		}
		i, ok := item.byName[name]
		switch {
		case ok && i < 0:
			count += 2
		case ok:
			found = item.columns[i]
			count++
		}
	}
	if count > 1 && len(parts) == 1 && sc.merged[name] {
		count = 1
	}
	return found, count
}

// names reports whether name is the alias of a relation in FROM.
func (sc *scope) names(name string) bool {
	for _, item := range sc.items {
		if strings.EqualFold(item.alias, name) {
			return true
		}
	}
	return false
}

// column resolves a name. depth is the number of SELECTs between it and its table.
func (sc *scope) column(n *sqltree.Node) (value, int) {
	parts := n.Strings("column_names")
	doubtIf(len(parts) > 2, "a name of three parts")
	for depth := 0; sc != nil; sc, depth = sc.parent, depth+1 {
		c, count := sc.own(parts)
		if _, fields := sc.own(parts[:1]); len(parts) == 2 && fields > 0 {
			panic(doubtf("%s may be a column with fields", parts[0]))
		}
		alias := len(parts) == 1 && sc.aliases[strings.ToLower(parts[0])] != nil
		switch {
		case count > 1, count == 1 && alias && !isColumn(sc.aliases[strings.ToLower(parts[0])], parts[0]):
			panic(doubtf("%s may mean several things", parts[len(parts)-1]))
		case count == 1 && !c.known:
			panic(doubtf("the type of %s", c.name))
		case count == 1:
			return c.value, depth
		case alias, sc.names(parts[0]):
			panic(doubtf("%s is no column", parts[0]))
		}
	}
	panic(doubtf("%s is not found", parts[len(parts)-1]))
}

// isColumn reports whether e is a column with the given name.
func isColumn(e *sqltree.Node, name string) bool {
	parts := e.Strings("column_names")
	return e.Is("class", "COLUMN_REF") && len(parts) > 0 && strings.EqualFold(parts[len(parts)-1], name)
}
