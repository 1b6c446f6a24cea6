package checkpoint

import (
	"encoding/binary"
	"fmt"
)

// A column is found by its name and its type checked once for each row group. Reading
// its value in a row is then an index operation. A column that the file lacks is nil
// and reads as null.
type (
	textColumn struct{ *leaf }
	intColumn  struct{ *leaf }
	boolColumn struct{ *leaf }
	// mapColumn is a map from strings to strings.
	mapColumn struct {
		// def is the definition level from which on the map is not null, entry that
		// from which on it has an entry.
		def, entry   int16
		keys, values *leaf
	}
	// listColumn is a list of strings.
	listColumn struct {
		def, entry int16
		element    *leaf
	}
)

func (r *record) wrong(name string) error {
	return fmt.Errorf("type of column %s.%s: %w", r.name, name, ErrCorrupt)
}

// scalar returns the leaf with the given name.
func (r *record) scalar(name string, want kind, err *error) *leaf {
	if r == nil {
		return nil
	}
	f := r.fields[name]
	if f == nil {
		return nil
	}
	if f.leaf == nil || f.leaf.kind != want || f.leaf.maxRep > 0 {
		*err = r.wrong(name)
		return nil
	}
	return f.leaf
}

func (r *record) text(name string, err *error) textColumn {
	return textColumn{r.scalar(name, kindText, err)}
}

func (r *record) integer(name string, err *error) intColumn {
	return intColumn{r.scalar(name, kindInt, err)}
}

func (r *record) boolean(name string, err *error) boolColumn {
	return boolColumn{r.scalar(name, kindBool, err)}
}

// group returns the nested struct with the given name.
func (r *record) group(name string, err *error) *record {
	g := r.fields[name]
	if g == nil {
		return nil
	}
	if g.leaf != nil {
		*err = r.wrong(name)
		return nil
	}
	if g.probe() == nil {
		return nil // no leaf records where the struct is null
	}
	return g
}

// repeated returns the repeated node of a map or list (Parquet, "Nested Types").
func (r *record) repeated(name string, err *error) (outer, entries *record) {
	g := r.group(name, err)
	if g == nil {
		return nil, nil
	}
	if len(g.order) != 1 {
		*err = r.wrong(name)
		return nil, nil
	}
	return g, g.order[0]
}

func isText(r *record) bool { return r.leaf != nil && r.leaf.kind == kindText && r.leaf.maxRep == 1 }

func (r *record) mapping(name string, err *error) *mapColumn {
	g, entries := r.repeated(name, err)
	if g == nil {
		return nil
	}
	if len(entries.order) != 2 || !isText(entries.order[0]) || !isText(entries.order[1]) {
		*err = r.wrong(name)
		return nil
	}
	return &mapColumn{def: g.def, entry: entries.def, keys: entries.order[0].leaf, values: entries.order[1].leaf}
}

// list returns the list with the given name. In lists of two levels, which old writers
// created, the element itself is repeated.
func (r *record) list(name string, err *error) *listColumn {
	g, entries := r.repeated(name, err)
	if g == nil {
		return nil
	}
	element := entries
	if entries.leaf == nil && len(entries.order) == 1 {
		element = entries.order[0]
	}
	if !isText(element) {
		*err = r.wrong(name)
		return nil
	}
	return &listColumn{def: g.def, entry: entries.def, element: element.leaf}
}

// at returns "" for null.
func (c textColumn) at(i int) string {
	if c.leaf == nil || !c.has(i) {
		return ""
	}
	return c.texts[i]
}

// pointer returns nil for null.
func (c textColumn) pointer(i int) *string {
	if c.leaf == nil || !c.has(i) {
		return nil
	}
	return &c.texts[i]
}

// at returns nil for null.
func (c intColumn) at(i int) *int64 {
	if c.leaf == nil || !c.has(i) {
		return nil
	}
	n := c.ints[i]
	return &n
}

func (c intColumn) or(i int, absent int64) int64 {
	if c.leaf == nil || !c.has(i) {
		return absent
	}
	return c.ints[i]
}

// at returns nil for null.
func (c boolColumn) at(i int) *bool {
	if c.leaf == nil || !c.has(i) {
		return nil
	}
	return new(c.ints[i] != 0)
}

func (c boolColumn) or(i int, absent bool) bool {
	if c.leaf == nil || !c.has(i) {
		return absent
	}
	return c.ints[i] != 0
}

// noEntries is shared by all empty maps, because maps of actions are never changed.
var noEntries = map[string]*string{}

// at returns nil for null.
func (c *mapColumn) at(i int, w *worker) (map[string]*string, error) {
	if c == nil || c.keys.defined(i) < c.def {
		return nil, nil
	}
	from, to := c.keys.row(i)
	other, end := c.values.row(i)
	if to-from != end-other {
		return nil, fmt.Errorf("entries of %s: %w", c.keys.column.Path(), ErrCorrupt)
	}
	if to-from == 1 && c.keys.def[from] < c.entry {
		return noEntries, nil
	}
	id := w.id[:0]
	for j := range to - from {
		if !c.keys.has(from + j) {
			return nil, fmt.Errorf("null key in %s: %w", c.keys.column.Path(), ErrCorrupt)
		}
		id = appendSized(id, c.keys.texts[from+j])
		if c.values.has(other + j) {
			id = appendSized(append(id, 1), c.values.texts[other+j])
		} else {
			id = append(id, 0)
		}
	}
	w.id = id
	if same, ok := w.maps[string(id)]; ok {
		return same, nil
	}
	out := make(map[string]*string, to-from)
	for j := range to - from {
		key := c.keys.texts[from+j]
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("duplicate key of %s: %w", c.keys.column.Path(), ErrCorrupt)
		}
		out[key] = nil
		if c.values.has(other + j) {
			value := c.values.texts[other+j]
			out[key] = &value
		}
	}
	w.cacheMap(out)
	return out, nil
}

func appendSized(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// texts returns the map without null values.
func (c *mapColumn) texts(i int, w *worker) (map[string]string, error) {
	m, err := c.at(i, w)
	if m == nil {
		return nil, err
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = *v
		}
	}
	return out, nil
}

// at returns nil for null.
func (c *listColumn) at(i int) ([]string, error) {
	if c == nil || c.element.defined(i) < c.def {
		return nil, nil
	}
	from, to := c.element.row(i)
	out := make([]string, 0, to-from)
	for j := from; j < to; j++ {
		if c.element.def[j] < c.entry {
			continue // the empty list
		}
		if !c.element.has(j) {
			return nil, fmt.Errorf("null in %s: %w", c.element.column.Path(), ErrCorrupt)
		}
		out = append(out, c.element.texts[j])
	}
	return out, nil
}
