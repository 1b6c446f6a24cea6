package cluster

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

const (
	// imbalance is how many times more frequent than a misspelling a value must be.
	imbalance = 8
	// maxBlock bounds the frequent values that a rare one is compared with for one key.
	maxBlock = 32
	// maxNear bounds the frequent values that are indexed.
	maxNear = 200_000
	// maxSounds is the number of forms up to which their sounds are compared.
	maxSounds = 200_000
	// nearLength is the least number of characters of a text with a misspelling.
	nearLength = 5
)

// near is a pair of a frequent form and a rare one that is close to it.
type near struct {
	main, other int32
	method      int
	// swapped reports that only two neighbouring letters changed places.
	swapped bool
	// words is the number of words of the rare form; it is 0 if that is not compared.
	words int
	found bool
}

// nearIndex finds frequent forms by a half of their letters, or by their sound.
type nearIndex struct {
	forms []*parts
	// letters are the letters and digits of the forms.
	letters [][]rune
	index   []int32
	// halves maps the hashes of lengths and first or last letters to forms.
	halves map[uint64][]int32
	sounds map[string][]int32
	// known has a bit for each hash of halves, to look up only few that are not there.
	known [1 << 16]uint64
	// bySound reports that sounds are compared, too.
	bySound bool
}

// half returns the hash of the beginning or the end of a text of a length.
func half(length int, end bool, letters []rune) uint64 {
	hash := uint64(offset) ^ uint64(length)<<1
	if end {
		hash++
	}
	hash *= prime
	for _, r := range letters {
		hash = (hash ^ uint64(r)) * prime
	}
	return hash
}

// joinNear joins rare forms with frequent ones that differ by a misspelling, if that explains
// the rare forms of the column.
func (c *clustering) joinNear(all []keys) {
	rows := make([]int64, len(c.forms))
	total, roots := int64(0), int64(0)
	for i := range c.forms {
		root := c.root(int32(i))
		rows[root] += c.forms[i].Rows
		if int32(i) == root {
			roots++
		}
		total += c.forms[i].Rows
	}
	x := &nearIndex{halves: map[uint64][]int32{}, sounds: map[string][]int32{}, bySound: len(c.forms) <= maxSounds}
	var k keyer
	for i := range c.forms {
		if len(x.forms) == maxNear {
			break
		}
		if all[i].letters != 0 && c.root(int32(i)) == int32(i) && rows[i] >= imbalance {
			x.add(&k, Form{c.forms[i].Text, rows[i]}, int32(i))
		}
	}
	if len(x.forms) == 0 {
		return
	}
	most := slices.Max(rows)
	pairs := make([]near, len(c.forms))
	halve(len(c.forms), func(k *keyer, i int) {
		if all[i].letters != 0 && c.parent[i] == int32(i) && rows[i]*imbalance <= most {
			pairs[i] = x.nearest(k, Form{c.forms[i].Text, rows[i]}, int32(i))
		}
	})
	c.joinPairs(pairs, rows, max(2, total/max(1, 10*roots)))
}

// joinPairs joins rare forms with those that they are close to. Forms with at most rare rows
// are evidence for misspellings, or against them.
func (c *clustering) joinPairs(pairs []near, rows []int64, rare int64) {
	unexplained, explained, words := 0, 0, 0
	for i, pair := range pairs {
		if pair.words == 0 || rows[i] > rare {
			continue
		}
		words += pair.words
		if pair.found {
			explained++
		} else {
			unexplained++
		}
	}
	// Rare names are often close to frequent ones without being misspelt; so many rare forms
	// that are not close to any other show that the rare ones are values of their own.
	least := 0.35
	if names := explained + unexplained; names > 100 && words < 2*names {
		least = 0.6
	}
	evidence := float64(explained) >= least*float64(explained+unexplained) && explained > 0
	for _, pair := range pairs {
		switch {
		case !pair.found:
		case evidence:
			c.join(pair.main, pair.other, pair.method, 0.75)
		case pair.swapped && rows[pair.main] >= 20*rows[pair.other] && utf8.RuneCountInString(c.forms[pair.other].Text) >= 8:
			c.join(pair.main, pair.other, pair.method, 0.7)
		}
	}
}

