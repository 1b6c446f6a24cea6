package csvbody

import (
	"strings"
	"unicode/utf8"
)

// thousands holds the characters that can separate groups of digits, including the typographic
// apostrophe, the no-break space and the narrow no-break space.
const thousands = ",.'’_ \u00a0\u202f"

var separators = strings.Split(thousands, "")

// checkThousands checks the separator of thousands. Its error is of type [*OptionError].
func (d Dialect) checkThousands() error {
	decimal := "."
	if d.DecimalComma {
		decimal = ","
	}
	r, size := utf8.DecodeRuneInString(d.Thousands)
	one := size == len(d.Thousands) && strings.ContainsRune(thousands, r)
	switch {
	case d.Thousands == "":
		return nil
	case !one:
		return &OptionError{optionThousands, "must be a comma, a point, an apostrophe, an underscore or a space"}
	case d.Thousands == decimal:
		return &OptionError{optionThousands, "must not be the decimal separator"}
	case d.Thousands == string(rune(d.Quote)):
		return &OptionError{optionThousands, "must not be the quote"}
	}
	return nil
}

// number appends a number of the dialect to out, without separators of thousands and with a
// decimal point. It returns false for a text whose separators are not those of the dialect.
func (d Dialect) number(out, text []byte) ([]byte, bool) {
	if d.Thousands != "" {
		plain, separator, ok := Ungrouped(nil, text)
		switch {
		case ok && separator == d.Thousands:
			text = plain
		case strings.Contains(string(text), d.Thousands):
			return out, false
		}
	}
	if !d.DecimalComma {
		return append(out, text...), true
	}
	return withPoint(out, text)
}

// Ungrouped appends a number with groups of digits to out, without the separators of the groups. The
// whole part of such a number has 1 to 3 digits, the first of which is not 0, and then one or more
// groups, each of which is the separator and three digits. For any other text ok is false. The rest
// of the text must not have the separator, and is not examined otherwise.
func Ungrouped(out, text []byte) (plain []byte, separator string, ok bool) {
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	first := leadingDigits(text[i:])
	if first == 0 || first > 3 || text[i] == '0' || i+first == len(text) {
		return out, "", false
	}
	rest := text[i+first:]
	for _, s := range separators {
		if len(rest) >= len(s) && string(rest[:len(s)]) == s {
			separator = s
		}
	}
	if separator == "" {
		return out, "", false
	}
	out = append(out, text[:i+first]...)
	for len(rest) >= len(separator) && string(rest[:len(separator)]) == separator {
		rest = rest[len(separator):]
		if leadingDigits(rest) != 3 {
			return out, "", false
		}
		out, rest = append(out, rest[:3]...), rest[3:]
	}
	return append(out, rest...), separator, !strings.Contains(string(rest), separator)
}

// leadingDigits returns the number of digits at the beginning of a text.
func leadingDigits(text []byte) int {
	n := 0
	for n < len(text) && text[n]-'0' <= 9 {
		n++
	}
	return n
}

// withPoint appends a number with a decimal comma to out, with a point. It returns false for a
// text that has a point.
func withPoint(out, text []byte) ([]byte, bool) {
	for _, c := range text {
		switch c {
		case '.':
			return out, false
		case ',':
			c = '.'
		}
		out = append(out, c)
	}
	return out, true
}
