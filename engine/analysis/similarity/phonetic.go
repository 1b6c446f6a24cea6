package similarity

import "strings"

// Phonetic returns a key of how a text sounds, by rules for English names that are also good
// for most other languages in Latin script, after Metaphone: vowels count at the beginning of
// words only, silent letters are left out, and spellings of one sound have one sign. Digits
// stand for themselves. The key is empty if the text has no Latin letter or digit.
func Phonetic(s string) string {
	var out []byte
	for i, word := range strings.Fields(Normalize(s)) {
		if i > 0 && len(out) > 0 && out[len(out)-1] != ' ' {
			out = append(out, ' ')
		}
		out = sound(out, latin(word))
	}
	return strings.TrimSuffix(string(out), " ")
}

// latin returns the letters and digits of ASCII of a word, without doubled letters.
func latin(word string) string {
	var b []byte
	for _, r := range word {
		switch {
		case '0' <= r && r <= '9':
			b = append(b, byte(r))
		case 'a' <= r && r <= 'z':
			if len(b) == 0 || b[len(b)-1] != byte(r) {
				b = append(b, byte(r))
			}
		}
	}
	return string(b)
}

// silent are beginnings of words whose first letter is silent.
var silent = []string{"kn", "gn", "pn", "ps", "wr", "pf"}

// sounds are the signs of spellings in order of precedence, where "" is silent. A spelling
// may depend on a vowel, or on e, i or y, that follows.
var sounds = byLetter([]rule{
	{"sch", "", "X"}, {"tch", "", "X"}, {"chr", "", "KR"}, {"chl", "", "KL"}, {"ch", "", "X"}, {"sh", "", "X"}, {"ph", "", "F"},
	{"th", "", "0"}, {"dg", "eiy", "J"}, {"dt", "", "T"}, {"tia", "", "X"}, {"tio", "", "X"}, {"cia", "", "X"}, {"sio", "", "X"},
	{"ck", "", "K"}, {"sc", "eiy", "S"}, {"cz", "", "X"}, {"sz", "", "S"}, {"ts", "", "S"}, {"tz", "", "S"}, {"gh", "aeiou", "K"},
	{"gh", "", ""}, {"wh", "", "W"}, {"rh", "", "R"}, {"c", "eiy", "S"}, {"c", "", "K"}, {"q", "", "K"}, {"k", "", "K"},
	{"g", "eiy", "J"}, {"g", "", "K"}, {"j", "", "J"}, {"x", "", "KS"}, {"z", "", "S"}, {"s", "", "S"}, {"v", "", "F"}, {"f", "", "F"},
	{"d", "", "T"}, {"t", "", "T"}, {"b", "", "B"}, {"p", "", "P"}, {"l", "", "L"}, {"m", "", "M"}, {"n", "", "N"}, {"r", "", "R"},
	{"w", "aeiouy", "W"}, {"h", "aeiouy", "H"},
})

// rule is the sign of a spelling before one of the letters of next, or anywhere if next is "".
type rule struct{ spelling, next, sign string }

// byLetter groups rules by the first letter of the spelling.
func byLetter(rules []rule) (groups [26][]rule) {
	for _, r := range rules {
		groups[r.spelling[0]-'a'] = append(groups[r.spelling[0]-'a'], r)
	}
	return groups
}

// sound appends the signs of a word of letters and digits.
func sound(out []byte, word string) []byte {
	for _, start := range silent {
		if strings.HasPrefix(word, start) {
			word = word[1:]
			break
		}
	}
	if strings.HasPrefix(word, "x") {
		word = "s" + word[1:]
	}
	if strings.HasSuffix(word, "mb") {
		word = word[:len(word)-1]
	}
	start := len(out)
	for i := 0; i < len(word); {
		size, sign := signOf(word, i)
		for k := range len(sign) {
			if len(out) == start || out[len(out)-1] != sign[k] || isDigit(sign[k]) && sign[k] != '0' {
				out = append(out, sign[k])
			}
		}
		i += size
	}
	return out
}

// signOf returns how many letters form the sound at position i of a word, and its signs.
func signOf(word string, i int) (int, string) {
	if isDigit(word[i]) {
		return 1, word[i : i+1]
	}
	if strings.IndexByte("aeiouy", word[i]) >= 0 {
		if i > 0 {
			return 1, ""
		}
		if word[i] == 'y' && len(word) > 1 && strings.IndexByte("aeiou", word[1]) >= 0 {
			return 1, "Y"
		}
		return 1, "A"
	}
	for _, rule := range sounds[word[i]-'a'] {
		if !strings.HasPrefix(word[i:], rule.spelling) {
			continue
		}
		next := i + len(rule.spelling)
		if rule.next == "" || next < len(word) && strings.IndexByte(rule.next, word[next]) >= 0 {
			return len(rule.spelling), rule.sign
		}
	}
	return 1, ""
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
