package sqlguard

import (
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// barrierAlias is the alias of the source inside a barrier; predicates and
// column expressions use it.
const barrierAlias = "t"

// makeBarrier builds the SELECT that fills a filtered copy. Everything in it is
// ours, but the demands that came from the statement as checked constants. args
// are their parameters; the secrets of columns are added.
func makeBarrier(r Relation, columns []engine.Column, demands []demand, args boundArgs) engine.Barrier {
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			sql.WriteString(", ")
		}
		if expr, ok := r.ColumnExpr[strings.ToLower(c.Name)]; ok {
			sql.WriteString("(" + expr + ") AS " + engine.QuoteIdent(c.Name))
			args.use(expr, r.Secrets)
		} else {
			sql.WriteString(barrierColumn(c.Name) + " AS " + engine.QuoteIdent(c.Name))
		}
	}
	sql.WriteString(" FROM " + r.Source.Relation() + " AS " + engine.QuoteIdent(barrierAlias))
	var where []string
	if r.Predicate != "" {
		where = append(where, "("+r.Predicate+")")
	}
	for _, d := range demands {
		where = append(where, d.sql)
	}
	if len(where) > 0 {
		sql.WriteString(" WHERE " + strings.Join(where, " AND "))
	}
	if r.Sorted {
		sql.WriteString(" ORDER BY ALL")
	}
	text := sql.String()
	barrier := engine.Barrier{Name: engine.BarrierName(r.Source, text+args.text()), SQL: text, Source: r.Source}
	if len(args) > 0 {
		barrier.Args.Named = args
	}
	return barrier
}

// use adds the secrets that an expression names.
func (a boundArgs) use(expr string, secrets map[string]string) {
	for name, value := range secrets {
		if strings.Contains(expr, "$"+name) {
			a[name] = value
		}
	}
}

// text tells sets of parameters apart.
func (a boundArgs) text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out.WriteString("\x00" + name + "=" + a[name].(string))
	}
	return out.String()
}

func barrierColumn(name string) string {
	return engine.QuoteIdent(barrierAlias) + "." + engine.QuoteIdent(name)
}

// neededColumns are the visible columns that the statement may read from t:
// those whose name occurs anywhere in it as part of a column name. When it reads
// none, as count(*) does, the cheapest stays.
func (q *Query) neededColumns(t *tableUse, columns []engine.Column) []engine.Column {
	if q.readsWhole(t) {
		return columns
	}
	var out []engine.Column
	for _, c := range columns {
		if q.needed[strings.ToLower(c.Name)] {
			out = append(out, c)
		}
	}
	if out == nil {
		out = []engine.Column{cheapest(columns)}
	}
	return out
}

func cheapest(columns []engine.Column) engine.Column {
	best, cost := columns[0], 99
	for _, c := range columns {
		w := 9
		switch c.Type {
		case "BOOLEAN", "TINYINT", "UTINYINT":
			w = 1
		case "SMALLINT", "USMALLINT":
			w = 2
		case "INTEGER", "UINTEGER", "DATE", "FLOAT":
			w = 3
		case "BIGINT", "UBIGINT", "DOUBLE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
			w = 4
		}
		if w < cost {
			best, cost = c, w
		}
	}
	return best
}
