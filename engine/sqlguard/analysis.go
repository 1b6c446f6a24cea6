package sqlguard

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// analysis walks a tree of known shape once. It resolves CTE names, collects
// tables, columns and parameters, and holds functions, casts and constants
// against the lists. Changes to the tree wait in edits until the walk is over,
// so that names of result columns can be printed from the tree as the user
// wrote it.
type analysis struct {
	q     *Query
	edits []func()
	// unnamed are result expressions without alias that an edit will change.
	unnamed []*node
	ctes    int
	// distances counts the calls of quadratic text functions.
	distances int
	// patterns and searches count the calls among which [share] divides the work.
	patterns, searches int64
	params             map[string]bool
	// exists is the SELECT directly inside EXISTS: its star needs no column.
	exists *node
	// reduces counts the calls of list_reduce.
	reduces int
	// lambdas is the number of lambdas around the walk; nested says that the
	// lambda that it left last contained another.
	lambdas int
	nested  bool
	// lambda is the lambda that is entered; other arrows are those of JSON.
	lambda *node
	// unnested is the argument of the unnest that was seen last.
	unnested *node
	// columnNames holds the calls inside COLUMNS(…), which see names of columns.
	columnNames map[*node]bool
	// sources counts the items of FROM in the statement, alternatives the
	// disjuncts that are conjunctions.
	sources, alternatives int
	// recursive maps the node of a recursive CTE to its name.
	recursive map[*node]*cte
}

// scope is what names mean inside one query node.
type scope struct {
	parent *scope
	ctes   []*cte
	sel    *selectUse
}

// cte is one common table expression under its new name.
type cte struct{ name, rename string }

// selectUse is one SELECT with the tables that its FROM holds directly.
type selectUse struct {
	node   *node
	tables []*tableUse
	// sources counts the items of its FROM.
	sources int
	// exists says that the SELECT stands in EXISTS and is so plain that only its
	// number of rows counts.
	exists bool
	// star says that every column of every table in FROM may be read.
	star bool
}

func (a *analysis) statement(stmt *node) *Error {
	q := a.q
	q.names = map[string][]int{}
	q.needed, q.singles, q.rowStars, q.defined = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	a.params, a.recursive, a.columnNames = map[string]bool{}, map[*node]*cte{}, map[*node]bool{}
	if done, err := a.show(stmt.child("node")); done || err != nil {
		return err
	}
	if err := a.query(stmt.child("node"), nil); err != nil {
		return err
	}
	return a.parameters(stmt)
}

// show recognises SHOW TABLES, which is a SELECT from a special reference.
func (a *analysis) show(n *node) (bool, *Error) {
	ref := n.child("from_table")
	if !ref.is("type", "SHOW_REF") || ref.child("query") != nil {
		return false, nil
	}
	q := a.q
	switch name := ref.str("table_name"); {
	case q.kind == KindExplain:
	case ref.is("show_type", "SHOW_FROM") && name == "", name == `"tables"`:
		q.kind = KindShowTables
		q.show = TableRef{Catalog: ref.str("catalog_name"), Schema: ref.str("schema_name")}
		return true, nil
	case name == "__show_tables_expanded":
		q.kind = KindShowAllTables
		return true, nil
	}
	return false, refuse(CodeStatement, "SHOW", "of the SHOW statements only SHOW TABLES and SHOW ALL TABLES are served")
}

// walk descends into every object below n that the grammar knows.
func (a *analysis) walk(v any, k kind, sc *scope) *Error {
	if v == nil || isNilNode(v) {
		return nil
	}
	if k == kExprRows || k&kListOf != 0 && k < kExprType {
		inner := k &^ kListOf
		if k == kExprRows {
			inner = kExprs
		}
		for _, e := range v.([]any) {
			if err := a.walk(e, inner, sc); err != nil {
				return err
			}
		}
		return nil
	}
	switch k {
	case kQuery:
		return a.query(v.(*node), sc)
	case kTable:
		return a.table(v.(*node), sc)
	case kExpr:
		return a.expr(v.(*node), sc)
	case kType:
		return checkType(v.(*node))
	}
	if k >= kStatement && k < kListOf {
		return a.fields(v.(*node), k, sc)
	}
	return nil
}

