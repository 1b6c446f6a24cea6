package sqlguard

import (
	"strconv"
	"unicode/utf8"
)

// Position is a place in the user's text. Line and Column count from 1, Column
// in characters.
type Position struct{ Line, Column int }

// offset is the byte offset that the parser gave n, or -1.
func offset(n *node) int {
	v, ok := n.get("query_location").(number)
	if !ok {
		return -1
	}
	i, err := strconv.Atoi(string(v)) // "none" is 2^64-1, which does not fit
	if err != nil {
		return -1
	}
	return i
}

// place turns a byte offset of text into line and column.
func place(text string, off int) Position {
	if off < 0 || off > len(text) {
		return Position{}
	}
	line, start := 1, 0
	for i := 0; i < off; i++ {
		if text[i] == '\n' {
			line, start = line+1, i+1
		}
	}
	return Position{Line: line, Column: utf8.RuneCountInString(text[start:off]) + 1}
}
