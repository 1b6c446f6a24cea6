package cluster

import (
	"cmp"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

const (
	// maxGroup bounds the forms of one key that are compared, maxMains the frequent ones
	// among them that others are compared with.
	maxGroup = 500
	maxMains = 8
)

// Form is a text with its number of rows.
type Form struct {
	Text string
	Rows int64
}

// Cluster is a set of forms of one value.
type Cluster struct {
	// Forms has the canonical form first, then the others by their rows.
	Forms []Form
	// Rows is the number of rows of all forms.
	Rows int64
	// Method is the least strict method that joined forms: fingerprint, ngram2, ngram1,
	// phonetic or edit.
	Method string
	// Confidence is between 0 and 1.
	Confidence float64
}

// clustering joins forms.
type clustering struct {
	forms []Form
	// parent is a forest in which the root of a tree is its most frequent form. Forms are
	// in the order of their rows, so the root has the smallest index.
	parent     []int32
	method     []uint8
	confidence []float32
	// few reports that the column has few values.
	few bool
}

// Of returns the clusters among different forms, which are in the order of their rows from the
// most, then of their texts. The clusters with the most rows come first. Candidates are the
// groups of forms with an equal key that the clusters keep apart: most likely their keys are
// equal by chance.
func Of(forms []Form) (clusters, candidates []Cluster) {
	c := &clustering{forms: forms, parent: make([]int32, len(forms)), method: make([]uint8, len(forms)),
		confidence: make([]float32, len(forms)), few: len(forms) <= 12}
	for i := range c.parent {
		c.parent[i] = int32(i)
	}
	all := keysOf(forms)
	groups := allGroups(all)
	c.joinGroups(groups[0], byFingerprint)
	c.joinGroups(groups[1], byBigrams)
	c.joinGroups(groups[2], byLetters)
	c.joinNear(all)
	return c.clusters(), c.candidates(groups[:2])
}

// keyOnly is the confidence of a candidate.
const keyOnly = 0.3

// candidates returns the groups by fingerprint and bigrams whose forms are not in one cluster.
func (c *clustering) candidates(groups [][][]int32) []Cluster {
	var out []Cluster
	for i, ofMethod := range groups {
		for _, group := range ofMethod {
			if !slices.ContainsFunc(group, func(j int32) bool { return c.root(j) != c.root(group[0]) }) {
				continue
			}
			one := Cluster{Method: methodNames[byFingerprint+i], Confidence: keyOnly}
			for _, j := range group[:min(maxGroup, len(group))] {
				one.Forms, one.Rows = append(one.Forms, c.forms[j]), one.Rows+c.forms[j].Rows
			}
			out = append(out, one)
		}
	}
	sortClusters(out)
	return out
}

// sortClusters sorts clusters by their rows, from the most, then by their texts.
func sortClusters(list []Cluster) {
	slices.SortFunc(list, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Forms[0].Text, b.Forms[0].Text), cmp.Compare(a.Method, b.Method))
	})
}

func (c *clustering) root(i int32) int32 {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

func (c *clustering) join(a, b int32, method int, confidence float64) {
	a, b = c.root(a), c.root(b)
	if a == b {
		return
	}
	if a > b {
		a, b = b, a
	}
	c.parent[b] = a
	c.method[a] = max(c.method[a], c.method[b], uint8(method))
	least := float32(confidence)
	for _, root := range []int32{a, b} {
		if c.confidence[root] > 0 {
			least = min(least, c.confidence[root])
		}
	}
	c.confidence[a] = least
}

// candidate is a form that is compared with others of a group.
type candidate struct {
	index int32
	form  Form
	// letters are the letters and digits of the form, folded.
	letters string
	parts   *parts
}

// split returns the parts of a candidate.
func (c *candidate) split() *parts {
	if c.parts == nil {
		c.parts = partsOf(c.form)
	}
	return c.parts
}

// nearby reports whether letters have the same beginning and a distance of at most 2.
func nearby(a, b string) bool {
	const most = 2 * utf8.UTFMax
	return len(a)-len(b) <= most && len(b)-len(a) <= most && firstOf(a) == firstOf(b) && similarity.Distance(a, b, 2) <= 2
}

// joinGroups joins the forms of groups with an equal key that are alike. Forms that a stricter
// method has joined are represented by their root.
func (c *clustering) joinGroups(groups [][]int32, method int) {
	var k keyer
	for _, group := range groups {
		group = slices.DeleteFunc(slices.Clone(group[:min(maxGroup, len(group))]), func(i int32) bool { return c.root(i) != i })
		if len(group) < 2 {
			continue
		}
		var mains []candidate
		for _, i := range group {
			p := candidate{index: i, form: c.forms[i]}
			if method != byFingerprint {
				p.letters = string(k.letters(c.forms[i].Text))
			}
			joined := false
			for m := range mains {
				main := &mains[m]
				if method != byFingerprint && !nearby(main.letters, p.letters) {
					continue
				}
				if confidence := sameKey(main.split(), p.split(), method, c.few); confidence > 0 {
					c.join(main.index, i, method, confidence)
					joined = true
					break
				}
			}
			if !joined && len(mains) < maxMains {
				mains = append(mains, p)
			}
		}
	}
}

// clusters returns the clusters of at least two forms.
func (c *clustering) clusters() []Cluster {
	members := map[int32][]int32{}
	for i := range c.parent {
		if root := c.root(int32(i)); root != int32(i) {
			members[root] = append(members[root], int32(i))
		}
	}
	out := make([]Cluster, 0, len(members))
	for root, others := range members {
		slices.Sort(others)
		one := Cluster{Method: methodNames[c.method[root]], Confidence: math.Round(100*float64(c.confidence[root])) / 100}
		for _, i := range append([]int32{root}, others...) {
			one.Forms, one.Rows = append(one.Forms, c.forms[i]), one.Rows+c.forms[i].Rows
		}
		canonical(one.Forms)
		out = append(out, one)
	}
	sortClusters(out)
	return out
}

// canonical moves the form that stands for all to the beginning: the most frequent, then the
// one that is written best. The others stay in order.
func canonical(forms []Form) {
	best := 0
	for i, f := range forms {
		if f.Rows < forms[0].Rows {
			break
		}
		if writing(f.Text) > writing(forms[best].Text) {
			best = i
		}
	}
	chosen := forms[best]
	copy(forms[1:best+1], forms[:best])
	forms[0] = chosen
}

// writing rates how a text is written: with capitals at the beginnings of words, few odd
// signs and no surplus spaces.
func writing(text string) int {
	score := 0
	previous := ' '
	upper, lower := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			upper++
			if !unicode.IsLetter(previous) {
				score += 2
			}
		case unicode.IsLower(r):
			lower++
		case unicode.IsSpace(r) && (unicode.IsSpace(previous) || r != ' '):
			score -= 4
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ' ':
			score--
		case r > unicode.MaxASCII:
			score++
		}
		previous = r
	}
	if lower > 0 && upper > 0 {
		score += 2
	}
	if unicode.IsSpace(previous) {
		score -= 4
	}
	return score
}
