package refusal

import (
	"unicode/utf8"
)

// Position is a place in the user's text. Line and Column count from 1, Column
// in characters.
type Position struct{ Line, Column int }

// PositionIn turns a byte offset of text into line and column.
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
