package csvinfer

import (
	"math/big"
	"strconv"
	"unsafe"
)

// numberForm describes the text of a number.
type numberForm struct {
	// whole and scale are the digits before and after the decimal separator.
	whole, scale int
	// separator is the decimal separator, 0 if there is none.
	separator byte
	// inexact reports a number that only DOUBLE holds: with an exponent, or not finite.
	inexact bool
	// finite is false for NaN and the infinities.
	finite bool
}

// parseNumber reads [-] digits [separator digits] [e [±] digits], or a number that is not
// finite. Text that a number would not give back is not one: leading zeros and a plus sign
// belong to codes and telephone numbers.
func parseNumber(text []byte) (f numberForm, ok bool) {
	f.finite = true
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	begin := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	f.whole = i - begin
	if f.whole > 1 && text[begin] == '0' {
		return f, false
	}
	if i < len(text) && (text[i] == '.' || text[i] == ',') {
		f.separator = text[i]
		i++
		fraction := i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		if f.scale = i - fraction; f.scale == 0 {
			return f, false
		}
	}
	switch {
	case f.whole+f.scale == 0:
		return f, isSpecial(text, &f)
	case i == len(text):
		return f, true
	case text[i]|' ' != 'e':
		return f, false
	}
	f.inexact = true
	if i++; i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	begin = i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return f, i > begin && i == len(text)
}

// isSpecial reports whether the text is NaN or an infinity, as a load reads them.
func isSpecial(text []byte, f *numberForm) bool {
	f.inexact, f.finite = true, false
	switch string(text) {
	case "NaN", "nan", "Infinity", "inf", "Inf", "-Infinity", "-inf", "-Inf":
		return true
	}
	return false
}

// isLong reports whether a number without separator and exponent is a 64-bit integer.
func isLong(text []byte) bool {
	_, err := strconv.ParseInt(unsafe.String(&text[0], len(text)), 10, 64)
	return err == nil
}

// isExactDouble reports whether DOUBLE holds a number without separator and exponent unchanged.
func isExactDouble(text []byte) bool {
	whole, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return false
	}
	_, accuracy := new(big.Float).SetInt(whole).Float64()
	return accuracy == big.Exact
}

// isDouble reports whether a number is in the range of DOUBLE.
func isDouble(text []byte) bool {
	plain := make([]byte, len(text))
	for i, c := range text {
		if c == ',' {
			c = '.'
		}
		plain[i] = c
	}
	_, err := strconv.ParseFloat(string(plain), 64)
	return err == nil
}
