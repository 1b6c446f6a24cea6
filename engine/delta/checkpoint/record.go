package checkpoint

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// record is a node of the schema: a leaf, or a group with named members.
type record struct {
	name string
	// def is the definition level from which on the node is not null.
	def    int16
	leaf   *leaf
	fields map[string]*record
	order  []*record
}

// tree is the part of a row group that holds known actions.
type tree struct {
	actions []member
	leaves  []*leaf
}

// member is the column of one kind of action.
type member struct {
	def int16
	// probe is a leaf of the column; its definition levels show which rows have the
	// action.
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
			return nil, fmt.Errorf("column %s is duplicate, repeated or not a struct: %w", r.name, ErrCorrupt)
		}
		seen[r.name] = true
		if probe := r.probe(); probe != nil {
			t.actions = append(t.actions, member{def: r.def, probe: probe, decode: open(r)})
		}
	}
	return t, nil
}

// build opens a node and its descendants. If open is false, it only counts their leaf
// columns.
func (t *tree) build(s *schema.Schema, rg *file.RowGroupReader, node schema.Node, def int16, column *int, open bool) (*record, error) {
	if node.RepetitionType() != parquet.Repetitions.Required {
		def++
	}
	r := &record{name: node.Name(), def: def}
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
	r.fields = make(map[string]*record, group.NumFields())
	for i := range group.NumFields() {
		child := group.Field(i)
		// The typed partition values duplicate add.partitionValues.
		below := open && (node.Name() != "add" || child.Name() != "partitionValues_parsed")
		c, err := t.build(s, rg, child, def, column, below)
		if err != nil {
			return nil, err
		}
		if !below {
			continue
		}
		if r.fields[c.name] != nil {
			return nil, fmt.Errorf("duplicate column %s.%s: %w", r.name, c.name, ErrCorrupt)
		}
		r.fields[c.name] = c
		r.order = append(r.order, c)
	}
	return r, nil
}

// probe returns the first leaf in the node, or nil if there is none.
func (r *record) probe() *leaf {
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

// action decodes a row of the batch. It returns nil if the row has no known action.
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
