package records

import (
	"cmp"
	"math"
	"slices"
)

// Bounds of blocks.
const (
	// maxRules is the number of blocking rules.
	maxRules = 12
	// maxBlock is the number of records of a block that are compared with each other.
	maxBlock = 100
	// small is the number of records up to which all pairs are compared.
	small = 600
	// pairsPerRecord bounds the pairs of a rule.
	pairsPerRecord = 8
)

// view is what a blocking key has of a column: its value, or the sound of it.
type view struct {
	field int
	sound bool
}

// rule is a blocking rule: records whose views are equal are compared.
type rule []view

// bits returns the evidence of an equal key, if its views are independent.
func (t *table) bits(r rule) float64 {
	sum := 0.0
	for _, v := range r {
		sum += t.viewBits(v)
	}
	return sum
}

func (t *table) viewBits(v view) float64 {
	if v.sound {
		return t.fields[v.field].soundBits
	}
	return t.fields[v.field].bits
}

// rules chooses blocking rules whose blocks are expected to be small. Columns take part
// about equally often, so that errors in some of them leave rules that are free of errors.
func (t *table) rules() []rule {
	enough := math.Log2(float64(max(t.records(), 2))) - 3.5
	var views []view
	for j, f := range t.fields {
		if f.kind == measure && f.bits < 6 || f.bits < 1.5 || float64(f.filled) < 0.05*float64(t.records()) {
			continue
		}
		views = append(views, view{j, false})
		if f.kind == words {
			views = append(views, view{j, true})
		}
	}
	candidates := t.combinations(views, enough)
	var chosen []rule
	uses := make([]float64, len(t.fields))
	for len(chosen) < maxRules && len(candidates) > 0 {
		best, bestScore := 0, -1.0
		for i, c := range candidates {
			if score := t.score(c, uses); score > bestScore {
				best, bestScore = i, score
			}
		}
		r := candidates[best]
		chosen = append(chosen, r)
		for _, v := range r {
			uses[v.field] += 1 / float64(len(r))
		}
		candidates = slices.DeleteFunc(candidates, func(c rule) bool { return covers(r, c) })
	}
	return chosen
}

// combinations returns the rules of one to three views whose evidence is enough, without
// those that a rule of fewer views makes redundant.
func (t *table) combinations(views []view, enough float64) []rule {
	var out []rule
	add := func(r rule) {
		if t.bits(r) < enough || slices.ContainsFunc(out, func(known rule) bool { return len(known) < len(r) && covers(known, r) }) {
			return
		}
		out = append(out, slices.Clone(r))
	}
	for _, v := range views {
		add(rule{v})
	}
	for i, v := range views {
		for _, w := range views[i+1:] {
			if v.field != w.field {
				add(rule{v, w})
			}
		}
	}
	if len(out) >= maxRules {
		return out
	}
	for i, v := range views {
		for k, w := range views[i+1:] {
			for _, x := range views[i+k+2:] {
				if v.field != w.field && v.field != x.field && w.field != x.field {
					add(rule{v, w, x})
				}
			}
		}
	}
	return out
}

// covers reports whether records in one block of rule s are in one block of rule r.
func covers(r, s rule) bool {
	for _, v := range r {
		if !slices.ContainsFunc(s, func(w view) bool { return w.field == v.field && (v.sound || !w.sound) }) {
			return false
		}
	}
	return true
}

// score judges a rule: rules of few columns find more, as do those that use columns which
// other rules do not use.
func (t *table) score(r rule, uses []float64) float64 {
	score := math.Pow(0.7, float64(len(r)))
	for _, v := range r {
		f := t.fields[v.field]
		score *= float64(f.filled) / float64(t.records()) / (0.6 + uses[v.field])
		if v.sound {
			score *= 0.9
		}
	}
	return score
}

// entry is a record with its key.
type entry struct {
	key    uint64
	record int32
}

// mix returns a hash of a number.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// key returns the key of a record, or 0 if a value is missing.
func (t *table) key(r rule, record int) uint64 {
	row := t.row(record)
	key := uint64(1)
	for _, v := range r {
		number := row[v.field]
		if v.sound {
			number = t.fields[v.field].phonetic[number]
		}
		if number == 0 {
			return 0
		}
		key = mix(key ^ uint64(number))
	}
	return key
}

// blocks has the blocks of a rule.
type blocks struct {
	// entries are sorted by key.
	entries []entry
	// starts and ends delimit the blocks that are compared.
	starts, ends []int32
	// member has the number of the block of each record, from 1, or 0.
	member []int32
	// skipped is the number of blocks that are too large.
	skipped int
}

// build makes the blocks of a rule.
func (t *table) build(r rule) *blocks {
	b := &blocks{member: make([]int32, t.records())}
	for record := range t.records() {
		if key := t.key(r, record); key != 0 {
			b.entries = append(b.entries, entry{key, int32(record)}) //nolint:gosec // The budget bounds it.
		}
	}
	slices.SortFunc(b.entries, func(x, y entry) int {
		if c := cmp.Compare(x.key, y.key); c != 0 {
			return c
		}
		return cmp.Compare(x.record, y.record)
	})
	var sizes [maxBlock + 1]int
	b.each(func(start, end int) {
		if end-start <= maxBlock {
			sizes[end-start]++
		}
	})
	limit, pairs := 1, 0
	for limit < maxBlock && pairs+sizes[limit+1]*(limit+1)*limit/2 <= pairsPerRecord*max(t.records(), 1000) {
		limit++
		pairs += sizes[limit] * limit * (limit - 1) / 2
	}
	b.each(func(start, end int) {
		switch {
		case end-start < 2:
		case end-start > limit:
			b.skipped++
		default:
			b.starts = append(b.starts, int32(start)) //nolint:gosec // The budget bounds it.
			b.ends = append(b.ends, int32(end))       //nolint:gosec // The budget bounds it.
			for _, e := range b.entries[start:end] {
				b.member[e.record] = int32(len(b.starts)) //nolint:gosec // The budget bounds it.
			}
		}
	})
	return b
}

// each calls take with the bounds of each group of equal keys.
func (b *blocks) each(take func(start, end int)) {
	for start := 0; start < len(b.entries); {
		end := start + 1
		for end < len(b.entries) && b.entries[end].key == b.entries[start].key {
			end++
		}
		take(start, end)
		start = end
	}
}
