package checkpoint

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// row is a node of the schema: a leaf, or a group of members by name.
type row struct {
	name string
	// def is the level from which on the node is there.
	def    int16
	leaf   *leaf
	fields map[string]*row
	order  []*row
}

// tree is the part of a row group that holds actions which we know.
type tree struct {
	actions []member
	leaves  []*leaf
}

// member is the column of one kind of action.
type member struct {
	def int16
	// probe is a leaf below, which knows in which rows the action is there.
	probe  *leaf
	decode decoder
}

func openTree(s *schema.Schema, rg *file.RowGroupReader) (*tree, error) {
	t := new(tree)
	root := s.Root()
	column := 0
	seen := make(map[string]bool)
	for i := range root.NumFields() {
		node := root.Field(i)
		open := openers[node.Name()]
		r, err := t.build(s, rg, node, 0, &column, open != nil)
		if err != nil {
			return nil, err
		}
		if open == nil {
			continue
		}
		if r.leaf != nil || seen[r.name] || node.RepetitionType() == parquet.Repetitions.Repeated {
			return nil, fmt.Errorf("column %s is no struct, or there twice: %w", r.name, ErrCorrupt)
		}
		seen[r.name] = true
		if probe := r.probe(); probe != nil {
			t.actions = append(t.actions, member{def: r.def, probe: probe, decode: open(r)})
		}
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
		below := open && (node.Name() != "add" || child.Name() != "partitionValues_parsed")
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

// probe is the first leaf below the node; nil when there is none.
func (r *row) probe() *leaf {
	if r.leaf != nil {
		return r.leaf
	}
	for _, c := range r.order {
		if l := c.probe(); l != nil {
			return l
		}
	}
	return nil
}

// action decodes a row of the batch; nil when it holds none that we know.
func (t *tree) action(i int, w *worker) (action.Action, error) {
	var found action.Action
	for _, m := range t.actions {
		if m.probe.defined(i) < m.def {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("two actions in one row: %w", ErrCorrupt)
		}
		a, err := m.decode(i, w)
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
