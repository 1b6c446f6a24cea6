package pruning

import (
	"slices"
	"sort"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// matcher is a condition compiled for one table: its values are parsed, and parts that cannot
// exclude a file are removed.
type matcher struct {
	op     engine.ConditionOp
	kids   []matcher
	column string
	spans  []span
	// values are sorted.
	values []value
}

// compile compiles a condition. Parts that it does not support become engine.ConditionUnknown.
func compile(schema delta.Struct, c engine.Condition) matcher {
	switch c.Op {
	case engine.ConditionNever:
		return matcher{op: c.Op}
	case engine.ConditionAnd, engine.ConditionOr:
		return join(schema, c)
	case engine.ConditionIsNull, engine.ConditionIsNotNull:
		if f, ok := schema.Field(c.Column); ok && counted(f.Type) {
			return matcher{op: c.Op, column: c.Column}
		}
	case engine.ConditionEqual, engine.ConditionNotEqual, engine.ConditionLess, engine.ConditionLessOrEqual,
		engine.ConditionGreater, engine.ConditionGreaterOrEqual, engine.ConditionIn:
		return comparison(schema, c)
	}
	return matcher{}
}

// join removes the unknown parts of an AND. An OR with an unknown part is unknown as a whole.
func join(schema delta.Struct, c engine.Condition) matcher {
	m := matcher{op: c.Op}
	for _, child := range c.Children {
		kid := compile(schema, child)
		if kid.op != engine.ConditionUnknown {
			m.kids = append(m.kids, kid)
		} else if c.Op == engine.ConditionOr {
			return matcher{}
		}
	}
	if len(m.kids) == 0 && c.Op == engine.ConditionAnd {
		return matcher{}
	}
	return m
}

func comparison(schema delta.Struct, c engine.Condition) matcher {
	f, ok := schema.Field(c.Column)
	if !ok || len(c.Values) == 0 || len(c.Values) > 1 && c.Op != engine.ConditionIn {
		return matcher{}
	}
	if !bounded(f.Type) {
		if !counted(f.Type) {
			return matcher{}
		}
		return matcher{op: engine.ConditionIsNotNull, column: c.Column}
	}
	m := matcher{op: c.Op, column: c.Column}
	for _, text := range c.Values {
		v, ok := parseExact(f.Type, string(text))
		if !ok {
			return matcher{op: engine.ConditionIsNotNull, column: c.Column}
		}
		m.values = append(m.values, v)
	}
	slices.SortFunc(m.values, compare)
	return m
}

// names appends the columns that m refers to.
func (m *matcher) names(out []string) []string {
	if m.column != "" && !slices.Contains(out, m.column) {
		out = append(out, m.column)
	}
	for i := range m.kids {
		out = m.kids[i].names(out)
	}
	return out
}

// bind sets the spans of m's columns.
func (m *matcher) bind(spans map[string][]span) {
	m.spans = spans[m.column]
	for i := range m.kids {
		m.kids[i].bind(spans)
	}
}

// match reports whether a row of the file at a position may satisfy m.
func (m *matcher) match(file int) bool {
	switch m.op {
	case engine.ConditionUnknown:
		return true
	case engine.ConditionNever:
		return false
	case engine.ConditionAnd:
		for i := range m.kids {
			if !m.kids[i].match(file) {
				return false
			}
		}
		return true
	case engine.ConditionOr:
		for i := range m.kids {
			if m.kids[i].match(file) {
				return true
			}
		}
		return false
	}
	return m.matchSpan(&m.spans[file])
}

func (m *matcher) matchSpan(s *span) bool {
	switch {
	case m.op == engine.ConditionIsNull:
		return !s.knows(noNulls)
	case s.knows(onlyNulls):
		return false
	case m.op == engine.ConditionIsNotNull:
		return true
	}
	v := m.values[0]
	switch m.op {
	case engine.ConditionEqual:
		return !s.above(v) && !s.below(v)
	case engine.ConditionNotEqual:
		return !(s.atLeast(v) && s.atMost(v))
	case engine.ConditionLess:
		return !s.atLeast(v)
	case engine.ConditionLessOrEqual:
		return !s.above(v)
	case engine.ConditionGreater:
		return !s.atMost(v)
	case engine.ConditionGreaterOrEqual:
		return !s.below(v)
	case engine.ConditionIn:
		// The least value that is not below the range decides, because the others are greater.
		i := sort.Search(len(m.values), func(i int) bool { return !s.above(m.values[i]) })
		return i < len(m.values) && !s.below(m.values[i])
	}
	return true
}
