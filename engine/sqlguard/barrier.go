package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// barrierAlias is the alias of the source inside a barrier; predicates and
// column expressions use it.
const barrierAlias = "t"

// makeBarrier builds the SELECT that fills a filtered copy. Everything in it is
// ours, but the conjuncts that came from the statement as checked constants.
func makeBarrier(r Relation, columns []engine.Column, conjuncts []conjunct) engine.Barrier {
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			sql.WriteString(", ")
		}
		if expr, ok := r.ColumnExpr[strings.ToLower(c.Name)]; ok {
			sql.WriteString("(" + expr + ") AS " + engine.QuoteIdent(c.Name))
		} else {
			sql.WriteString(barrierColumn(c.Name) + " AS " + engine.QuoteIdent(c.Name))
		}
	}
	sql.WriteString(" FROM " + r.Source.Relation() + " AS " + engine.QuoteIdent(barrierAlias))
	var where []string
	if r.Predicate != "" {
		where = append(where, "("+r.Predicate+")")
	}
	for _, c := range conjuncts {
		where = append(where, c.sql)
	}
	if len(where) > 0 {
		sql.WriteString(" WHERE " + strings.Join(where, " AND "))
	}
	text := sql.String()
	return engine.Barrier{Name: engine.BarrierName(r.Source, text), SQL: text, Source: r.Source}
}

func barrierColumn(name string) string {
	return engine.QuoteIdent(barrierAlias) + "." + engine.QuoteIdent(name)
}

// neededColumns are the visible columns that the statement may read from t:
// those whose name occurs anywhere in it as part of a column name. When it reads
// none, as count(*) does, the cheapest stays.
func (q *Query) neededColumns(t *tableUse, columns []engine.Column) []engine.Column {
	alias := strings.ToLower(t.Alias)
	if q.allNeeded || t.renamed || t.sel != nil && t.sel.star || q.singles[alias] || q.rowStars[alias] {
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
