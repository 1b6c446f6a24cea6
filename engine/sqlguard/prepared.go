package sqlguard

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/pushdown"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// Prepared is a printed statement with vacancies for the relations that it reads:
// what is left to do for each run is to ask which files the arguments need, and
// to name them. It is immutable and safe for concurrent use, and holds nothing of
// the relations that it was made for but their columns.
type Prepared struct {
	// texts are the statement, cut where relations are named: the one of
	// named[i] stands between texts[i] and texts[i+1].
	texts     []string
	named     []int
	vacancies []vacancy

	nondeterministic, readsFiltered, recut bool
}

// vacancy is one table reference.
type vacancy struct {
	conjuncts []pushdown.Conjunct
	// read holds the columns that the statement may read of a filtered table.
	read []engine.Column
	// copied are the columns of a filtered copy; nil for a table that is read
	// where it stands.
	copied []engine.Column
	// rows answer instead of a table.
	rows *engine.Barrier
}

// PassesRows reports that the statement is proved to pass the rows of its table one
// by one: they keep their order, and nothing fails on any.
func (p *Prepared) PassesRows() bool { return p.recut }

// Asks reports whether the statement has conditions of its own that can exclude rows
// of its tables.
func (p *Prepared) Asks() bool {
	return slices.ContainsFunc(p.vacancies, func(v vacancy) bool { return len(v.conjuncts) > 0 })
}

// ReadColumns returns the names of the columns that the statement reads, in the order
// of its tables. Unfiltered tables contribute none.
func (p *Prepared) ReadColumns() []string {
	var out []string
	for _, v := range p.vacancies {
		for _, c := range v.read {
			out = append(out, c.Name)
		}
	}
	return out
}

// LookedUp is a column of the only table that the statement reads whose value has
// to equal a constant or an argument, or "".
func (p *Prepared) LookedUp() string {
	if len(p.vacancies) != 1 {
		return ""
	}
	for _, c := range p.vacancies[0].conjuncts {
		if column, ok := c.EqualColumn(); ok && indexed[column.Type] {
			return column.Name
		}
	}
	return ""
}

// indexed are the types of columns that are worth an index: many values, each
// compared as it is.
var indexed = map[string]bool{"SMALLINT": true, "INTEGER": true, "BIGINT": true, "DATE": true, "VARCHAR": true}

// Plan names the relations for one run. They and the kinds of the arguments are
// those that Prepare was called with: see there.
func (p *Prepared) Plan(relations []Relation, args engine.Args) *Plan {
	plan := &Plan{Nondeterministic: p.nondeterministic, ReadsFiltered: p.readsFiltered, Recut: p.recut}
	values := constant.ArgumentsOf(args)
	names := make([]string, len(p.vacancies))
	for i := range p.vacancies {
		names[i] = p.vacancies[i].provide(plan, relations[i], values)
	}
	var sql strings.Builder
	for i, text := range p.texts {
		sql.WriteString(text)
		if i < len(p.named) {
			sql.WriteString(names[p.named[i]])
		}
	}
	plan.SQL = sql.String()
	return plan
}

// provide adds what stands in a place to the plan, and returns its name in SQL.
func (v *vacancy) provide(plan *Plan, r Relation, values constant.Arguments) string {
	if v.rows != nil {
		plan.barrier(*v.rows)
		return v.rows.Relation()
	}
	bound := pushdown.Parameters{}
	demands := pushdown.Demands(v.conjuncts, values, bound, r.column)
	if r.Narrow != nil {
		r.Source = r.Narrow(r.Condition, pushdown.Condition(demands))
	}
	plan.source(r.Source)
	if v.copied == nil {
		return r.Source.Relation()
	}
	copied := makeBarrier(r, v.copied, demands, bound)
	plan.barrier(copied)
	return copied.Relation()
}

// source notes a source once: sources of equal content are equal, however they
// were made.
func (p *Plan) source(s engine.Source) {
	name := s.Database()
	for _, have := range p.Sources {
		if have.Database() == name {
			return
		}
	}
	p.Sources = append(p.Sources, s)
}

func (p *Plan) barrier(add engine.Barrier) {
	for _, have := range p.Barriers {
		if have.Name == add.Name {
			return
		}
	}
	p.Barriers = append(p.Barriers, add)
}

// marked is the name that stands for the relation of a place.
func (b *binding) marked(place int) (database, schema, table string) {
	return b.mark + "_" + strconv.Itoa(place), "main", engine.SourceTable
}

// cut takes the printed statement apart at the marks. It was verified with them,
// and any other name in the place of one leaves the rest of it what it is. A mark
// in a form that is not expected is left alone: it names nothing.
func (b *binding) cut(sql string) error {
	b.out.texts, b.out.named = nil, nil
	for rest := sql; ; {
		before, after, found := strings.Cut(rest, b.mark+"_")
		if !found {
			b.out.texts = append(b.out.texts, rest)
			return nil
		}
		number, after, found := strings.Cut(after, ".main."+engine.SourceTable)
		place, err := strconv.Atoi(number)
		if !found || err != nil || place < 0 || place >= len(b.out.vacancies) {
			return refusal.New(refusal.CodePrinter, "", "the statement cannot be passed on unchanged")
		}
		b.out.texts, b.out.named = append(b.out.texts, before), append(b.out.named, place)
		rest = after
	}
}
