package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/lakewarden/lakewarden/engine"
)

// piece is a part of a pattern: text, or any run of characters.
type piece struct {
	any  bool
	text string
}

var errPercent = errors.New(`must write * for any characters, and \% for a percent sign`)

// likePieces reads the value of the operator like: * stands for any
// characters, and \ makes the next character plain. A bare % is refused,
// because whoever writes one expects a wildcard.
func likePieces(s string) ([]piece, error) {
	var out []piece
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
func checkPattern(pieces []piece) error {
	wildcards, size := 0, 0
	for _, p := range pieces {
		size += len(p.text)
		if p.any {
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
func plainPattern(pieces []piece) bool {
	texts := 0
	for _, p := range pieces {
		if !p.any {
			texts++
		}
	}
	return texts <= 1
}

// opPieces returns the pattern that a text operator stands for.
func opPieces(op Op, s string) ([]piece, error) {
	switch op {
	case OpStartsWith:
		return []piece{{text: s}, {any: true}}, nil
	case OpContains:
		return []piece{{any: true}, {text: s}, {any: true}}, nil
	}
	return likePieces(s)
}

func appendText(p []piece, s string) []piece {
	if n := len(p); n > 0 && !p[n-1].any {
		p[n-1].text += s
		return p
	}
	return append(p, piece{text: s})
}

func appendAny(p []piece) []piece {
	if n := len(p); n > 0 && p[n-1].any {
		return p
	}
	return append(p, piece{any: true})
}

// cedarPattern converts pieces to Cedar's pattern.
func cedarPattern(pieces []piece) types.Pattern {
	parts := make([]any, len(pieces))
	for i, p := range pieces {
		parts[i] = p.text
		if p.any {
			parts[i] = types.Wildcard{}
		}
	}
	return types.NewPattern(parts...)
}

// patternPieces converts Cedar's pattern to pieces. It returns false for a form of cedar-go
// that it does not know.
func patternPieces(p types.Pattern) (pieces []piece, ok bool) {
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

// likeText prints pieces as a value of the operator like.
func likeText(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.any {
			b.WriteByte('*')
			continue
		}
		for _, r := range p.text {
			if strings.ContainsRune(`\*%`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// matchesAll reports whether every text fits the pieces.
func matchesAll(pieces []piece) bool { return len(pieces) == 1 && pieces[0].any }

// sqlMatch prints the test of a column against pieces that do not match all.
// It is NULL for NULL. The forms with a function of their own need no escape,
// and a prefix can skip files.
func sqlMatch(column string, pieces []piece) (string, bool) {
	for _, p := range pieces {
		if !storable(p.text) {
			return "", false
		}
	}
	text := func(i int) string { return engine.QuoteString(pieces[i].text) }
	switch {
	case len(pieces) == 0:
		return column + " = ''", true
	case len(pieces) == 1 && !pieces[0].any:
		return column + " = " + text(0), true
	case len(pieces) == 2 && pieces[1].any:
		return "system.main.prefix(" + column + ", " + text(0) + ")", true
	case len(pieces) == 2:
		return "system.main.suffix(" + column + ", " + text(1) + ")", true
	case len(pieces) == 3 && pieces[0].any && pieces[2].any:
		return "system.main.contains(" + column + ", " + text(1) + ")", true
	}
	if retries(pieces) > 1 {
		// The engine's LIKE with ESCAPE backtracks at every wildcard, so its time
		// grows exponentially with their number.
		return onePass(column, pieces), true
	}
	var like strings.Builder
	for _, p := range pieces {
		if p.any {
			like.WriteByte('%')
			continue
		}
		for _, r := range p.text {
			if strings.ContainsRune(`\%_`, r) {
				like.WriteByte('\\')
			}
			like.WriteRune(r)
		}
	}
	return "system.main.like_escape(" + column + ", " + engine.QuoteString(like.String()) + `, '\')`, true
}

// retries counts the wildcards at which a match can backtrack: those before other
// pieces.
func retries(pieces []piece) (n int) {
	for i, p := range pieces {
		if p.any && i+1 < len(pieces) {
			n++
		}
	}
	return n
}

// onePass returns SQL for a match that reads a value once. The engine's regular
// expressions always do so. Its LIKE without ESCAPE does so if the pattern is constant
// and needs no escapes.
func onePass(column string, pieces []piece) string {
	var like, expression strings.Builder
	escapes := false
	for _, p := range pieces {
		if p.any {
			like.WriteByte('%')
			expression.WriteString(".*")
			continue
		}
		escapes = escapes || strings.ContainsAny(p.text, `%_`)
		like.WriteString(p.text)
		expression.WriteString(regexp.QuoteMeta(p.text))
	}
	if escapes {
		return "system.main.regexp_full_match(" + column + ", " + engine.QuoteString(expression.String()) + ", 's')"
	}
	return "system.main.\"~~\"(" + column + ", " + engine.QuoteString(like.String()) + ")"
}
