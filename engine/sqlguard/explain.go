package sqlguard

import "strings"

// explained reports whether a text begins with EXPLAIN, and whether with EXPLAIN
// ANALYZE.
type explained struct{ found, analyze bool }

// stripExplain blanks a leading EXPLAIN or EXPLAIN ANALYZE, so that the positions in
// the remaining text do not change. DuckDB cannot serialise EXPLAIN itself. The
// remaining text is checked like any statement, so an error here can only refuse more.
func stripExplain(text string) (rest string, kind explained, refusal *Error) {
	start := skipBlank(text, 0)
	end, ok := skipWord(text, start, "explain")
	if !ok {
		return text, explained{}, nil
	}
	kind.found = true
	next := skipBlank(text, end)
	if after, ok := skipWord(text, next, "analyze"); ok {
		kind.analyze, end = true, after
		next = skipBlank(text, end)
	}
	word := firstWord(text[next:])
	if word == "(" && !parenthesised(text, next) || strings.EqualFold(word, "analyze") || strings.EqualFold(word, "explain") {
		err := refuse(CodeStatement, "EXPLAIN", "only EXPLAIN and EXPLAIN ANALYZE of a query are served, without options")
		err.pos = start + 1
		return text, explained{}, err
	}
	return text[:start] + blankWords(text[start:end]) + text[end:], kind, nil
}

// skipWord returns the position after the whole word at position i.
func skipWord(text string, i int, word string) (int, bool) {
	end := i + len(word)
	if end > len(text) || !strings.EqualFold(text[i:end], word) || end < len(text) && (isWord(text[end]) || text[end] >= 0x80) {
		return i, false
	}
	return end, true
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

// parenthesised tells a query in parentheses from options.
func parenthesised(text string, i int) bool {
	for i < len(text) && text[i] == '(' {
		i = skipBlank(text, i+1)
	}
	switch strings.ToLower(firstWord(text[i:])) {
	case "select", "with", "from", "values", "table", "pivot", "unpivot":
		return true
	}
	return false
}

// skipBlank moves over white space and comments.
func skipBlank(s string, i int) int {
	for i < len(s) {
		switch {
		case strings.IndexByte(" \t\r\n\f\v", s[i]) >= 0:
			i++
		case strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return len(s)
			}
			i += n + 1
		case strings.HasPrefix(s[i:], "/*"):
			i = skipComment(s, i)
		default:
			return i
		}
	}
	return i
}

// skipComment returns the position after a comment that starts at i. Comments
// nest.
func skipComment(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(s[i:], "*/"):
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return i
}
