package records

import (
	"math"
	"runtime"
	"sync"
)

// model has the weights of the comparison of two records.
type model struct {
	t *table
	// records is the number of records as a float.
	records float64
	// chance has, by field and level, how often two random records agree so; match how often
	// two records of one thing do.
	chance, match [][levels]float64
	// weights has the evidence by field and level.
	weights [][levels]float64
	// implied has, by pair of fields, the evidence that remains of equality in the second field
	// where the first one is equal.
	implied [][]float64
	// apart has, by field, the points of a difference. Records with two points are of different
	// things, however strong the other evidence is.
	apart []int
	// order are the fields by falling evidence of equal values.
	order []int
	// doubt is the evidence against every match: identifiers that always differ.
	doubt float64
	// matches is the expected number of pairs of records of one thing.
	matches float64
}

// prior is what is known of the errors of records before any are seen: the shares of levels,
// and the number of pairs that this knowledge is worth.
var prior = [levels]float64{different: 0.09, similar: 0.05, near: 0.1, equal: 0.76}

const priorPairs = 40

// maxDifferent bounds the learned share of matches that differ in a column. Without it,
// frequent pairs that differ in many columns would be learned as matches.
const maxDifferent = 0.25

// samples is the number of random pairs from which chances are estimated.
const samples = 200_000

// newModel returns the model before it has learned from pairs.
func (t *table) newModel(doubt float64) *model {
	m := &model{t: t, records: float64(t.records()), chance: make([][levels]float64, len(t.fields)),
		match: make([][levels]float64, len(t.fields)), apart: make([]int, len(t.fields))}
	m.matches, m.doubt = max(0.1*m.records, 1), doubt
	for j := range t.fields {
		m.match[j] = m.start(j)
		switch f := t.fields[j]; {
		case f.kind == moment:
			m.apart[j] = 2 // Events at other times are other events.
		case f.kind == digits && f.bits > math.Log2(m.records)-3:
			// One such number can contain an error. If two differ, such as a date of birth and
			// an insurance number, the records are of two people, possibly of one household.
			m.apart[j] = 1
		}
	}
	parallel(len(t.fields), func(j int) { m.estimateChance(j) })
	m.weigh()
	m.estimateImplied()
	return m
}

// start returns the shares of levels of field j before anything is learned.
func (m *model) start(j int) [levels]float64 {
	shares := prior
	if k := m.t.fields[j].kind; k == measure || k == moment {
		shares = [levels]float64{different: 0.1, similar: 0, near: 0, equal: 0.9}
	}
	return shares
}

