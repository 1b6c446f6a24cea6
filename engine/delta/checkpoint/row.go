package checkpoint

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// row is a node of the schema together with its content in the current row: a
// leaf, or a group of members by name.
type row struct {
	name string
	// def is the level from which on the node is there.
	def    int16
	leaf   *leaf
	fields map[string]*row
	order  []*row
}

// tree is the part of a file that holds actions which we know.
type tree struct {
	actions []*row
	leaves  []*leaf
}

func openTree(s *schema.Schema, rg *file.RowGroupReader) (*tree, error) {
	t := new(tree)
	root := s.Root()
	column := 0
	seen := make(map[string]bool)
	for i := range root.NumFields() {
		node := root.Field(i)
		open := decoders[node.Name()] != nil
		r, err := t.build(s, rg, node, 0, &column, open)
		if err != nil {
			return nil, err
		}
		if !open {
			continue
		}
		if r.leaf != nil || seen[r.name] || node.RepetitionType() == parquet.Repetitions.Repeated {
			return nil, fmt.Errorf("column %s is no struct, or there twice: %w", r.name, ErrCorrupt)
		}
		seen[r.name] = true
		t.actions = append(t.actions, r)
	}
	return t, nil
}

// build opens a node and what lies below it; with open false it only counts
// the columns that it passes.
func (t *tree) build(s *schema.Schema, rg *file.RowGroupReader, node schema.Node, def int16, column *int, open bool) (*row, error) {
	if node.RepetitionType() != parquet.Repetitions.Required {
		def++
	}
	r := &row{name: node.Name(), def: def}
	group, ok := node.(*schema.GroupNode)
	if !ok {
		i := *column
		*column++
		if !open {
			return r, nil
		}
		l, err := openLeaf(s.Column(i), rg, i)
		if err != nil {
			return nil, err
		}
		r.leaf = l
		t.leaves = append(t.leaves, l)
		return r, nil
	}
	r.fields = make(map[string]*row, group.NumFields())
	for i := range group.NumFields() {
		child := group.Field(i)
		// The typed form of the partition values repeats the text.
		below := open && child.Name() != "partitionValues_parsed"
		c, err := t.build(s, rg, child, def, column, below)
		if err != nil {
			return nil, err
		}
		if !below {
			continue
		}
		if r.fields[c.name] != nil {
			return nil, fmt.Errorf("column %s.%s twice: %w", r.name, c.name, ErrCorrupt)
		}
		r.fields[c.name] = c
		r.order = append(r.order, c)
	}
	return r, nil
}

// action decodes the current row; nil when it holds none that we know.
func (t *tree) action() (action.Action, error) {
	var found action.Action
	for _, r := range t.actions {
		if !r.present() {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("two actions in one row: %w", ErrCorrupt)
		}
		a, err := decoders[r.name](r)
		if err != nil {
			return nil, err
		}
		if err := action.Validate(a); err != nil {
			return nil, err
		}
		found = a
	}
	return found, nil
}

// present reports whether the node is not null. Every leaf below it knows.
func (r *row) present() bool {
	n := r
	for n.leaf == nil {
		if len(n.order) == 0 {
			return false
		}
		n = n.order[0]
	}
	return n.leaf.cells[0].def >= r.def
}

func (r *row) wrong(name string) error {
	return fmt.Errorf("type of column %s.%s: %w", r.name, name, ErrCorrupt)
}

// scalar returns the cell of a leaf, or false when it is null or absent.
func (r *row) scalar(name string, want kind, err *error) (cell, bool) {
	f := r.fields[name]
	if f == nil {
		return cell{}, false
	}
	if f.leaf == nil || f.leaf.kind != want || f.leaf.maxRep > 0 {
		*err = r.wrong(name)
		return cell{}, false
	}
	c := f.leaf.cells[0]
	return c, c.def >= f.leaf.maxDef
}

// text returns "" for null.
func (r *row) text(name string, err *error) string {
	c, _ := r.scalar(name, kindText, err)
	return c.text
}

func (r *row) integer(name string, err *error) *int64 {
	c, ok := r.scalar(name, kindInt, err)
	if !ok {
		return nil
	}
	return &c.num
}

func (r *row) integerOr(name string, absent int64, err *error) int64 {
	if n := r.integer(name, err); n != nil {
		return *n
	}
	return absent
}

func (r *row) boolean(name string, absent bool, err *error) bool {
	c, ok := r.scalar(name, kindBool, err)
	if !ok {
		return absent
	}
	return c.num != 0
}

// group returns a nested struct, or nil for null.
func (r *row) group(name string, err *error) *row {
	g := r.fields[name]
	if g == nil {
		return nil
	}
	if g.leaf != nil {
		*err = r.wrong(name)
		return nil
	}
	if !g.present() {
		return nil
	}
	return g
}

// repeated returns the repeated node in a map or list (Parquet, "Nested
// Types"), or nil for null.
func (r *row) repeated(name string, err *error) *row {
	g := r.group(name, err)
	if g == nil {
		return nil
	}
	if len(g.order) != 1 {
		*err = r.wrong(name)
		return nil
	}
	return g.order[0]
}

// mapping returns nil for null.
func (r *row) mapping(name string, err *error) map[string]*string {
	entries := r.repeated(name, err)
	if entries == nil {
		return nil
	}
	if len(entries.order) != 2 || !isText(entries.order[0]) || !isText(entries.order[1]) {
		*err = r.wrong(name)
		return nil
	}
	keys, values := entries.order[0].leaf, entries.order[1].leaf
	out := make(map[string]*string, len(keys.cells))
	if len(keys.cells) != len(values.cells) {
		*err = fmt.Errorf("entries of %s.%s: %w", r.name, name, ErrCorrupt)
		return nil
	}
	for i, key := range keys.cells {
		if key.def < entries.def {
			continue // the empty map
		}
		if _, twice := out[key.text]; twice || key.def < keys.maxDef {
			*err = fmt.Errorf("key of %s.%s: %w", r.name, name, ErrCorrupt)
			return nil
		}
		out[key.text] = nil
		if v := values.cells[i]; v.def >= values.maxDef {
			out[key.text] = &v.text
		}
	}
	return out
}

func isText(r *row) bool { return r.leaf != nil && r.leaf.kind == kindText && r.leaf.maxRep == 1 }

// texts is mapping without null values.
func (r *row) texts(name string, err *error) map[string]string {
	m := r.mapping(name, err)
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

// list returns nil for null. Lists of two levels, which old writers made, have
// the element itself repeated.
func (r *row) list(name string, err *error) []string {
	entries := r.repeated(name, err)
	if entries == nil {
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
	out := make([]string, 0, len(element.leaf.cells))
	for _, c := range element.leaf.cells {
		if c.def < entries.def {
			continue // the empty list
		}
		if c.def < element.leaf.maxDef {
			*err = fmt.Errorf("null in %s.%s: %w", r.name, name, ErrCorrupt)
			return nil
		}
		out = append(out, c.text)
	}
	return out
}
