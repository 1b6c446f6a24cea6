package records

import (
	"cmp"
	"math"
	"slices"
)

// threshold is the probability from which on two records match.
const threshold = 0.8

// maxCluster is the largest number of records of a cluster. Nothing is recorded more often
// than that with different errors, so the matches of a larger cluster are discarded.
const maxCluster = 40

// cluster is a group of rows of one thing.
type cluster struct {
	records    []int32
	confidence float64
	rows       int
}

// exact reports whether all rows are equal in all columns but identifiers.
func (c cluster) exact() bool { return len(c.records) == 1 }

// sortBy sorts numbers by a value, then by themselves.
func sortBy(numbers []int, value func(int) float64) {
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a, b)) })
}

// repeated returns the probability that the equal rows of a record are of one thing: whether
// so many rows are likely to be equal to a row by coincidence.
func (m *model) repeated(record int, coincidences float64) float64 {
	evidence := -m.doubt
	var equals [maxFields]bool
	row := m.t.row(record)
	for _, j := range m.order {
		if row[j] != 0 {
			equals[j] = true
			evidence += m.equalEvidence(j, row[j], &equals)
		}
	}
	rows := float64(m.t.rows)
	usual := min(max(0.1, (rows-m.records)/rows), 0.5)
	return min(usual/(usual+(rows-1)*math.Exp2(-evidence)), 1-coincidences)
}

// coincidences returns the share of pairs of equal rows that coincidence explains.
func (m *model) coincidences() float64 {
	observed, bits := 0.0, m.doubt
	for record := range m.t.records() {
		if n := float64(m.t.size(record)); n > 1 {
			observed += n * (n - 1) / 2
		}
	}
	for _, f := range m.t.fields {
		bits += f.bits * float64(f.filled) / m.records
	}
	rows := float64(m.t.rows)
	return min(rows*(rows-1)/2*math.Exp2(-bits)/max(observed, 1), 1)
}

// clusters groups records that match. Strong matches come first, and the confidence of a
// cluster is that of the weakest match that holds it together.
func (m *model) clusters(pairs []pair) []cluster {
	matches := make([]pair, 0, len(pairs)/2)
	for _, p := range pairs {
		if probability(float64(p.odds)) >= threshold && m.plausible(p) {
			matches = append(matches, p)
		}
	}
	matches = strongest(matches, len(matches))
	n := m.t.records()
	parent := make([]int32, n)
	size := make([]int32, n)
	confidence := make([]float64, n)
	for i := range parent {
		parent[i], size[i], confidence[i] = int32(i), 1, 1 //nolint:gosec // The budget bounds it.
	}
	find := func(x int32) int32 {
		for parent[x] != x {
			parent[x] = parent[parent[x]]
			x = parent[x]
		}
		return x
	}
	for _, p := range matches {
		a, b := find(p.a), find(p.b)
		if a == b {
			continue
		}
		a, b = min(a, b), max(a, b)
		parent[b] = a
		size[a] += size[b]
		confidence[a] = math.Min(math.Min(confidence[a], confidence[b]), probability(float64(p.odds)))
	}
	groups := map[int32][]int32{}
	for record := range n {
		root := find(int32(record)) //nolint:gosec // The budget bounds it.
		if size[root] > 1 && size[root] <= maxCluster {
			groups[root] = append(groups[root], int32(record)) //nolint:gosec // The budget bounds it.
		}
	}
	var out []cluster
	coincidences := m.coincidences()
	for record := range n {
		root := find(int32(record)) //nolint:gosec // The budget bounds it.
		switch {
		case size[root] > 1 && int(root) == record && groups[root] != nil:
			out = append(out, cluster{records: groups[root], confidence: confidence[root]})
		case (size[root] == 1 || size[root] > maxCluster) && m.t.size(record) > 1:
			if p := m.repeated(record, coincidences); p >= threshold {
				out = append(out, cluster{records: []int32{int32(record)}, confidence: p}) //nolint:gosec // The budget bounds it.
			}
		}
	}
	for i := range out {
		for _, record := range out[i].records {
			out[i].rows += m.t.size(int(record))
		}
	}
	slices.SortStableFunc(out, func(a, b cluster) int {
		return cmp.Or(cmp.Compare(b.confidence, a.confidence), cmp.Compare(b.rows, a.rows), cmp.Compare(a.records[0], b.records[0]))
	})
	return out
}
