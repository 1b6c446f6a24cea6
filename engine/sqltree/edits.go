package sqltree

// Edits are changes to a tree that are made after the tree has been walked.
type Edits struct{ list []func() }

// Add adds a change.
func (e *Edits) Add(change func()) { e.list = append(e.list, change) }

// Replace adds a change that replaces n with the result of build, under the alias of n.
func (e *Edits) Replace(n *Node, build func() *Node) {
	e.Add(func() {
		alias := n.Str("alias")
		replacement := build()
		replacement.Set("alias", alias)
		n.Become(replacement)
	})
}

// Len returns the number of changes.
func (e *Edits) Len() int { return len(e.list) }

// Apply makes the changes in the order in which they were added.
func (e *Edits) Apply() {
	for _, change := range e.list {
		change()
	}
}
