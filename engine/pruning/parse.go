package pruning

import (
	"iter"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// indices yields the positions of s.
func indices[T any](s []T) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range s {
			if !yield(i) {
				return
			}
		}
	}
}

// slot is a column that is being parsed.
type slot struct {
	stored string
	typ    delta.DataType
	spans  []span
	// span and nulls are those of the current file; nulls is -1 if the count is missing.
	span  span
	nulls int64
}

// parse fills the spans of columns for the files at some positions.
func (x *index) parse(names []string, at iter.Seq[int]) {
	var slots []*slot
	for _, name := range names {
		spans := x.columns[name].spans
		if p := slices.Index(x.partitions, name); p >= 0 {
			for i := range at {
				spans[i] = x.groups[x.member[i]].spans[p]
			}
			continue
		}
		if f, ok := x.schema.Field(name); ok {
			slots = append(slots, &slot{stored: x.stored[name], typ: f.Type, spans: spans})
		}
	}
	if len(slots) == 0 {
		return
	}
	for i := range at {
		x.parseFile(slots, i)
	}
}

func (x *index) parseFile(slots []*slot, i int) {
	for _, s := range slots {
		s.span, s.nulls = span{}, -1
	}
	rows, ok := x.reader.read(x.files[i].Add.Stats, func(in section, column, raw string) {
		for _, s := range slots {
			if s.stored == column {
				s.take(in, raw)
			}
		}
	})
	if !ok {
		return
	}
	for _, s := range slots {
		if s.nulls >= 0 {
			s.span.setNulls(s.nulls, rows)
		}
		s.spans[i] = s.span
	}
}

func (s *slot) take(in section, raw string) {
	switch in {
	case minValues:
		s.span.setMin(s.typ, raw)
	case maxValues:
		s.span.setMax(s.typ, raw)
	case nullCount:
		s.nulls = count(raw)
	}
}

// proof is whether a file is known to hold every column.
type proof uint8

const (
	unread proof = iota
	proved
	unproved
)

// wholeFiles reports whether the files at some positions are known to hold every column except the
// partition columns.
func (x *index) wholeFiles(at []int32) bool {
	if x.whole {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range at {
		if x.proved[i] == unread {
			x.proved[i] = x.prove(x.files[i])
		}
		if x.proved[i] == unproved {
			return false
		}
	}
	return true
}

// prove requires of every column a bound, or a count of NULLs that is less than the number of rows.
// A count equal to the number of rows may also be that of a missing column.
func (x *index) prove(f delta.File) proof {
	there := make(map[string]bool)
	nulls := make(map[string]int64)
	rows, ok := x.reader.read(f.Add.Stats, func(in section, column, raw string) {
		if in == nullCount {
			nulls[column] = count(raw)
		} else if raw != "null" && raw != "{}" {
			there[column] = true
		}
	})
	if !ok {
		return unproved
	}
	for _, f := range x.schema.Fields {
		if slices.Contains(x.partitions, f.Name) || f.Type == delta.Void {
			continue
		}
		name := x.stored[f.Name]
		n, counted := nulls[name]
		some := there[name] || counted && n >= 0 && n < rows
		if !some || hasMembers(f.Type) {
			return unproved
		}
	}
	return proved
}
