package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
)

// explained reports whether a text begins with EXPLAIN, and whether with EXPLAIN
// ANALYZE.
type explained struct{ found, analyze bool }

// stripExplain blanks a leading EXPLAIN or EXPLAIN ANALYZE, so that the positions in
// the remaining text do not change. DuckDB cannot serialise EXPLAIN itself. The
// remaining text is checked like any statement, so an error here can only refuse more.
func stripExplain(text string) (rest string, kind explained, refused *refusal.Error) {
	start := sqltext.SkipBlank(text, 0)
	end, ok := sqltext.SkipWord(text, start, "explain")
	if !ok {
		return text, explained{}, nil
	}
	kind.found = true
	next := sqltext.SkipBlank(text, end)
	if after, ok := sqltext.SkipWord(text, next, "analyze"); ok {
		kind.analyze, end = true, after
		next = sqltext.SkipBlank(text, end)
	}
	word := sqltext.FirstWord(text[next:])
	if word == "(" && !parenthesised(text, next) || strings.EqualFold(word, "analyze") || strings.EqualFold(word, "explain") {
		refused = refusal.New(refusal.CodeStatement, "EXPLAIN", "only EXPLAIN and EXPLAIN ANALYZE of a query are served, without options")
		return text, explained{}, refused.AtOffset(start)
	}
	return text[:start] + blankWords(text[start:end]) + text[end:], kind, nil
}

// blankWords replaces everything except line ends by spaces.
func blankWords(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c != '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}

// parenthesised reports whether the parenthesis at i begins a query and not options.
func parenthesised(text string, i int) bool {
	for i < len(text) && text[i] == '(' {
		i = sqltext.SkipBlank(text, i+1)
	}
	switch strings.ToLower(sqltext.FirstWord(text[i:])) {
	case "select", "with", "from", "values", "table", "pivot", "unpivot":
		return true
	}
	return false
}
