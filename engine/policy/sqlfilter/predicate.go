package sqlfilter

import (
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// predicate is SQL built from tests by AND and OR only. False and NULL of a test mean
// the same, and because no predicate is negated, this holds for the whole as well.
type predicate struct {
	kind predicateKind
	kids []*predicate
	// sql is the text. Predicates of equal text are equal.
	sql string
	// column is the key of the column of a presence test.
	column string
	// rejects holds the columns that are not NULL where the predicate is true.
	rejects map[string]bool
	// skip is the part of a test that pruning understands. exact reports that the test is true for
	// every row that satisfies skip.
	skip  engine.Condition
	exact bool
}

type predicateKind int

const (
	predicateTrue predicateKind = iota
	predicateFalse
	predicateTest
	predicateNull
	predicateNotNull
	predicateAnd
	predicateOr
)

var (
	always = &predicate{kind: predicateTrue, sql: "TRUE"}
	never  = &predicate{kind: predicateFalse, sql: "FALSE"}
)

// testOf returns a test that is true only if the columns are not NULL.
func testOf(sql string, columns ...string) *predicate {
	p := &predicate{kind: predicateTest, sql: sql, rejects: map[string]bool{}}
	for _, c := range columns {
		p.rejects[c] = true
	}
	return p
}

// prunedBy sets the part of the test p that pruning understands. exact reports that p is true for
// every row that satisfies c.
func (p *predicate) prunedBy(c engine.Condition, exact bool) *predicate {
	p.skip, p.exact = c, exact
	return p
}

func isNull(column, sql string) *predicate {
	return &predicate{kind: predicateNull, sql: sql + " IS NULL", column: column}
}

func notNull(column, sql string) *predicate {
	return &predicate{kind: predicateNotNull, sql: sql + " IS NOT NULL", column: column, rejects: map[string]bool{column: true}}
}

// and combines predicates and drops those that the others imply.
func and(parts ...*predicate) *predicate {
	kids := flatten(predicateAnd, parts)
	rejects := map[string]bool{}
	for _, k := range kids {
		if k.kind == predicateFalse {
			return never
		}
		if k.kind != predicateNotNull {
			maps.Copy(rejects, k.rejects)
		}
	}
	kids = slices.DeleteFunc(kids, func(k *predicate) bool {
		return k.kind == predicateTrue || k.kind == predicateNotNull && rejects[k.column]
	})
	for _, k := range kids {
		maps.Copy(rejects, k.rejects)
	}
	for _, k := range kids {
		if k.kind == predicateNull && rejects[k.column] {
			return never
		}
	}
	return joined(predicateAnd, kids, always, rejects)
}

// or combines predicates. A column that each of them rejects is rejected by the whole.
func or(parts ...*predicate) *predicate {
	kids := flatten(predicateOr, parts)
	kids = slices.DeleteFunc(kids, func(k *predicate) bool { return k.kind == predicateFalse })
	var rejects map[string]bool
	presence := map[string]predicateKind{}
	for i, k := range kids {
		if k.kind == predicateTrue {
			return always
		}
		if k.kind == predicateNull || k.kind == predicateNotNull {
			if seen, ok := presence[k.column]; ok && seen != k.kind {
				return always
			}
			presence[k.column] = k.kind
		}
		if i == 0 {
			rejects = maps.Clone(k.rejects)
			continue
		}
		maps.DeleteFunc(rejects, func(c string, _ bool) bool { return !k.rejects[c] })
	}
	return joined(predicateOr, kids, never, rejects)
}

func flatten(kind predicateKind, parts []*predicate) []*predicate {
	var out []*predicate
	seen := map[string]bool{}
	add := func(p *predicate) {
		if !seen[p.sql] {
			seen[p.sql] = true
			out = append(out, p)
		}
	}
	for _, p := range parts {
		if p.kind != kind {
			add(p)
			continue
		}
		for _, k := range p.kids {
			add(k)
		}
	}
	return out
}

func joined(kind predicateKind, kids []*predicate, empty *predicate, rejects map[string]bool) *predicate {
	switch len(kids) {
	case 0:
		return empty
	case 1:
		return kids[0]
	}
	word := " AND "
	if kind == predicateOr {
		word = " OR "
	}
	texts := make([]string, len(kids))
	for i, k := range kids {
		texts[i] = k.sql
	}
	return &predicate{kind: kind, kids: kids, sql: "(" + strings.Join(texts, word) + ")", rejects: rejects}
}

// columns adds the columns that p reads to out.
func (p *predicate) columns(out map[string]bool) {
	for _, k := range p.kids {
		k.columns(out)
	}
	if p.column != "" {
		out[p.column] = true
	}
	if p.kind == predicateTest {
		maps.Copy(out, p.rejects)
	}
}
