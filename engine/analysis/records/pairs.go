package records

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxPairs is the number of pairs of records that are kept while rates are learned.
const maxPairs = 4_000_000

// pair is two records with the outcome of their comparison.
type pair struct {
	a, b int32
	// levels has four bits for each field.
	levels uint64
	// values is the evidence of the values that are equal.
	values float32
	// odds is the logarithm of the odds of a match.
	odds float32
}

func (p pair) level(j int) level { return level(p.levels >> (4 * j) & 15) }

// comparer compares records. It is for one goroutine.
type comparer struct {
	m *model
	// floor is the evidence that a pair needs to be kept.
	floor float64
	// best is the most evidence that a field has without equality.
	best  []float64
	kept  []pair
	pairs int
}

func (m *model) comparer() *comparer {
	c := &comparer{m: m, floor: -m.odds() - 7, best: make([]float64, len(m.t.fields))}
	for j := range c.best {
		c.best[j] = max(0, m.weights[j][near], m.weights[j][similar])
	}
	return c
}

// compare compares two records and keeps the pair if it may be a match.
func (c *comparer) compare(a, b int32) {
	c.pairs++
	p, ok := c.m.compare(a, b, c.best, c.floor)
	if !ok {
		return
	}
	c.kept = append(c.kept, p)
	if len(c.kept) >= maxPairs {
		c.kept = strongest(c.kept, maxPairs/2)
	}
}

// strongest returns the pairs with the most evidence.
func strongest(pairs []pair, n int) []pair {
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.odds, x.odds), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return pairs[:min(n, len(pairs))]
}

// compare compares two records. It reports false if the evidence does not reach floor.
func (m *model) compare(a, b int32, best []float64, floor float64) (pair, bool) {
	t := m.t
	x, y := t.row(int(a)), t.row(int(b))
	var open [maxFields]int
	n, sum := 0, 0.0
	var equals [maxFields]bool
	p := pair{a: min(a, b), b: max(a, b)}
	// The most that the pair can reach.
	for _, j := range m.order {
		switch {
		case x[j] == 0 || y[j] == 0:
		case x[j] == y[j]:
			equals[j] = true
			evidence := m.equalEvidence(j, x[j], &equals)
			sum += evidence + m.weights[j][equal]
			p.values += float32(evidence)
			p.levels |= uint64(equal) << (4 * j)
		case best[j] == 0:
			p.levels |= uint64(different) << (4 * j)
			sum += m.weights[j][different]
		default:
			open[n] = j
			n++
			sum += best[j]
		}
	}
	for _, j := range open[:n] {
		if sum < floor {
			return p, false
		}
		l := t.fields[j].compare(x[j], y[j])
		p.levels |= uint64(l) << (4 * j)
		sum += m.weights[j][l] - best[j]
	}
	if sum < floor {
		return p, false
	}
	m.swaps(x, y, &p)
	p.odds = float32(m.score(p))
	return p, float64(p.odds)-m.odds() >= floor
}

// swaps finds the values of two columns of words that are exchanged.
func (m *model) swaps(x, y []uint32, p *pair) {
	t := m.t
	for i, f := range t.fields {
		if f.kind != words || p.level(i) != different {
			continue
		}
		for j := i + 1; j < len(t.fields); j++ {
			g := t.fields[j]
			if g.kind != words || p.level(j) != different || len(f.values.text(x[i])) != len(g.values.text(y[j])) {
				continue
			}
			if string(f.values.text(x[i])) == string(g.values.text(y[j])) && string(f.values.text(y[i])) == string(g.values.text(x[j])) {
				p.levels ^= (uint64(different) ^ uint64(near)) << (4 * i)
				p.levels ^= (uint64(different) ^ uint64(near)) << (4 * j)
				break
			}
		}
	}
}

// equalEvidence returns the evidence of an equal value of field j, where equals has the
// columns of more evidence that are equal.
func (m *model) equalEvidence(j int, number uint32, equals *[maxFields]bool) float64 {
	evidence := float64(m.t.fields[j].surprise[number])
	for _, i := range m.order {
		if i == j {
			break
		}
		if equals[i] {
			evidence = min(evidence, m.implied[i][j])
		}
	}
	return evidence
}

// score returns the logarithm of the odds of a match.
func (m *model) score(p pair) float64 {
	sum := m.odds() + float64(p.values)
	for j := range m.t.fields {
		sum += m.weights[j][p.level(j)]
	}
	return sum
}

