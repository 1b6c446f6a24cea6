package sqltext

import "strings"

// SkipWord returns the position after the whole word that starts at i, and whether it
// starts there.
func SkipWord(text string, i int, word string) (int, bool) {
	end := i + len(word)
	if end > len(text) || !strings.EqualFold(text[i:end], word) || end < len(text) && (IsWord(text[end]) || text[end] >= 0x80) {
		return i, false
	}
	return end, true
}

// SkipBlank returns the position after the white space and comments that start at i.
func SkipBlank(s string, i int) int {
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

// SkipQuoted returns the position after a quoted text that starts at i.
func SkipQuoted(s string, i int, quote byte, escapes bool) int {
	for i++; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == quote:
			if i+1 >= len(s) || s[i+1] != quote {
				return i + 1
			}
			i++
		}
	}
	return len(s)
}

// DollarTag returns the opening tag of a dollar-quoted text, or an empty string.
func DollarTag(s string) string {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '$':
			return s[:i+1]
		case !IsWord(s[i]) && s[i] < 0x80, i == 1 && s[i] >= '0' && s[i] <= '9':
			return ""
		}
	}
	return ""
}

// EachWord calls f with every word of the text in lower case, and with every other
// character. Quoted text counts as the word "?", and comments are left out.
func EachWord(text string, f func(string)) {
	for i := 0; i < len(text); {
		i = SkipBlank(text, i)
		if i >= len(text) {
			return
		}
		start := i
		switch c := text[i]; {
		case c == '\'':
			i = SkipQuoted(text, i, '\'', false)
			f("?")
		case c == '"':
			i = SkipQuoted(text, i, '"', false)
			f("?")
		case c == '$' && DollarTag(text[i:]) != "":
			tag := DollarTag(text[i:])
			end := strings.Index(text[i+len(tag):], tag)
			if end < 0 {
				return
			}
			i += end + 2*len(tag)
			f("?")
		case (c == 'e' || c == 'E') && i+1 < len(text) && text[i+1] == '\'':
			i = SkipQuoted(text, i+1, '\'', true)
			f("?")
		case IsWord(c) || c >= 0x80:
			for i < len(text) && (IsWord(text[i]) || text[i] >= 0x80 || text[i] == '$') {
				i++
			}
			f(strings.ToLower(text[start:i]))
		default:
			i++
			f(text[start:i])
		}
	}
}

// FirstWord returns the first word or ASCII character of s after white space, at most 40
// bytes.
func FirstWord(s string) string {
	s = strings.TrimLeft(s, " \t\r\n")
	end := 0
	for end < len(s) && end < 40 && (IsWord(s[end])) {
		end++
	}
	if end == 0 && s != "" && s[0] < 0x80 {
		end = 1
	}
	return s[:end]
}

// IsWord reports whether b is an ASCII letter, digit or underscore.
func IsWord(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
