package sqlguard

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/pushdown"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Prepared is a printed statement with placeholders for the relations that it reads. Each
// run chooses the files that its arguments need, and fills in the names. A Prepared is
// immutable and safe for concurrent use. Of the relations it holds only the columns.
type Prepared struct {
	// texts is the statement, cut where relations are named: the name of relation named[i]
	// goes between texts[i] and texts[i+1].
	texts        []string
	named        []int
	placeholders []placeholder

	nondeterministic, readsFiltered, rebatched bool
}

// placeholder is one table reference.
type placeholder struct {
	conjuncts []pushdown.Conjunct
	// read holds the columns of a filtered table that the statement may read.
	read []engine.Column
	// copied holds the columns of a filtered copy; it is nil for a table that is read in
	// place.
	copied []engine.Column
	// rows replaces the table, if not nil.
	rows *engine.Barrier
}

// RowByRow reports whether the statement is proved to process the rows of its table one
// by one: the rows keep their order, and no row can cause an error.
func (p *Prepared) RowByRow() bool { return p.rebatched }

// HasConditions reports whether the statement has conditions that can exclude rows of its
// tables.
func (p *Prepared) HasConditions() bool {
	return slices.ContainsFunc(p.placeholders, func(v placeholder) bool { return len(v.conjuncts) > 0 })
}

// ReadColumns returns the names of the columns that the statement reads, in the order
// of its tables. Unfiltered tables contribute none.
func (p *Prepared) ReadColumns() []string {
	var out []string
	for _, v := range p.placeholders {
		for _, c := range v.read {
			out = append(out, c.Name)
		}
	}
	return out
}

// LookupColumn returns a column of the statement's only table that must equal a constant
// or an argument, or "" if there is none.
func (p *Prepared) LookupColumn() string {
	if len(p.placeholders) != 1 {
		return ""
	}
	for _, c := range p.placeholders[0].conjuncts {
		if column, ok := c.EqualColumn(); ok && indexed(column.Type) {
			return column.Name
		}
	}
	return ""
}

// indexed reports whether a column of the type is worth an index: it has many values, each
// compared as it is.
func indexed(t sqltype.Type) bool {
	switch t {
	case sqltype.SmallInt, sqltype.Integer, sqltype.BigInt, sqltype.Date, sqltype.Varchar:
		return true
	}
	return false
}

// Plan names the relations for one run. The relations and the kinds of the arguments must
// be those of [Query.Prepare].
func (p *Prepared) Plan(relations []Relation, args engine.Args) *Plan {
	plan := &Plan{Nondeterministic: p.nondeterministic, ReadsFiltered: p.readsFiltered, Rebatch: p.rebatched}
	values := constant.ArgumentsOf(args)
	names := make([]string, len(p.placeholders))
	for i := range p.placeholders {
		names[i] = p.placeholders[i].provide(plan, relations[i], values, p.mixed())
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

// mixed reports whether the statement reads both copies and tables that are not copied.
func (p *Prepared) mixed() bool {
	copied := func(v placeholder) bool { return v.copied != nil }
	inPlace := func(v placeholder) bool { return v.copied == nil && v.rows == nil }
	return slices.ContainsFunc(p.placeholders, copied) && slices.ContainsFunc(p.placeholders, inPlace)
}

// provide adds the relation of a placeholder to the plan, and returns its name in SQL.
func (v *placeholder) provide(plan *Plan, r Relation, values constant.Arguments, mixed bool) string {
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
	copied := makeBarrier(r, v.copied, demands, bound, mixed)
	plan.barrier(copied)
	return copied.Relation()
}

// source adds a source once: sources of equal content are equal, however they were made.
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

// nameOf returns the name that stands for a relation.
func (b *binding) nameOf(place int) (database, schema, table string) {
	return b.mark + "_" + strconv.Itoa(place), "main", engine.SourceTable
}

// cut splits the printed statement at the marks. It was verified with them, and replacing
// one by another name does not change the rest. A mark in an unexpected form is left alone:
// it names nothing.
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
		if !found || err != nil || place < 0 || place >= len(b.out.placeholders) {
			return refusal.New(refusal.CodePrinter, "", "the statement cannot be passed on unchanged")
		}
		b.out.texts, b.out.named = append(b.out.texts, before), append(b.out.named, place)
		rest = after
	}
}
