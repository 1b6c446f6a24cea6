package refusal

import (
	"sort"
	"strings"
)

// Near returns up to three candidates that look like name, the closest first.
// Case is ignored.
func Near(name string, candidates []string) []string {
	type scored struct {
		name string
		dist int
	}
	if len(name) > 64 {
		return nil
	}
	name = strings.ToLower(name)
	limit := 1 + len(name)/3
	row := make([]int, 129)
	var found []scored
	for _, c := range candidates {
		if len(c) > 128 {
			continue
		}
		folded := strings.ToLower(c)
		begins := strings.HasPrefix(folded, name)
		if apart := len(folded) - len(name); max(apart, -apart) > limit && !begins {
			continue // the distance is no smaller
		}
		d := editDistance(name, folded, row, limit)
		if begins && len(name) >= 3 {
			d = min(d, limit)
		}
		if d <= limit {
			found = append(found, scored{c, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].dist != found[j].dist {
			return found[i].dist < found[j].dist
		}
		return found[i].name < found[j].name
	})
	var out []string
	for i := 0; i < len(found) && i < 3; i++ {
		out = append(out, found[i].name)
	}
	return out
}

// editDistance counts the bytes to insert, drop or change, and stops counting
// beyond most. row is scratch space of more than len(b) numbers.
func editDistance(a, b string, row []int, most int) int {
	row = row[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			prev, row[j] = row[j], min(row[j]+1, row[j-1]+1, prev+cost)
			least = min(least, row[j])
		}
		if least > most {
			return least
		}
	}
	return row[len(b)]
}
