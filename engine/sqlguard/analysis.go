package sqlguard

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/arguments"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// analysis walks a tree of known shape once. It resolves names of CTEs, collects tables,
// columns and parameters, and checks functions, casts and constants against the lists.
// Changes to the tree are made after the walk, so that names of result columns can be
// printed from the tree as the user wrote it.
type analysis struct {
	q      *Query
	edits  *sqltree.Edits
	bounds *arguments.Bounds
	// unnamed holds the result expressions without alias that an edit will change.
	unnamed []*sqltree.Node
	ctes    int
	params  map[string]bool
	// exists is the SELECT directly inside EXISTS, whose star needs no column.
	exists *sqltree.Node
	// lambda is the lambda that is visited next. Other arrows are those of JSON.
	lambda *sqltree.Node
	// sources counts the relations in FROM, alternatives the disjuncts that contain
	// conjunctions.
	sources, alternatives int
	// recursive maps the node of a recursive CTE to its name.
	recursive map[*sqltree.Node]*cte
}

// scope resolves names inside one query node.
type scope struct {
	parent *scope
	ctes   []*cte
	sel    *selectUse
}

// cte is one common table expression under its new name.
type cte struct{ name, rename string }

// selectUse is a SELECT with the tables that are direct members of its FROM.
type selectUse struct {
	node   *sqltree.Node
	tables []*tableUse
	// sources counts the relations of its FROM.
	sources int
	// exists reports that the SELECT is inside EXISTS and only its number of rows matters.
	exists bool
	// star reports that every column of every table in FROM may be read.
	star bool
}

func (a *analysis) statement(stmt *sqltree.Node) *refusal.Error {
	q := a.q
	q.names = map[string][]int{}
	q.needed, q.singles, q.rowStars, q.defined = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	a.params, a.recursive = map[string]bool{}, map[*sqltree.Node]*cte{}
	if done, err := a.show(stmt.Child("node")); done || err != nil {
		return err
	}
	if err := a.query(stmt.Child("node"), nil); err != nil {
		return err
	}
	return a.parameters(stmt)
}

// show reports whether the statement is SHOW TABLES, which is a SELECT from a special
// reference.
func (a *analysis) show(n *sqltree.Node) (bool, *refusal.Error) {
	ref := n.Child("from_table")
	if !ref.Is("type", "SHOW_REF") || ref.Child("query") != nil {
		return false, nil
	}
	q := a.q
	switch name := ref.Str("table_name"); {
	case q.kind == KindExplain:
	case ref.Is("show_type", "SHOW_FROM") && name == "", name == `"tables"`:
		q.kind = KindShowTables
		q.show = TableRef{Catalog: ref.Str("catalog_name"), Schema: ref.Str("schema_name")}
		return true, nil
	case name == "__show_tables_expanded":
		q.kind = KindShowAllTables
		return true, nil
	}
	return false, refusal.New(refusal.CodeStatement, "SHOW", "of the SHOW statements only SHOW TABLES and SHOW ALL TABLES are served")
}

// walk visits every object of kind k, or of its items' kind, that v holds.
func (a *analysis) walk(v any, k grammar.Kind, sc *scope) *refusal.Error {
	return grammar.Each(v, k, func(n *sqltree.Node, k grammar.Kind) *refusal.Error { return a.object(n, k, sc) })
}

// Fields visits every object in the fields of n, in the order of the tree.
func (a *analysis) Fields(n *sqltree.Node, k grammar.Kind, sc *scope) *refusal.Error {
	return grammar.EachField(n, k, func(n *sqltree.Node, k grammar.Kind) *refusal.Error { return a.object(n, k, sc) })
}

func (a *analysis) object(n *sqltree.Node, k grammar.Kind, sc *scope) *refusal.Error {
	switch k {
	case grammar.Query:
		return a.query(n, sc)
	case grammar.Table:
		return a.table(n, sc)
	case grammar.Expr:
		return a.expr(n, sc)
	case grammar.Type:
		return grammar.CheckType(n)
	}
	return a.Fields(n, k, sc)
}

func (a *analysis) query(n *sqltree.Node, sc *scope) *refusal.Error {
	if n == nil {
		return refusal.Malformed("empty query")
	}
	inner := &scope{parent: sc}
	exists := a.exists == n
	if err := a.commonTables(n.Child("cte_map"), inner); err != nil {
		return err
	}
	switch n.Str("type") {
	case "SELECT_NODE":
		return a.selectNode(n, inner, exists)
	case "SET_OPERATION_NODE":
		sides := n.List("children")
		if len(sides) == 0 {
			sides = []any{n.Get("left"), n.Get("right")}
		}
		for _, side := range sides {
			q, _ := side.(*sqltree.Node)
			if err := a.query(q, inner); err != nil {
				return err
			}
		}
	case "RECURSIVE_CTE_NODE":
		def := a.recursive[n]
		if def == nil || !strings.EqualFold(def.name, n.Str("cte_name")) {
			return refusal.Malformed("recursion outside WITH")
		}
		a.edits.Add(func() { n.Set("cte_name", def.rename) })
		a.define(n.Strings("aliases"))
		if err := a.query(n.Child("left"), inner); err != nil {
			return err
		}
		right := &scope{parent: inner, ctes: []*cte{def}}
		if err := a.query(n.Child("right"), right); err != nil {
			return err
		}
		if err := a.walk(n.Get("key_targets"), grammar.Exprs, inner); err != nil {
			return err
		}
	}
	return a.walk(n.Get("modifiers"), grammar.Modifiers, inner)
}

