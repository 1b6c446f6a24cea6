package similarity

import (
	"math/bits"
	"unicode/utf8"
)

// short is the number of characters up to which texts are compared without allocations.
const short = 64

// runes appends the first characters of s to an empty buffer, at most most of them. An invalid
// byte is a character of its own.
func runes(buffer []rune, s string, most int) []rune {
	for len(s) > 0 && len(buffer) < most {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			r = utf8.MaxRune + 1 + rune(s[0])
		}
		buffer, s = append(buffer, r), s[size:]
	}
	return buffer
}

// JaroWinkler returns the similarity of Jaro and Winkler, with a bonus for up to four equal
// characters at the beginning of texts whose similarity of Jaro is more than 0.7. It compares
// the first 64 characters.
func JaroWinkler(a, b string) float64 {
	if a == b {
		return 1
	}
	var bufferA, bufferB [short]rune
	return jaroWinkler(runes(bufferA[:0], a, short), runes(bufferB[:0], b, short))
}

// jaroWinkler compares at most 64 characters.
func jaroWinkler(a, b []rune) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 1
		}
		return 0
	}
	window := max(max(len(a), len(b))/2-1, 0)
	var usedA, usedB uint64
	for i, r := range a {
		for j := max(i-window, 0); j < min(i+window+1, len(b)); j++ {
			if usedB>>j&1 == 0 && b[j] == r {
				usedA |= 1 << i
				usedB |= 1 << j
				break
			}
		}
	}
	matches := bits.OnesCount64(usedA)
	if matches == 0 {
		return 0
	}
	swapped := 0
	for x, y := usedA, usedB; x != 0; x, y = x&(x-1), y&(y-1) {
		if a[bits.TrailingZeros64(x)] != b[bits.TrailingZeros64(y)] {
			swapped++
		}
	}
	m := float64(matches)
	jaro := (m/float64(len(a)) + m/float64(len(b)) + (m-float64(swapped/2))/m) / 3
	if jaro <= 0.7 {
		return jaro
	}
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	return jaro + 0.1*float64(prefix)*(1-jaro)
}

// Distance returns the number of characters to insert, delete or replace, and of neighbours
// to swap, that lead from a to b, where no part is changed twice. It returns limit+1 if there
// are more than limit; limit is not negative. Its time is bounded by the length of the texts
// times limit.
func Distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	var bufferA, bufferB [short]rune
	x, y := runes(bufferA[:0], a, len(a)), runes(bufferB[:0], b, len(b))
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > limit {
		return limit + 1
	}
	if len(x) == 0 {
		return len(y)
	}
	return banded(x, y, limit)
}

// banded computes the distance of texts, of which x is not longer than y, in the band of the
// matrix whose values can be at most limit.
func banded(x, y []rune, limit int) int {
	var buffer [3][short + 1]int
	rows := [3][]int{buffer[0][:], buffer[1][:], buffer[2][:]}
	if len(y) > short {
		for i := range rows {
			rows[i] = make([]int, len(y)+1)
		}
	}
	before, last, current := rows[0], rows[1], rows[2]
	for j := range len(y) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		from, to := max(1, i-limit), min(len(y), i+limit)
		current[from-1] = limit + 1
		if from == 1 {
			current[0] = i
		}
		best := current[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(last[j-1]+cost, current[j-1]+1)
			if j < i+limit || j == i {
				d = min(d, last[j]+1)
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] && inBand(i-2, j-2, limit) {
				d = min(d, before[j-2]+1)
			}
			current[j] = d
			best = min(best, d)
		}
		if best > limit {
			return limit + 1
		}
		before, last, current = last, current, before
	}
	return min(last[len(y)], limit+1)
}

// inBand reports whether a value of the matrix has been computed.
func inBand(i, j, limit int) bool { return i == 0 || j == 0 || j >= i-limit && j <= i+limit }
