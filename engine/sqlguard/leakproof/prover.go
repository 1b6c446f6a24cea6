package leakproof

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Proof is what has to be done for a plain statement.
type Proof struct {
	// order are positions of result columns to sort by in addition, so that the
	// order of rows is settled.
	order []int
	// Recut says that rows stand in the order of the table, and that the engine
	// ends its batches where hidden rows may have it end them.
	Recut bool
}

// Table is a table reference of the statement.
type Table struct {
	Alias string
	// Columns are those that the caller sees.
	Columns []engine.Column
}

// Prove holds a query against the list and says what has to be done for it to be run
// as it stands, or why it must not be. tables has its table references, args the values
// of its parameters.
func (l *List) Prove(query *sqltree.Node, tables map[*sqltree.Node]Table, args constant.Arguments) (out Proof, reason string) {
	p := &prover{list: l, args: args, tables: tables, ctes: map[string][]provenColumn{}}
	out, err := p.statement(query)
	if err != nil {
		return Proof{}, err.Error()
	}
	return out, ""
}

// Expression proves an expression over the columns of t. typ is the engine's name of its
// type, or empty; fallible says that it may fail on rows that the caller sees.
func (l *List) Expression(e *sqltree.Node, t Table, args constant.Arguments) (typ string, fallible bool, err error) {
	p := &prover{list: l, args: args}
	v, err := p.expr(e, spot{scope: &provenScope{items: []provenItem{itemOf(t)}}})
	return v.sqlType(), v.fallible, err
}

// doubt is why a statement is not proved.
type doubt string

func (d doubt) Error() string { return string(d) }

func doubtf(format string, args ...any) error { return doubt(fmt.Sprintf(format, args...)) }

// prover holds a statement against the list. What it does not know it doubts.
type prover struct {
	list   *List
	args   constant.Arguments
	tables map[*sqltree.Node]Table
	ctes   map[string][]provenColumn
}

// provenColumn is a column of something in FROM, or of a result.
type provenColumn struct {
	name  string
	value provenValue
	known bool // that its type takes part in proofs
}

// provenItem is something in FROM.
type provenItem struct {
	alias   string
	columns []provenColumn
	byName  map[string]int // index in columns, or -1 if several have the name
}

func newItem(alias string, columns []provenColumn) provenItem {
	item := provenItem{alias: alias, columns: columns, byName: make(map[string]int, len(columns))}
	for i, c := range columns {
		name := strings.ToLower(c.name)
		if _, twice := item.byName[name]; twice {
			i = -1
		}
		item.byName[name] = i
	}
	return item
}

// provenScope is what names mean in the expressions of one SELECT.
type provenScope struct {
	parent *provenScope
	items  []provenItem
	merged map[string]bool // columns of USING, which stand for one of each side
	// aliases are the names that the SELECT gives its results.
	aliases map[string]*sqltree.Node
}

// own finds a column in the SELECT's own FROM and counts those of the name.
func (sc *provenScope) own(parts []string) (provenColumn, int) {
	var found provenColumn
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

// names says that the name stands for an item of FROM.
func (sc *provenScope) names(name string) bool {
	for _, item := range sc.items {
		if strings.EqualFold(item.alias, name) {
			return true
		}
	}
	return false
}

// column resolves a name. depth counts the SELECTs between it and its table.
func (sc *provenScope) column(n *sqltree.Node) (provenValue, int, error) {
	parts := n.Strings("column_names")
	if len(parts) > 2 {
		return provenValue{}, 0, doubt("a name of three parts")
	}
	for depth := 0; sc != nil; sc, depth = sc.parent, depth+1 {
		c, count := sc.own(parts)
		if _, fields := sc.own(parts[:1]); len(parts) == 2 && fields > 0 {
			return provenValue{}, 0, doubtf("%s may be a column with fields", parts[0])
		}
		alias := len(parts) == 1 && sc.aliases[strings.ToLower(parts[0])] != nil
		switch {
		case count > 1, count == 1 && alias && !isColumn(sc.aliases[strings.ToLower(parts[0])], parts[0]):
			return provenValue{}, 0, doubtf("%s may mean several things", parts[len(parts)-1])
		case count == 1 && !c.known:
			return provenValue{}, 0, doubtf("the type of %s", c.name)
		case count == 1:
			return c.value, depth, nil
		case alias, sc.names(parts[0]):
			return provenValue{}, 0, doubtf("%s is no column", parts[0])
		}
	}
	return provenValue{}, 0, doubtf("%s is not found", parts[len(parts)-1])
}

// isColumn says that e is a column of a name.
func isColumn(e *sqltree.Node, name string) bool {
	parts := e.Strings("column_names")
	return e.Is("class", "COLUMN_REF") && len(parts) > 0 && strings.EqualFold(parts[len(parts)-1], name)
}