// fields walks every field of n in the order of the tree.
func (a *analysis) fields(n *node, k kind, sc *scope) *Error {
	f := families[k]
	tag := ""
	if f.tag != "" {
		tag = n.str(f.tag)
	}
	shape := f.shapes[tag]
	for i, key := range n.keys {
		if err := a.walk(n.vals[i], shape[key], sc); err != nil {
			if err.pos == 0 {
				err = err.at(n)
			}
			return err
		}
	}
	return nil
}

func (a *analysis) query(n *node, sc *scope) *Error {
	if n == nil {
		return malformed("empty query")
	}
	inner := &scope{parent: sc}
	exists := a.exists == n
	if err := a.commonTables(n.child("cte_map"), inner); err != nil {
		return err
	}
	switch n.str("type") {
	case "SELECT_NODE":
		return a.selectNode(n, inner, exists)
	case "SET_OPERATION_NODE":
		sides := n.list("children")
		if len(sides) == 0 {
			sides = []any{n.get("left"), n.get("right")}
		}
		for _, side := range sides {
			q, _ := side.(*node)
			if err := a.query(q, inner); err != nil {
				return err
			}
		}
	case "RECURSIVE_CTE_NODE":
		def := a.recursive[n]
		if def == nil || !strings.EqualFold(def.name, n.str("cte_name")) {
			return malformed("recursion outside WITH")
		}
		a.edit(func() { n.set("cte_name", def.rename) })
		a.define(n.strings("aliases"))
		if err := a.query(n.child("left"), inner); err != nil {
			return err
		}
		right := &scope{parent: inner, ctes: []*cte{def}}
		if err := a.query(n.child("right"), right); err != nil {
			return err
		}
		if err := a.walk(n.get("key_targets"), kExprs, inner); err != nil {
			return err
		}
	}
	return a.walk(n.get("modifiers"), kModifiers, inner)
}

// commonTables visits WITH: each body sees the CTEs before it, and itself only
// when it is recursive. All are renamed to names that users cannot write as
// tables, so that a reference which DuckDB would resolve differently than we
// did finds nothing.
func (a *analysis) commonTables(m *node, sc *scope) *Error {
	for _, e := range m.list("map") {
		entry := e.(*node)
		a.ctes++
		def := &cte{name: entry.str("key"), rename: "lw_cte_" + strconv.Itoa(a.ctes)}
		body := entry.child("value")
		query := body.child("query")
		if top := query.child("node"); top.is("type", "RECURSIVE_CTE_NODE") {
			a.recursive[top] = def
		}
		if err := a.fields(query, kStatement, sc); err != nil {
			return err
		}
		if err := a.walk(body.get("key_targets"), kExprs, sc); err != nil {
			return err
		}
		a.define(body.strings("aliases"))
		a.edit(func() {
			entry.set("key", def.rename)
			// A hint that lets plans grow without bound when it forbids sharing.
			body.set("materialized", "CTE_MATERIALIZE_DEFAULT")
		})
		sc.ctes = append(sc.ctes, def)
	}
	return nil
}

func (s *scope) cte(name string) *cte {
	for ; s != nil; s = s.parent {
		for i := len(s.ctes) - 1; i >= 0; i-- {
			if strings.EqualFold(s.ctes[i].name, name) {
				return s.ctes[i]
			}
		}
	}
	return nil
}

