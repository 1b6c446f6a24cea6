package pruning

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Restriction describes a row filter to pruning: every visible row satisfies Needed, and every row
// that satisfies Assured is visible.
type Restriction struct {
	Needed, Assured engine.Condition
}

// Exposure is what the bounds of a table's files reveal about a row filter.
type Exposure struct {
	// Bytes is the size of the files that can hold a visible row.
	Bytes int64
	// Mixed reports that one of these files is not proved to hold visible rows only, and MixedBytes
	// is the size of such files.
	Mixed      bool
	MixedBytes int64
}

// ExposureOf evaluates the files of a snapshot by their own bounds. In a table that must be read
// through its log, every file counts as needed and as mixed.
func ExposureOf(snap *delta.Snapshot, r Restriction) Exposure {
	x := indexOf(snap)
	if !x.listed {
		return Exposure{Bytes: snap.TotalBytes(), Mixed: true, MixedBytes: snap.TotalBytes()}
	}
	var e Exposure
	visible := x.assured(r.Assured)
	for _, i := range x.prune(r.Needed) {
		e.Bytes += x.files[i].Add.Size
		if !visible(int(i)) {
			e.Mixed = true
			e.MixedBytes += x.files[i].Add.Size
		}
	}
	return e
}

// ListShielded is like [ListRestricted] for a statement that needs only rows that satisfy a
// condition. The condition excludes a file only if the file's own bounds prove that every row of it
// is visible, so that the list does not reveal the bounds of hidden rows.
func ListShielded(snap *delta.Snapshot, columns []engine.Column, r Restriction, asked engine.Condition) (*engine.FileList, bool) {
	if !ListsRestricted(snap) {
		return nil, false
	}
	x := indexOf(snap)
	m, visible := x.bound(compile(x.schema, asked)), x.assured(r.Assured)
	at := slices.DeleteFunc(x.prune(r.Needed), func(i int32) bool { return !m.match(int(i)) && visible(int(i)) })
	return x.list(columns, at, len(x.files))
}

// Shield says which files a condition with values of a caller may exclude from a table of which the
// caller does not see every row. Row groups are not excluded: see engine.Shielded.
type Shield struct {
	restriction Restriction
	files       bool
}

// NewShield returns the shield of a table under a row filter. In up to limit bytes of files that may
// hold hidden rows, a condition excludes no such file; in more, it excludes files by all bounds.
func NewShield(snap *delta.Snapshot, r Restriction, limit int64) *Shield {
	return &Shield{r, ExposureOf(snap, Restriction{Assured: r.Assured}).MixedBytes <= limit}
}

// List lists the files that can hold a row that satisfies the condition, or if visible is true, a
// visible one.
func (s *Shield) List(snap *delta.Snapshot, columns []engine.Column, visible bool, asked engine.Condition) (*engine.FileList, bool) {
	r := Restriction{Assured: s.restriction.Assured}
	if visible {
		r.Needed = s.restriction.Needed
	}
	if s.files {
		return ListShielded(snap, columns, r, asked)
	}
	return ListRestricted(snap, columns, engine.AllOf(r.Needed, asked))
}

// assured returns a function that reports whether every row of the file at a position is proved to
// satisfy the condition.
func (x *index) assured(condition engine.Condition) func(file int) bool {
	m := x.bound(compileAssured(x.schema, condition))
	return m.every
}

// compileAssured compiles a condition for [matcher.every]. A condition that [compile] would weaken
// is never satisfied here: weakening is only correct for proofs that no row matches.
func compileAssured(schema delta.Struct, c engine.Condition) matcher {
	never := matcher{op: engine.ConditionNever}
	switch c.Op {
	case engine.ConditionUnknown, engine.ConditionNever:
		return never
	case engine.ConditionAnd, engine.ConditionOr:
		m := matcher{op: c.Op}
		for _, child := range c.Children {
			m.kids = append(m.kids, compileAssured(schema, child))
		}
		return m
	}
	if m := compile(schema, c); m.op == c.Op {
		return m
	}
	return never
}

// every reports whether the bounds of the file at a position prove that all of its rows satisfy m.
// False is inconclusive.
func (m *matcher) every(file int) bool {
	switch m.op {
	case engine.ConditionUnknown, engine.ConditionNever:
		return false
	case engine.ConditionAnd:
		return !slices.ContainsFunc(m.kids, func(k matcher) bool { return !k.every(file) })
	case engine.ConditionOr:
		return slices.ContainsFunc(m.kids, func(k matcher) bool { return k.every(file) })
	}
	return m.everySpan(&m.spans[file])
}

func (m *matcher) everySpan(s *span) bool {
	switch {
	case m.op == engine.ConditionIsNull:
		return s.knows(onlyNulls)
	case !s.knows(noNulls):
		return false // a NULL satisfies no comparison
	case m.op == engine.ConditionIsNotNull:
		return true
	}
	is := func(v value) bool { return s.atLeast(v) && s.atMost(v) }
	v := m.values[0]
	switch m.op {
	case engine.ConditionEqual:
		return is(v)
	case engine.ConditionNotEqual:
		return s.below(v) || s.above(v)
	case engine.ConditionLess:
		return s.below(v)
	case engine.ConditionLessOrEqual:
		return s.atMost(v)
	case engine.ConditionGreater:
		return s.above(v)
	case engine.ConditionGreaterOrEqual:
		return s.atLeast(v)
	case engine.ConditionIn:
		return slices.ContainsFunc(m.values, is)
	}
	return false
}
