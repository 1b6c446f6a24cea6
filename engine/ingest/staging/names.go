package staging

import "strings"

// Names finds columns, or members of a struct, by the names in a body: by the exact name
// first, else regardless of case.
type Names struct {
	exact, folded map[string]int
}

// NewNames returns the index of n names.
func NewNames(n int, name func(int) string) Names {
	x := Names{exact: make(map[string]int, n), folded: make(map[string]int, n)}
	for i := range n {
		x.exact[name(i)] = i
		x.folded[strings.ToLower(name(i))] = i
	}
	return x
}

// Find returns the number of a column, or -1.
func (x Names) Find(name []byte) int {
	if i, ok := x.exact[string(name)]; ok {
		return i
	}
	if i, ok := x.folded[strings.ToLower(string(name))]; ok {
		return i
	}
	return -1
}