func (a *analysis) selectNode(n *node, sc *scope, exists bool) *Error {
	exists = exists && len(n.list("modifiers")) == 0 && len(n.list("group_sets")) == 0 && n.child("qualify") == nil &&
		isDefault(n.str("aggregate_handling"))
	sel := &selectUse{node: n, exists: exists}
	a.q.selects = append(a.q.selects, sel)
	sc.sel = sel
	if err := a.walk(n.get("from_table"), kTable, sc); err != nil {
		return err
	}
	for _, e := range n.list("select_list") {
		if err := a.resultColumn(e.(*node), sc); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		kind kind
	}{{"where_clause", kExpr}, {"group_expressions", kExprs}, {"having", kExpr}, {"qualify", kExpr}, {"sample", kSample}, {"modifiers", kModifiers}} {
		if err := a.walk(n.get(f.name), f.kind, sc); err != nil {
			return err
		}
	}
	a.sampling(n)
	return nil
}

// resultColumn visits one expression of a select list. DuckDB names an unnamed
// expression by its text; where an edit changes the text the old one becomes
// the alias.
func (a *analysis) resultColumn(e *node, sc *scope) *Error {
	before, tables := len(a.edits), len(a.q.tables)
	if err := a.expr(e, sc); err != nil {
		return err
	}
	if alias := e.str("alias"); alias != "" {
		a.define([]string{alias})
		return nil
	}
	switch {
	case len(a.edits) == before:
	case contains(e, "STAR"):
		if len(a.q.tables) > tables {
			// Its columns are named by the engine, after our relations.
			return refuse(CodeSyntaxNode, "COLUMNS", "give an expression of COLUMNS and a subquery an alias").at(e)
		}
	case e.is("class", "COLUMN_REF"):
		names := e.strings("column_names")
		a.edit(func() { e.set("alias", names[len(names)-1]) })
	default:
		a.unnamed = append(a.unnamed, e)
	}
	return nil
}

// contains reports whether an expression of a class stands in e itself, and not
// in a subquery of it.
func contains(v any, class string) bool {
	switch v := v.(type) {
	case *node:
		if v == nil {
			return false
		}
		if v.is("class", class) {
			return true
		}
		for i, x := range v.vals {
			if v.keys[i] != "subquery" && contains(x, class) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if contains(x, class) {
				return true
			}
		}
	}
	return false
}

func (a *analysis) edit(f func()) { a.edits = append(a.edits, f) }

// rename notes an expression that DuckDB would name in another way after it was
// printed and parsed again, though it means the same.
func (a *analysis) rename() { a.edit(func() {}) }

func (a *analysis) define(names []string) {
	for _, n := range names {
		a.q.defined[strings.ToLower(n)] = true
	}
}

func (a *analysis) mention(n *node, name string) {
	key := strings.ToLower(name)
	places := a.q.names[key]
	if p := offset(n); p >= 0 && len(places) < 16 {
		places = append(places, p)
	}
	a.q.names[key] = places // also without a place: the caller wrote it
}

func (a *analysis) need(name string) { a.q.needed[strings.ToLower(name)] = true }

// parameters checks the map of parameters against the ones that were seen.
func (a *analysis) parameters(stmt *node) *Error {
	named := map[string]bool{}
	for p := range a.params {
		if i, err := strconv.Atoi(p); err == nil && i > 0 && i <= 1000 {
			a.q.params.Positional = max(a.q.params.Positional, i)
		} else if err == nil {
			return refuse(CodeTooComplex, "$"+p, "more than 1000 parameters")
		} else {
			named[p] = true
		}
	}
	if len(named) > 0 && a.q.params.Positional > 0 {
		return refuse(CodeSyntax, "", "named and positional parameters cannot be mixed")
	}
	a.q.params.Named = sortedKeys(named)
	for _, e := range stmt.list("named_param_map") {
		if !a.params[e.(*node).str("key")] {
			return malformed("unused parameter")
		}
	}
	return nil
}

// finish names the changed result columns and applies the edits.
func (a *analysis) finish(ctx context.Context, parser engine.Parser) error {
	if len(a.unnamed) > 0 {
		names, err := printExpressions(ctx, parser, a.unnamed, a.q.text)
		if err != nil {
			return err
		}
		for i, e := range a.unnamed {
			a.edit(func() { e.set("alias", names[i]) })
		}
	}
	for _, f := range a.edits {
		f()
	}
	return nil
}
