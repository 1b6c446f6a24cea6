package relation

import (
	"math"
	"slices"
)

const (
	maxDeterminants = 30
	minGroup        = 4
)

// Dependency says that equal values of some columns mostly come with one value of another.
type Dependency struct {
	// From are the one or two columns that determine the column To.
	From []int
	To   int
	// Holds is the share of rows with the most frequent value of their group, among the rows
	// of groups that have several.
	Holds float64
	// Covered is the share of the sample's rows that are in such groups.
	Covered float64
}

// Dependencies returns the dependencies that hold in at least share of the rows and that the
// frequencies of the values do not explain. One of two columns is left out where one of them
// suffices.
func (s *Sample) Dependencies(share float64) []Dependency {
	var from []int
	for i := range s.Columns {
		if s.Distinct[i] >= 2 && s.Distinct[i] <= s.Rows/minGroup && len(from) < maxDeterminants {
			from = append(from, i)
		}
	}
	var out []Dependency
	known := map[[2]int]bool{}
	for _, a := range from {
		g := s.groups([]int{a})
		for to := range s.Columns {
			if d, ok := s.dependency(g, []int{a}, to, share); ok {
				out = append(out, d)
				known[[2]int{a, to}] = true
			}
		}
	}
	for i, a := range from {
		for _, b := range from[i+1:] {
			if known[[2]int{a, b}] || known[[2]int{b, a}] {
				continue
			}
			g := s.groups([]int{a, b})
			if g.covered < s.Rows/3 {
				continue
			}
			for to := range s.Columns {
				if known[[2]int{a, to}] || known[[2]int{b, to}] {
					continue
				}
				if d, ok := s.dependency(g, []int{a, b}, to, share); ok {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// groups are the rows of a sample by values of columns, NULL left out.
type groups struct {
	// rows holds the rows of groups of at least minGroup rows, one group after the other;
	// ends holds where each group ends.
	rows, ends []int32
	covered    int
}

func (s *Sample) groups(columns []int) groups {
	ids := make([]int32, s.Rows)
	var counts []int32
	table := map[uint64]int32{}
	for row := range s.Rows {
		key := uint64(0)
		for _, c := range columns {
			if s.Codes[c][row] == 0 {
				key = 0
				break
			}
			key = key<<32 | uint64(uint32(s.Codes[c][row]))
		}
		if key == 0 {
			ids[row] = -1
			continue
		}
		id, ok := table[key]
		if !ok {
			id = int32(len(counts))
			table[key] = id
			counts = append(counts, 0)
		}
		ids[row] = id
		counts[id]++
	}
	starts := make([]int32, len(counts))
	g, at := groups{}, int32(0)
	for id, n := range counts {
		if starts[id] = -1; n >= minGroup {
			starts[id] = at
			at += n
			g.ends = append(g.ends, at)
		}
	}
	g.rows, g.covered = make([]int32, at), int(at)
	for row, id := range ids {
		if id >= 0 && starts[id] >= 0 {
			g.rows[starts[id]] = int32(row)
			starts[id]++
		}
	}
	return g
}

func (s *Sample) dependency(g groups, from []int, to int, share float64) (Dependency, bool) {
	if slices.Contains(from, to) || s.Distinct[to] < 2 || g.covered < s.Rows/3 || g.covered < 2*minSupport {
		return Dependency{}, false
	}
	counts := make([]int32, s.Distinct[to]+1)
	total, held, start := 0, 0, int32(0)
	for _, end := range g.ends {
		best, seen := int32(0), 0
		for _, row := range g.rows[start:end] {
			if code := s.Codes[to][row]; code > 0 {
				counts[code]++
				seen++
				best = max(best, counts[code])
			}
		}
		for _, row := range g.rows[start:end] {
			counts[s.Codes[to][row]] = 0
		}
		start = end
		if seen >= minGroup {
			total += seen
			held += int(best)
		}
		if total > 1500 && float64(held) < (share-0.02)*float64(total) {
			return Dependency{}, false
		}
	}
	if total < s.Rows/4 || total < 2*minSupport || float64(held) < share*float64(total) {
		return Dependency{}, false
	}
	holds, base := float64(held)/float64(total), s.TopShare(to)
	if base > 0.97 || (holds-base)/(1-base) < 0.9 {
		return Dependency{}, false
	}
	return Dependency{From: from, To: to, Holds: holds, Covered: float64(total) / float64(s.Rows)}, true
}

// TopShare returns the share of a column's most frequent value among its values.
func (s *Sample) TopShare(column int) float64 {
	counts, n, best := make([]int, s.Distinct[column]+1), 0, 0
	for _, code := range s.Codes[column] {
		if code > 0 {
			counts[code]++
			n++
			best = max(best, counts[code])
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return float64(best) / float64(n)
}
