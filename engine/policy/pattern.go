package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
)

// Piece is a part of a pattern: a text or, if Any is set, any run of characters.
type Piece struct {
	Any  bool
	Text string
}

var errPercent = errors.New(`must write * for any characters, and \% for a percent sign`)

// likePieces parses the value of the operator like: * matches any
// characters, and \ makes the next character plain. A bare % is refused,
// because whoever writes one expects a wildcard.
func likePieces(s string) ([]Piece, error) {
	var out []Piece
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			out, escaped = appendText(out, string(r)), false
		case r == '\\':
			escaped = true
		case r == '*':
			out = appendAny(out)
		case r == '%':
			return nil, errPercent
		default:
			out = appendText(out, string(r))
		}
	}
	if escaped {
		return nil, errors.New(`must not end with a single \`)
	}
	return out, nil
}

// The limits of a pattern keep matching linear in the length of a value: within them,
// the engine's automaton for several wildcards fits in its memory. A pattern of a
// single text with wildcards around it has a faster test and no limit.
const (
	maxWildcards    = 64
	maxPatternBytes = 1000
)

var (
	errWildcards   = fmt.Errorf("the pattern has more than %d wildcards", maxWildcards)
	errLongPattern = fmt.Errorf("a pattern with a wildcard inside has at most %d bytes", maxPatternBytes)
)

// checkPattern refuses patterns beyond the limits.
func checkPattern(pieces []Piece) error {
	wildcards, size := 0, 0
	for _, p := range pieces {
		size += len(p.Text)
		if p.Any {
			wildcards++
		}
	}
	switch {
	case wildcards > maxWildcards:
		return errWildcards
	case size > maxPatternBytes && !plainPattern(pieces):
		return errLongPattern
	}
	return nil
}

// plainPattern reports whether a pattern is at most one text, optionally with a
// wildcard on either side.
func plainPattern(pieces []Piece) bool {
	texts := 0
	for _, p := range pieces {
		if !p.Any {
			texts++
		}
	}
	return texts <= 1
}

// opPieces returns the pattern that is equivalent to a text operator.
func opPieces(op Op, s string) ([]Piece, error) {
	switch op {
	case OpStartsWith:
		return []Piece{{Text: s}, {Any: true}}, nil
	case OpContains:
		return []Piece{{Any: true}, {Text: s}, {Any: true}}, nil
	}
	return likePieces(s)
}

func appendText(p []Piece, s string) []Piece {
	if n := len(p); n > 0 && !p[n-1].Any {
		p[n-1].Text += s
		return p
	}
	return append(p, Piece{Text: s})
}

func appendAny(p []Piece) []Piece {
	if n := len(p); n > 0 && p[n-1].Any {
		return p
	}
	return append(p, Piece{Any: true})
}

// CedarPattern converts pieces to a pattern of Cedar.
func CedarPattern(pieces []Piece) types.Pattern {
	parts := make([]any, len(pieces))
	for i, p := range pieces {
		parts[i] = p.Text
		if p.Any {
			parts[i] = types.Wildcard{}
		}
	}
	return types.NewPattern(parts...)
}

// PatternPieces converts a pattern of Cedar to pieces. It returns false for an unknown
// form of cedar-go's pattern.
func PatternPieces(p types.Pattern) (pieces []Piece, ok bool) {
	var parts []any
	encoded, err := p.MarshalJSON() // only the JSON form of a pattern exposes its parts
	if err != nil || json.Unmarshal(encoded, &parts) != nil {
		return nil, false
	}
	for _, part := range parts {
		if part == "Wildcard" {
			pieces = appendAny(pieces)
			continue
		}
		object, _ := part.(map[string]any)
		text, ok := object["Literal"].(string)
		if !ok {
			return nil, false
		}
		pieces = appendText(pieces, text)
	}
	return pieces, true
}

// LikeText returns pieces as a value of the operator like.
func LikeText(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Any {
			b.WriteByte('*')
			continue
		}
		for _, r := range p.Text {
			if strings.ContainsRune(`\*%`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// MatchesAll reports whether every text matches the pieces.
func MatchesAll(pieces []Piece) bool { return len(pieces) == 1 && pieces[0].Any }