// parallel calls do for each of n tasks, on all processors.
func parallel(n int, do func(i int)) {
	var next sync.Mutex
	var group sync.WaitGroup
	task := 0
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for {
				next.Lock()
				i := task
				task++
				next.Unlock()
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	group.Wait()
}

// estimateChance compares random pairs in field j.
func (m *model) estimateChance(j int) {
	t, n := m.t, uint64(m.t.records())
	var seen [levels]float64
	for s := range min(uint64(samples), n*n) {
		a, b := mix(2*s)%n, mix(2*s+1)%n
		if a != b {
			seen[t.fields[j].compare(t.row(int(a))[j], t.row(int(b))[j])]++ //nolint:gosec // They are less than n.
		}
	}
	total := 0.0
	for l := different; l < levels; l++ {
		seen[l] += 0.5
		total += seen[l]
	}
	for l := different; l < levels; l++ {
		m.chance[j][l] = seen[l] / total
	}
	m.chance[j][equal] = math.Exp2(-t.fields[j].bits)
}

// weigh computes the evidence of all levels.
func (m *model) weigh() {
	m.weights = make([][levels]float64, len(m.t.fields))
	for j := range m.weights {
		for l := missing; l < levels; l++ {
			m.weights[j][l] = m.weight(j, l)
		}
	}
}

// weight returns the evidence of a level of field j, where that of equal values leaves out
// the value itself.
func (m *model) weight(j int, l level) float64 {
	switch l {
	case missing:
		return 0
	case equal:
		return math.Log2(m.match[j][equal])
	case different:
		if m.t.fields[j].kind == moment {
			return -12
		}
	}
	w := math.Log2(m.match[j][l] / m.chance[j][l])
	if l == different {
		return min(w, 0)
	}
	// Values that are alike are less evidence than the average equal value.
	return min(w, 0.8*m.t.fields[j].bits)
}

// pairRandom are the random pairs from which the dependency of columns is estimated.
const pairRandom = 10_000

// dependent is the share of pairs from which on the equality of one column is expected where
// another one is equal.
const dependent = 0.3

// estimateImplied finds columns that are often equal where another one is. Columns that
// tell nearly every record from every other are left out: where they are equal, the
// records are of one thing.
func (m *model) estimateImplied() {
	t := m.t
	m.implied = make([][]float64, len(t.fields))
	for i := range t.fields {
		m.implied[i] = make([]float64, len(t.fields))
		for j := range m.implied[i] {
			m.implied[i][j] = math.Inf(1)
		}
		m.order = append(m.order, i)
	}
	sortBy(m.order, func(j int) float64 { return -t.fields[j].bits })
	parallel(len(t.fields), func(i int) {
		if f := t.fields[i]; f.bits > 0.5 && f.bits <= math.Log2(m.records)-3 {
			m.estimateImpliedBy(i)
		}
	})
	for i := range t.fields {
		for j := range i {
			if t.derived(i, j) {
				m.implied[i][j], m.implied[j][i] = 0, 0
			}
		}
	}
}

// leastRepeats is the number of repeated values from which a column counts as derived from
// another one.
const leastRepeats = 20

// derived reports whether two columns of codes, numbers or dates say the same: each value of
// one occurs with one value of the other only, as a day and the day four weeks later.
func (t *table) derived(i, j int) bool {
	a, b := t.fields[i], t.fields[j]
	if a.kind == words || b.kind == words || len(a.counts) != len(b.counts) {
		return false
	}
	ofA, ofB := make([]uint32, len(a.counts)), make([]uint32, len(b.counts))
	repeats := 0
	for record := range t.records() {
		row := t.row(record)
		x, y := row[i], row[j]
		if (x == 0) != (y == 0) {
			return false
		}
		if x == 0 {
			continue
		}
		if ofA[x] == 0 && ofB[y] == 0 {
			ofA[x], ofB[y] = y, x
			continue
		}
		if ofA[x] != y || ofB[y] != x {
			return false
		}
		repeats++
	}
	return repeats >= leastRepeats
}

// estimateImpliedBy finds the columns that are often equal where field i is.
func (m *model) estimateImpliedBy(i int) {
	t, f := m.t, m.t.fields[i]
	starts := make([]int32, len(f.counts)+1)
	for n, count := range f.counts {
		starts[n+1] = starts[n] + count
	}
	sorted, next := make([]int32, t.records()), append([]int32(nil), starts...)
	for record := range t.records() {
		n := t.row(record)[i]
		sorted[next[n]] = int32(record) //nolint:gosec // The budget bounds it.
		next[n]++
	}
	both, agree := make([]float64, len(t.fields)), make([]float64, len(t.fields))
	n := uint64(t.records())
	for s := range uint64(pairRandom) {
		a := int(mix(s) % n) //nolint:gosec // It is less than n.
		group := sorted[starts[t.row(a)[i]]:starts[t.row(a)[i]+1]]
		b := int(group[mix(s+pairRandom)%uint64(len(group))])
		if a == b || t.row(a)[i] == 0 {
			continue
		}
		for j := range t.fields {
			if x, y := t.row(a)[j], t.row(b)[j]; x != 0 && y != 0 {
				both[j] += float64(len(group))
				if x == y {
					agree[j] += float64(len(group))
				}
			}
		}
	}
	for j := range t.fields {
		if share := agree[j] / max(both[j], 1); j != i && share > dependent {
			m.implied[i][j] = -math.Log2(share)
		}
	}
}

// odds returns the logarithm of the odds that two random records are of one thing.
func (m *model) odds() float64 {
	return math.Log2(m.matches/max(m.records*(m.records-1)/2, 1)) - m.doubt
}

// probability returns the probability of a match from the logarithm of its odds.
func probability(odds float64) float64 { return 1 / (1 + math.Exp2(-odds)) }
