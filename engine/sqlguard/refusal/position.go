package refusal

import (
	"unicode/utf8"
)

// Position is a place in the user's text. Line and Column count from 1, Column in
// characters. The zero Position is unknown.
type Position struct{ Line, Column int }

// PositionIn returns the position of a byte offset in text, or the zero Position if it lies
// outside.
func PositionIn(text string, off int) Position {
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
