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
// parameters, to which the secrets of columns are added. mixed reports that the statement also reads
// tables that are not copied.
func makeBarrier(r Relation, columns []engine.Column, demands []pushdown.Demand, args pushdown.Parameters, mixed bool) engine.Barrier {
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
	barrier := engine.Barrier{SQL: sql.String(), Source: r.Source}
	content := barrier.SQL + args.Text()
	if mixed {
		barrier.Uncounted, content = uncounted(columns), content+"\x00uncounted"
	}
	barrier.Name = engine.BarrierName(r.Source, content)
	if len(args) > 0 {
		barrier.Args.Named = args
	}
	return barrier
}

// uncounted returns the columns by which statements join. The engine has no estimates of the distinct
// values of tables in files. If it had those of the copies, it would take joins of two such tables for
// much smaller than joins with a copy.
func uncounted(columns []engine.Column) []engine.UncountedColumn {
	var out []engine.UncountedColumn
	for _, c := range columns {
		switch bits, _ := sqltype.IntegerBits(c.Type); {
		case bits > 0, c.Type == sqltype.Varchar, c.Type == sqltype.Blob, c.Type == sqltype.Date, c.Type == sqltype.Timestamp,
			c.Type == sqltype.TimestampTZ:
			out = append(out, engine.UncountedColumn{Name: c.Name, Type: c.Type.String()})
		}
	}
	return out
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
