package sqlguard

import "strings"

// stripExplain blanks a leading EXPLAIN, so that what follows keeps its
// position in the text. DuckDB cannot serialise EXPLAIN itself. The rest is
// checked like any statement, so a wrong guess here can only refuse more.
func stripExplain(text string) (rest string, found bool, refusal *Error) {
	start := skipBlank(text, 0)
	end := start + len("explain")
	if end > len(text) || !strings.EqualFold(text[start:end], "explain") {
		return text, false, nil
	}
	next := skipBlank(text, end)
	if next == end && next < len(text) {
		if text[next] != '(' {
			return text, false, nil // a longer word
		}
	}
	word := firstWord(text[next:])
	if word == "(" && !parenthesised(text, next) || strings.EqualFold(word, "analyze") || strings.EqualFold(word, "explain") {
		err := refuse(CodeStatement, "EXPLAIN", "only EXPLAIN of a query is served, without options")
		err.pos = start + 1
		return text, false, err
	}
	return text[:start] + strings.Repeat(" ", end-start) + text[end:], true, nil
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
