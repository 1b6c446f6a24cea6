package sqlguard

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxPlainPredicates bounds the predicates, in bytes altogether, that become part
// of a statement: they are printed and read again with it.
const maxPlainPredicates = 32 << 10

// LeakProof reports whether the statement may read its filtered tables by a
// plain condition on their rows instead of by copies, and if not, why. It may
// when nothing tells of hidden rows: no operation of the statement can fail on a
// row that the caller does not see, and rows, values and their order follow from
// the visible rows alone, whatever plan the engine makes.
//
// The reason is for tests and our own log. It names parts of the statement.
func (q *Query) LeakProof(relations []Relation, args engine.Args) (reason string, ok bool) {
	_, reason = q.proofBy(leakProof, relations, argumentsOf(args))
	return reason, reason == ""
}

// proof is what has to be done for a plain statement.
type proof struct {
	// order are positions of result columns to sort by in addition, so that the
	// order of rows is settled.
	order []int
	// recut says that rows stand in the order of the table, and that the engine
	// ends its batches where hidden rows may have it end them.
	recut bool
}

func (q *Query) proofBy(list *leakList, relations []Relation, args argValues) (proof, string) {
	if q.opts.EngineVersion != list.engine {
		return proof{}, "the list is of another build of the engine"
	}
	if q.volatile || len(relations) != len(q.tables) {
		return proof{}, "two runs may differ"
	}
	p := &prover{list: list, args: args, tables: map[*node]*tableUse{}, relations: map[*node]Relation{}, ctes: map[string][]provenColumn{}}
	predicates := 0
	for i, t := range q.tables {
		if reason := plainRelation(relations[i]); reason != "" {
			return proof{}, reason
		}
		if predicates += len(relations[i].Predicate); predicates > maxPlainPredicates {
			return proof{}, "the predicates are long"
		}
		p.tables[t.node], p.relations[t.node] = t, relations[i]
	}
	out, err := p.statement(q.root.list("statements")[0].(*node).child("node"))
	if err != nil {
		return proof{}, err.Error()
	}
	return out, ""
}

// plainRelation says why a relation must be copied.
func plainRelation(r Relation) string {
	switch {
	case r.Inline != nil, len(r.Columns) == 0:
		return "a table of another kind"
	case !r.filtered():
	case r.KeepWhole:
		return "the organisation wants copies"
	case len(r.ColumnExpr) > 0:
		return "a column is masked"
	case r.Sorted:
		return "the order of rows tells of hidden values"
	}
	return ""
}

// filtered says that the caller sees a part of the table.
func (r Relation) filtered() bool { return r.Filtered || len(r.ColumnExpr) > 0 || r.Predicate != "" }

// doubt is why a statement is not proved.
type doubt string

func (d doubt) Error() string { return string(d) }

func doubtf(format string, args ...any) error { return doubt(fmt.Sprintf(format, args...)) }

// prover holds a statement against the list. What it does not know it doubts.
type prover struct {
	list      *leakList
	args      argValues
	tables    map[*node]*tableUse
	relations map[*node]Relation
	ctes      map[string][]provenColumn
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
		name := lower(c.name)
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
	aliases map[string]*node
}

// own finds a column in the SELECT's own FROM and counts those of the name.
func (sc *provenScope) own(parts []string) (provenColumn, int) {
	var found provenColumn
	count := 0
	name := lower(parts[len(parts)-1])
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
func (sc *provenScope) column(n *node) (provenValue, int, error) {
	parts := n.strings("column_names")
	if len(parts) > 2 {
		return provenValue{}, 0, doubt("a name of three parts")
	}
	for depth := 0; sc != nil; sc, depth = sc.parent, depth+1 {
		c, count := sc.own(parts)
		if _, fields := sc.own(parts[:1]); len(parts) == 2 && fields > 0 {
			return provenValue{}, 0, doubtf("%s may be a column with fields", parts[0])
		}
		alias := len(parts) == 1 && sc.aliases[lower(parts[0])] != nil
		switch {
		case count > 1, count == 1 && alias && !isColumn(sc.aliases[lower(parts[0])], parts[0]):
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
func isColumn(e *node, name string) bool {
	parts := e.strings("column_names")
	return e.is("class", "COLUMN_REF") && len(parts) > 0 && strings.EqualFold(parts[len(parts)-1], name)
}
