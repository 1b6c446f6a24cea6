package checkpoint

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// row reads the members of one action's struct column by name. A member that
// the file lacks, or whose type is not the expected one, is an absent column or
// an error noted in err.
type row struct {
	name   string
	self   *array.Struct
	fields map[string]arrow.Array
}

func newRow(name string, a arrow.Array) (row, error) {
	s, ok := a.(*array.Struct)
	if !ok {
		return row{}, fmt.Errorf("column %s is %s: %w", name, a.DataType(), ErrCorrupt)
	}
	r := row{name: name, self: s, fields: make(map[string]arrow.Array, s.NumField())}
	for i, f := range s.DataType().(*arrow.StructType).Fields() {
		if _, twice := r.fields[f.Name]; twice {
			return row{}, fmt.Errorf("column %s.%s twice: %w", name, f.Name, ErrCorrupt)
		}
		r.fields[f.Name] = s.Field(i)
	}
	return r, nil
}

// cell returns the member's column, or nil when the value is null.
func (r row) cell(name string, i int) arrow.Array {
	a := r.fields[name]
	if a == nil || a.IsNull(i) {
		return nil
	}
	return a
}

func (r row) wrongType(name string, a arrow.Array) error {
	return fmt.Errorf("column %s.%s is %s: %w", r.name, name, a.DataType(), ErrCorrupt)
}

// text returns "" for null.
func (r row) text(name string, i int, err *error) string {
	a := r.cell(name, i)
	if a == nil {
		return ""
	}
	s, ok := textAt(a, i)
	if !ok {
		*err = r.wrongType(name, a)
	}
	return s
}

func textAt(a arrow.Array, i int) (string, bool) {
	switch a := a.(type) {
	case *array.String:
		return cloneText(a.Value(i)), true
	case *array.LargeString:
		return cloneText(a.Value(i)), true
	case *array.StringView:
		return cloneText(a.Value(i)), true
	case *array.Binary:
		return string(a.Value(i)), true
	case *array.Dictionary:
		return textAt(a.Dictionary(), a.GetValueIndex(i))
	}
	return "", false
}

// cloneText detaches a value from the batch, whose memory would stay alive for
// as long as one path is held.
func cloneText(s string) string { return string(append([]byte(nil), s...)) }

func (r row) integer(name string, i int, err *error) *int64 {
	a := r.cell(name, i)
	if a == nil {
		return nil
	}
	var n int64
	switch a := a.(type) {
	case *array.Int64:
		n = a.Value(i)
	case *array.Int32:
		n = int64(a.Value(i))
	default:
		*err = r.wrongType(name, a)
		return nil
	}
	return &n
}

func (r row) integerOr(name string, i int, absent int64, err *error) int64 {
	if n := r.integer(name, i, err); n != nil {
		return *n
	}
	return absent
}

func (r row) boolean(name string, i int, absent bool, err *error) bool {
	a := r.cell(name, i)
	if a == nil {
		return absent
	}
	b, ok := a.(*array.Boolean)
	if !ok {
		*err = r.wrongType(name, a)
		return absent
	}
	return b.Value(i)
}

// mapping returns nil for null.
func (r row) mapping(name string, i int, err *error) map[string]*string {
	a := r.cell(name, i)
	if a == nil {
		return nil
	}
	m, ok := a.(*array.Map)
	if !ok {
		*err = r.wrongType(name, a)
		return nil
	}
	start, end := m.ValueOffsets(i)
	out := make(map[string]*string, end-start)
	for j := int(start); j < int(end); j++ {
		key, ok := textAt(m.Keys(), j)
		if _, twice := out[key]; !ok || twice || m.Keys().IsNull(j) {
			*err = fmt.Errorf("key of %s.%s: %w", r.name, name, ErrCorrupt)
			return nil
		}
		if m.Items().IsNull(j) {
			out[key] = nil
			continue
		}
		value, ok := textAt(m.Items(), j)
		if !ok {
			*err = r.wrongType(name, a)
			return nil
		}
		out[key] = &value
	}
	return out
}

// texts is mapping without null values.
func (r row) texts(name string, i int, err *error) map[string]string {
	m := r.mapping(name, i, err)
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = *v
		}
	}
	return out
}

// list returns nil for null.
func (r row) list(name string, i int, err *error) []string {
	a := r.cell(name, i)
	if a == nil {
		return nil
	}
	l, ok := a.(array.ListLike)
	if !ok {
		*err = r.wrongType(name, a)
		return nil
	}
	start, end := l.ValueOffsets(i)
	out := make([]string, 0, end-start)
	for j := int(start); j < int(end); j++ {
		s, ok := textAt(l.ListValues(), j)
		if !ok || l.ListValues().IsNull(j) {
			*err = r.wrongType(name, a)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// group returns the members of a nested struct, or false for null.
func (r row) group(name string, i int, err *error) (row, bool) {
	a := r.cell(name, i)
	if a == nil {
		return row{}, false
	}
	g, e := newRow(r.name+"."+name, a)
	if e != nil {
		*err = e
		return row{}, false
	}
	return g, true
}
