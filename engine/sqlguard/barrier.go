package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/pushdown"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// barrierAlias is the alias of the source inside a barrier. Predicates and column
// expressions use it.
const barrierAlias = "t"

// makeBarrier returns the SELECT that fills a filtered copy. All of it is generated; of the
// statement it contains only demands, which are checked constants. args are their
// parameters, to which the secrets of columns are added.
func makeBarrier(r Relation, columns []engine.Column, demands []pushdown.Demand, args pushdown.Parameters) engine.Barrier {
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			sql.WriteString(", ")
		}
		if expr, ok := r.ColumnExpr[strings.ToLower(c.Name)]; ok {
			sql.WriteString("(" + expr + ") AS " + engine.QuoteIdent(c.Name))
			args.Use(expr, r.Secrets)
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
		where = append(where, d.SQL)
	}
	if len(where) > 0 {
		sql.WriteString(" WHERE " + strings.Join(where, " AND "))
	}
	if r.Sorted {
		sql.WriteString(" ORDER BY ALL")
	}
	text := sql.String()
	barrier := engine.Barrier{Name: engine.BarrierName(r.Source, text+args.Text()), SQL: text, Source: r.Source}
	if len(args) > 0 {
		barrier.Args.Named = args
	}
	return barrier
}

func barrierColumn(name string) string {
	return engine.QuoteIdent(barrierAlias) + "." + engine.QuoteIdent(name)
}

// neededColumns returns the visible columns of t that the statement may read: those whose
// name occurs anywhere in it as part of a column name. If there are none, as for count(*),
// it returns the cheapest column.
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
		case sqltype.Boolean, sqltype.TinyInt, sqltype.UTinyInt:
			w = 1
		case sqltype.SmallInt, sqltype.USmallInt:
			w = 2
		case sqltype.Integer, sqltype.UInteger, sqltype.Date, sqltype.Float:
			w = 3
		case sqltype.BigInt, sqltype.UBigInt, sqltype.Double, sqltype.Timestamp, sqltype.TimestampTZ:
			w = 4
		}
		if w < cost {
			best, cost = c, w
		}
	}
	return best
}
