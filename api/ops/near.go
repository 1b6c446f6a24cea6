package ops

import (
	"slices"
	"strings"
)

// near returns up to three of the candidates that look most like name. The
// candidates are what the caller may see; nothing else can come out.
func near(name string, candidates []string) []string {
	type scored struct {
		text     string
		distance int
	}
	var close []scored
	folded := strings.ToLower(name)
	limit := max(2, len(folded)/3)
	for _, c := range candidates {
		if d := editDistance(folded, strings.ToLower(c)); d <= limit {
			close = append(close, scored{c, d})
		}
	}
	slices.SortStableFunc(close, func(a, b scored) int { return a.distance - b.distance })
	out := make([]string, 0, 3)
	for _, s := range close[:min(3, len(close))] {
		out = append(out, s.text)
	}
	return out
}

// editDistance is the Levenshtein distance in bytes, over short names.
func editDistance(a, b string) int {
	const longest = 256
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
