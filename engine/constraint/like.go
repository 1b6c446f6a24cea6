package constraint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// DuckDB matches a pattern by backtracking to every % in it, so the time for one text
// grows exponentially with the number of %, and no interrupt ends it. Only patterns that
// are constant and have neither _ nor an escape are matched in one pass. All others are
// therefore printed as regular expressions, which always take linear time, or with
// conditions on the lengths.
const (
	maxPattern  = 1_000 // constant pattern, bytes
	maxPatterns = 32    // calls in one expression that are not matched in one pass

	// maxRetried bounds a pattern with a single % that is matched as it is, and a
	// computed pattern, in bytes.
	maxRetried = 100
	// maxMatched bounds the text, in bytes, by the number of % in a computed pattern
	// before its end.
	maxMatched  = 1_000
	maxMatched2 = 100
	maxMatched3 = 40
)

// checkPattern refuses patterns of LIKE and ILIKE that are too long or malformed.
// escape may be nil.
func checkPattern(pattern, escape *expr) error {
	if escape != nil && (escape.op != opLiteral || len(escape.text) > 1) {
		return invalid("the ESCAPE of LIKE is not a constant of one ASCII character")
	}
	if pattern.op != opLiteral {
		return nil
	}
	if len(pattern.text) > maxPattern {
		return invalid("the pattern of LIKE is longer than %d bytes", maxPattern)
	}
	if _, ok := piecesOf(pattern.text, escapeOf(escape)); !ok {
		return invalid("the pattern of LIKE ends with its escape character")
	}
	return nil
}

// escapeOf returns the escape character, or "" if there is none.
func escapeOf(escape *expr) string {
	if escape == nil {
		return ""
	}
	return escape.text
}

// isPattern reports whether e is a match with a pattern that may take more than one
// pass.
func (e *expr) isPattern() bool {
	if e.op != opLike && (e.op != opCall || e.text != "ilike") {
		return false
	}
	return e.args[1].op != opLiteral || len(e.args) == 3 && e.args[2].text != "" || strings.Contains(e.args[1].text, "_")
}

// patterns counts the matches below e that may take more than one pass.
func (e *expr) patterns() int {
	n := 0
	if e.isPattern() {
		n = 1
	}
	for _, a := range e.args {
		n += a.patterns()
	}
	return n
}

// likeSQL prints LIKE and ILIKE for DuckDB. args are the printed arguments of e.
func (e *expr) likeSQL(args []string) string {
	folded := e.op == opCall // ILIKE is LIKE of both sides in lower case
	if folded {
		args = []string{"lower(" + args[0] + ")", "lower(" + args[1] + ")"}
	}
	plain := "(" + args[0] + " LIKE " + args[1] + ")"
	if !e.isPattern() {
		return plain
	}
	var escape *expr
	if len(args) == 3 {
		escape = e.args[2]
	}
	if e.args[1].op != opLiteral {
		return computedLike(args, escapeOf(escape))
	}
	if escape != nil {
		plain = "(" + args[0] + " LIKE " + args[1] + " ESCAPE " + args[2] + ")"
	}
	pieces, _ := piecesOf(e.args[1].text, escapeOf(escape))
	if retries(pieces) <= 1 && len(e.args[1].text) <= maxRetried {
		return plain
	}
	return "regexp_full_match(" + args[0] + ", " + expressionOf(pieces, folded) + ", 's')"
}

// piece is a part of a pattern: a text, or wildcards: at least so many characters, and
// any number of them if more is set.
type piece struct {
	text  string
	least int
	more  bool
}

// piecesOf splits a pattern. Texts and wildcards take turns, so that wildcards in a row
// are one piece. It returns false if the pattern ends with its escape character.
func piecesOf(pattern, escape string) (pieces []piece, ok bool) {
	add := func(wild bool) *piece {
		if n := len(pieces); n == 0 || (pieces[n-1].text == "") != wild {
			pieces = append(pieces, piece{})
		}
		return &pieces[len(pieces)-1]
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case escape != "" && c == escape[0]:
			if i++; i == len(pattern) {
				return nil, false
			}
			add(false).text += pattern[i : i+1]
		case c == '%':
			add(true).more = true
		case c == '_':
			add(true).least++
		default:
			add(false).text += pattern[i : i+1]
		}
	}
	return pieces, true
}

// retries counts the pieces to which a match can backtrack.
func retries(pieces []piece) (n int) {
	for i, p := range pieces {
		if p.more && (i+1 < len(pieces) || p.least > 0) {
			n++
		}
	}
	return n
}

// expressionOf prints the regular expression of a pattern, in lower case as the engine
// folds it if folded is set.
func expressionOf(pieces []piece, folded bool) string {
	var parts []string
	for _, p := range pieces {
		wild := strings.Repeat(".", p.least)
		if p.more {
			wild += ".*"
		}
		switch {
		case p.text == "":
			parts = append(parts, engine.QuoteString(wild))
		case folded:
			parts = append(parts, "regexp_escape(lower("+engine.QuoteString(p.text)+"))")
		default:
			parts = append(parts, engine.QuoteString(regexp.QuoteMeta(p.text)))
		}
	}
	return "concat(" + strings.Join(parts, ", ") + ")"
}

// computedLike prints a match with a pattern that is only known for each row. It fails if
// text and pattern are so long that it could take long, and if the pattern ends with its
// escape character, an error of the engine that TRY does not catch. A failure breaks the
// constraint, whatever the constraint makes of an unknown match. A lambda names the
// operands, because each of them occurs several times.
func computedLike(args []string, escape string) string {
	const value, pattern = "lw_like.v", "lw_like.p"
	fields, match := "v: "+args[0]+", p: "+args[1], value+" LIKE "+pattern
	size := "strlen(" + value + ")"
	// A match does not backtrack to a % at the end of the pattern.
	trimmed := "rtrim(" + pattern + ", '%')"
	wild := "(strlen(" + trimmed + ") - strlen(replace(" + trimmed + ", '%', '')))"
	over := fmt.Sprintf("strlen(%s) > %d OR %s > CASE %s WHEN 0 THEN %d WHEN 1 THEN %d WHEN 2 THEN %d WHEN 3 THEN %d ELSE -1 END",
		pattern, maxRetried, size, wild, maxMatched, maxMatched, maxMatched2, maxMatched3)
	if escape != "" {
		quoted := engine.QuoteString(escape)
		match += " ESCAPE " + quoted
		over += " OR (strlen(" + pattern + ") - strlen(rtrim(" + pattern + ", " + quoted + "))) % 2 = 1"
	}
	return "list_transform([{" + fields + "}], lambda lw_like: CASE WHEN " + over + " THEN error('too long for this pattern')::BOOLEAN ELSE " +
		match + " END)[1]"
}