func (x *nearIndex) add(k *keyer, v Form, index int32) {
	letters := k.letters(v.Text)
	if len(letters) < nearLength {
		return
	}
	at := int32(len(x.forms))
	x.forms, x.index, x.letters = append(x.forms, partsOf(v)), append(x.index, index), append(x.letters, slices.Clone(letters))
	middle := len(letters) / 2
	for _, h := range []uint64{half(len(letters), false, letters[:middle]), half(len(letters), true, letters[middle:])} {
		x.known[h>>6&0xffff] |= 1 << (h & 63)
		if len(x.halves[h]) < maxBlock {
			x.halves[h] = append(x.halves[h], at)
		}
	}
	if !x.bySound {
		return
	}
	if sound := similarity.Phonetic(v.Text); len(sound) >= 3 && len(x.sounds[sound]) < maxBlock {
		x.sounds[sound] = append(x.sounds[sound], at)
	}
}

// at returns the forms with a half.
func (x *nearIndex) at(half uint64) []int32 {
	if x.known[half>>6&0xffff]>>(half&63)&1 == 0 {
		return nil
	}
	return x.halves[half]
}

// nearest returns the most frequent form that a rare form may be a misspelling of.
func (x *nearIndex) nearest(k *keyer, v Form, index int32) near {
	best := near{other: index}
	letters := k.letters(v.Text)
	if len(letters) < nearLength {
		return best
	}
	best.words = 1 + strings.Count(strings.TrimSpace(v.Text), " ")
	var p *parts
	rows := int64(0)
	consider := func(candidates []int32, method, limit int) {
		for _, at := range candidates {
			main := x.forms[at]
			if main.rows <= rows || main.rows < imbalance*v.Rows || x.index[at] == index || limit == 1 && !oneApart(letters, x.letters[at]) {
				continue
			}
			if p == nil {
				p = partsOf(v)
			}
			if isSwap, ok := misspelling(main, p, limit); ok {
				best.main, best.method, best.swapped, best.found = x.index[at], method, isSwap, true
				rows = main.rows
			}
		}
	}
	for length := len(letters) - 1; length <= len(letters)+1; length++ {
		middle := length / 2
		if middle <= len(letters) {
			consider(x.at(half(length, false, letters[:middle])), byEdit, 1)
		}
		if tail := len(letters) - (length - middle); tail >= 0 {
			consider(x.at(half(length, true, letters[tail:])), byEdit, 1)
		}
	}
	if !best.found && len(letters) >= 7 && len(x.sounds) > 0 {
		consider(x.sounds[similarity.Phonetic(v.Text)], byPhonetics, 2)
	}
	return best
}

// oneApart reports whether two texts differ by one letter more, less or replaced, or by two
// neighbours that changed places.
func oneApart(a, b []rune) bool {
	if len(a) > len(b)+1 || len(b) > len(a)+1 {
		return false
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// misspelling reports whether a rare text differs from a frequent one by at most limit changes
// of a kind that happens by mistake: not at the beginning, not of the last letter, not in a
// short word, and in no digit. isSwap reports that two neighbouring letters changed places.
func misspelling(main, other *parts, limit int) (isSwap, ok bool) {
	a, b := main.squeezed, other.squeezed
	if main.digits != other.digits || main.signs != other.signs || firstOf(a) != firstOf(b) || a == b {
		return false, false
	}
	if differing(main, other) < nearLength {
		return false, false
	}
	distance := similarity.Distance(a, b, limit)
	change := changeOf(a, b, distance)
	if distance > limit || change == lastChanged && main.rows < 50*other.rows {
		return false, false
	}
	return change == swapped, true
}