// commonTables visits WITH. Each query sees the ones before it, and itself only if it is
// recursive. All are renamed to names that users cannot write, so that a reference which
// DuckDB would resolve differently finds nothing.
func (a *analysis) commonTables(m *sqltree.Node, sc *scope) *refusal.Error {
	for entry := range m.Each("map") {
		a.ctes++
		def := &cte{name: entry.Str("key"), rename: "lw_cte_" + strconv.Itoa(a.ctes)}
		body := entry.Child("value")
		query := body.Child("query")
		if top := query.Child("node"); top.Is("type", "RECURSIVE_CTE_NODE") {
			a.recursive[top] = def
		}
		if err := a.Fields(query, grammar.Statement, sc); err != nil {
			return err
		}
		if err := a.walk(body.Get("key_targets"), grammar.Exprs, sc); err != nil {
			return err
		}
		a.define(body.Strings("aliases"))
		a.edits.Add(func() {
			entry.Set("key", def.rename)
			// A hint that lets plans grow without bound when it forbids sharing.
			body.Set("materialized", "CTE_MATERIALIZE_DEFAULT")
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

func (a *analysis) selectNode(n *sqltree.Node, sc *scope, exists bool) *refusal.Error {
	exists = exists && len(n.List("modifiers")) == 0 && len(n.List("group_sets")) == 0 && n.Child("qualify") == nil &&
		sqltree.IsDefault(n.Str("aggregate_handling"))
	sel := &selectUse{node: n, exists: exists}
	a.q.selects = append(a.q.selects, sel)
	sc.sel = sel
	if err := a.walk(n.Get("from_table"), grammar.Table, sc); err != nil {
		return err
	}
	for e := range n.Each("select_list") {
		if err := a.resultColumn(e, sc); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		kind grammar.Kind
	}{
		{"where_clause", grammar.Expr}, {"group_expressions", grammar.Exprs}, {"having", grammar.Expr},
		{"qualify", grammar.Expr}, {"sample", grammar.Sample}, {"modifiers", grammar.Modifiers},
	} {
		if err := a.walk(n.Get(f.name), f.kind, sc); err != nil {
			return err
		}
	}
	a.sampling(n)
	return nil
}

// resultColumn visits one expression of a select list. DuckDB names an expression without
// alias by its text. If an edit changes the text, the old text becomes the alias.
func (a *analysis) resultColumn(e *sqltree.Node, sc *scope) *refusal.Error {
	before, tables := a.edits.Len(), len(a.q.tables)
	if err := a.expr(e, sc); err != nil {
		return err
	}
	if alias := e.Str("alias"); alias != "" {
		a.define([]string{alias})
		return nil
	}
	switch {
	case a.edits.Len() == before:
	case sqltree.Contains(e, "STAR"):
		if len(a.q.tables) > tables {
			// Its columns are named by the engine, after our relations.
			return refusal.New(refusal.CodeSyntaxNode, "COLUMNS", "give an expression of COLUMNS and a subquery an alias").At(e)
		}
	case e.Is("class", "COLUMN_REF"):
		names := e.Strings("column_names")
		a.edits.Add(func() { e.Set("alias", names[len(names)-1]) })
	default:
		a.unnamed = append(a.unnamed, e)
	}
	return nil
}

// rename records that DuckDB names the current expression differently after it was printed
// and parsed again.
func (a *analysis) rename() { a.edits.Add(func() {}) }

func (a *analysis) define(names []string) {
	for _, n := range names {
		a.q.defined[strings.ToLower(n)] = true
	}
}

func (a *analysis) mention(n *sqltree.Node, name string) {
	key := strings.ToLower(name)
	places := a.q.names[key]
	if p := sqltree.Offset(n); p >= 0 && len(places) < 16 {
		places = append(places, p)
	}
	a.q.names[key] = places // also without a place: the caller wrote it
}

func (a *analysis) need(name string) { a.q.needed[strings.ToLower(name)] = true }

// parameters collects the parameters and checks the map of parameters against them.
func (a *analysis) parameters(stmt *sqltree.Node) *refusal.Error {
	named := map[string]bool{}
	for p := range a.params {
		if i, err := strconv.Atoi(p); err == nil && i > 0 && i <= 1000 {
			a.q.params.Positional = max(a.q.params.Positional, i)
		} else if err == nil {
			return refusal.New(refusal.CodeTooComplex, "$"+p, "more than 1000 parameters")
		} else {
			named[p] = true
		}
	}
	if len(named) > 0 && a.q.params.Positional > 0 {
		return refusal.New(refusal.CodeSyntax, "", "named and positional parameters cannot be mixed")
	}
	a.q.params.Named = slices.AppendSeq([]string{}, maps.Keys(named))
	slices.Sort(a.q.params.Named)
	for e := range stmt.Each("named_param_map") {
		if !a.params[e.Str("key")] {
			return refusal.Malformed("unused parameter")
		}
	}
	return nil
}

// finish names the changed result columns and applies the edits.
func (a *analysis) finish(ctx context.Context, parser engine.Parser) error {
	if len(a.unnamed) > 0 {
		names, err := printer.Names(ctx, parser, a.unnamed, a.q.text)
		if err != nil {
			return err
		}
		for i, e := range a.unnamed {
			a.edits.Add(func() { e.Set("alias", names[i]) })
		}
	}
	a.edits.Apply()
	return nil
}