// candidates compares the pairs that share a block, or all pairs of few records. It returns
// those that may match, in order, and the number of blocks that were too large.
func (m *model) candidates(ctx context.Context, progress func(done, total int)) ([]pair, int, error) {
	t := m.t
	if t.records() <= small {
		c := m.comparer()
		for a := range t.records() {
			for b := range a {
				c.compare(int32(b), int32(a)) //nolint:gosec // They are few.
			}
		}
		return c.kept, 0, nil
	}
	rules := t.rules()
	built := make([]*blocks, len(rules))
	skipped := 0
	var kept []pair
	for r := range rules {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		built[r] = t.build(rules[r])
		skipped += built[r].skipped
		kept = append(kept, m.compareBlocks(ctx, built[r], built[:r])...)
		if len(kept) > maxPairs {
			kept = strongest(kept, maxPairs/2)
		}
		built[r].entries = nil
		progress(r+1, len(rules))
	}
	slices.SortFunc(kept, func(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return kept, skipped, ctx.Err()
}

// compareBlocks compares the pairs in blocks that are not together in an earlier block.
func (m *model) compareBlocks(ctx context.Context, b *blocks, earlier []*blocks) []pair {
	const step = 4096
	var lock sync.Mutex
	var kept []pair
	parallel((len(b.starts)+step-1)/step, func(chunk int) {
		c := m.comparer()
		for i := chunk * step; i < min((chunk+1)*step, len(b.starts)) && ctx.Err() == nil; i++ {
			block := b.entries[b.starts[i]:b.ends[i]]
			for k := range block {
				for l := range k {
					if !together(block[k].record, block[l].record, earlier) {
						c.compare(block[k].record, block[l].record)
					}
				}
			}
		}
		lock.Lock()
		kept = append(kept, c.kept...)
		if len(kept) > maxPairs {
			kept = strongest(kept, maxPairs/2)
		}
		lock.Unlock()
	})
	return kept
}

// together reports whether two records share a block.
func together(a, b int32, earlier []*blocks) bool {
	for _, e := range earlier {
		if n := e.member[a]; n != 0 && n == e.member[b] {
			return true
		}
	}
	return false
}

// rounds is how often the rates of errors are learned anew.
const rounds = 8

// learn learns the rates of errors and the number of matches from pairs, and sets their odds.
func (m *model) learn(pairs []pair) {
	for range rounds {
		seen := make([][levels]float64, len(m.t.fields))
		matches := 0.0
		for i := range pairs {
			pairs[i].odds = float32(m.score(pairs[i]))
			if !m.plausible(pairs[i]) {
				continue
			}
			probability := probability(float64(pairs[i].odds))
			matches += probability
			for j := range seen {
				seen[j][pairs[i].level(j)] += probability
			}
		}
		m.matches = min(max(matches, 1), m.records)
		m.findDistinguishing(seen, matches)
		for j := range seen {
			m.update(j, seen[j])
		}
		m.weigh()
	}
	for i := range pairs {
		pairs[i].odds = float32(m.score(pairs[i]))
	}
}

// update sets the shares of levels of field j to those seen, together with what is known
// before.
func (m *model) update(j int, seen [levels]float64) {
	start := m.start(j)
	total := float64(priorPairs)
	for l := different; l < levels; l++ {
		total += seen[l]
	}
	for l := different; l < levels; l++ {
		m.match[j][l] = (seen[l] + priorPairs*start[l]) / total
	}
	if d := m.match[j][different]; d > maxDifferent {
		for l := similar; l < levels; l++ {
			m.match[j][l] *= (1 - maxDifferent) / (1 - d)
		}
		m.match[j][different] = maxDifferent
	}
}

// Shares of matches that differ in a column from which on the column tells things apart.
const (
	mostDiffer = 0.6
	allDiffer  = 0.9
)

// findDistinguishing finds the columns in which most records that seem to match differ. Such
// records are not of one thing but of one kind: payments of one tenant, or members of one
// family. One such column is enough if it holds dates, times or numbers that nearly always
// differ; otherwise two are needed.
func (m *model) findDistinguishing(seen [][levels]float64, matches float64) {
	if matches < 5 {
		return
	}
	for j, f := range m.t.fields {
		both := seen[j][different] + seen[j][similar] + seen[j][near] + seen[j][equal]
		share := seen[j][different] / max(both, 1)
		switch c := f.column.Kind(); {
		case f.bits < 3 || share < mostDiffer:
		case c == analysis.KindDate, c == analysis.KindTimestamp, c == analysis.KindInteger && share > allDiffer:
			m.apart[j] = 2
		case f.kind == words || f.kind == digits:
			m.apart[j] = 1
		}
	}
}

// namingBits is the number of bits from which a column of words counts as a name. Two records
// whose names and one distinguishing number differ are of different people.
const namingBits = 5

// plausible reports whether a pair agrees in enough columns to be records of one thing.
func (m *model) plausible(p pair) bool {
	agree, both, evidence, apart, named := 0.0, 0.0, 0, 0, 0
	for j, f := range m.t.fields {
		l := p.level(j)
		if l == missing {
			continue
		}
		if l == different {
			if f.kind == words && f.bits >= namingBits {
				named = 1
			}
			apart += m.apart[j]
		}
		weight := math.Sqrt(max(f.bits, 0))
		both += weight
		if l >= similar {
			agree += weight
			if f.bits >= 3 {
				evidence++
			}
		}
	}
	return apart+min(apart, named) < 2 && agree >= 0.55*both && evidence >= min(2, len(m.t.fields))
}
