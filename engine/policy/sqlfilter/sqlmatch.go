package sqlfilter

import (
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// sqlMatch prints the test of a column against pieces that do not match every text. The test is
// NULL for NULL. Patterns with an equivalent function need no escape, and prefixes allow pruning.
func sqlMatch(column string, pieces []policy.Piece) (string, bool) {
	for _, p := range pieces {
		if !policy.Storable(p.Text) {
			return "", false
		}
	}
	text := func(i int) string { return engine.QuoteString(pieces[i].Text) }
	switch {
	case len(pieces) == 0:
		return column + " = ''", true
	case len(pieces) == 1 && !pieces[0].Any:
		return column + " = " + text(0), true
	case len(pieces) == 2 && pieces[1].Any:
		return "system.main.prefix(" + column + ", " + text(0) + ")", true
	case len(pieces) == 2:
		return "system.main.suffix(" + column + ", " + text(1) + ")", true
	case len(pieces) == 3 && pieces[0].Any && pieces[2].Any:
		return "system.main.contains(" + column + ", " + text(1) + ")", true
	}
	if retries(pieces) > 1 {
		// The engine's LIKE with ESCAPE backtracks at every wildcard, so its time
		// grows exponentially with their number.
		return onePass(column, pieces), true
	}
	var like strings.Builder
	for _, p := range pieces {
		if p.Any {
			like.WriteByte('%')
			continue
		}
		for _, r := range p.Text {
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
func retries(pieces []policy.Piece) (n int) {
	for i, p := range pieces {
		if p.Any && i+1 < len(pieces) {
			n++
		}
	}
	return n
}

// onePass returns SQL for a match that reads a value once. The engine's regular
// expressions always do so. Its LIKE without ESCAPE does so if the pattern is constant
// and needs no escapes.
func onePass(column string, pieces []policy.Piece) string {
	var like, expression strings.Builder
	escapes := false
	for _, p := range pieces {
		if p.Any {
			like.WriteByte('%')
			expression.WriteString(".*")
			continue
		}
		escapes = escapes || strings.ContainsAny(p.Text, `%_`)
		like.WriteString(p.Text)
		expression.WriteString(regexp.QuoteMeta(p.Text))
	}
	if escapes {
		return "system.main.regexp_full_match(" + column + ", " + engine.QuoteString(expression.String()) + ", 's')"
	}
	return "system.main.\"~~\"(" + column + ", " + engine.QuoteString(like.String()) + ")"
}
