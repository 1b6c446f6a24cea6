package values

import (
	"slices"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

const (
	// imbalance is how many times more frequent than a misspelling a value must be.
	imbalance = 8
	// maxBlock bounds the frequent values that a rare one is compared with for one key.
	maxBlock = 64
	// maxNear bounds the frequent values that are indexed.
	maxNear = 200_000
	// nearLength is the least number of characters of a text with a misspelling.
	nearLength = 5
)

// near is a pair of a frequent form and a rare one that is close to it.
type near struct {
	main, other int32
	method      int
	// swapped reports that only two neighbouring letters changed places.
	swapped bool
}

// nearIndex finds frequent forms by a half of their letters, or by their sound.
type nearIndex struct {
	forms []parts
	index []int32
	// halves maps the length of a text with its first or last letters to forms.
	halves map[half][]int32
	sounds map[string][]int32
}

// half is the beginning or the end of a text of a length.
type half struct {
	length int
	end    bool
	text   string
}

// joinNear joins rare forms with frequent ones that differ by a misspelling, if that explains
// the rare forms of the column.
func (c *clustering) joinNear(all []keys) {
	rows := make([]int64, len(c.forms))
	total, roots := int64(0), int64(0)
	for i := range c.forms {
		root := c.root(int32(i))
		rows[root] += c.forms[i].rows
		if int32(i) == root {
			roots++
		}
		total += c.forms[i].rows
	}
	x := nearIndex{halves: map[half][]int32{}, sounds: map[string][]int32{}}
	for i := range c.forms {
		if len(x.forms) == maxNear {
			break
		}
		if all[i].letters != 0 && c.root(int32(i)) == int32(i) && rows[i] >= imbalance {
			x.add(counted{c.forms[i].text, rows[i]}, int32(i))
		}
	}
	if len(x.forms) == 0 {
		return
	}
	most := slices.Max(rows)
	rare := max(2, total/max(1, 10*roots))
	var found []near
	unexplained, explained, words := 0, 0, 0
	for i := range c.forms {
		if all[i].letters == 0 || c.root(int32(i)) != int32(i) || rows[i]*imbalance > most {
			continue
		}
		p := partsOf(counted{c.forms[i].text, rows[i]})
		if utf8.RuneCountInString(p.squeezed) < nearLength {
			continue
		}
		pair, ok := x.nearest(p, int32(i))
		if ok {
			found = append(found, pair)
		}
		if rows[i] <= rare {
			words += len(p.words)
			if ok {
				explained++
			} else {
				unexplained++
			}
		}
	}
	// Rare names are often close to frequent ones without being misspelt; so many rare forms
	// that are not close to any other show that the rare ones are values of their own.
	least := 0.35
	if names := explained + unexplained; names > 100 && words < 2*names {
		least = 0.6
	}
	evidence := float64(explained) >= least*float64(explained+unexplained) && explained > 0
	for _, pair := range found {
		switch {
		case evidence:
			c.join(pair.main, pair.other, pair.method, 0.75)
		case pair.swapped && rows[pair.main] >= 20*rows[pair.other] && utf8.RuneCountInString(c.forms[pair.other].text) >= 8:
			c.join(pair.main, pair.other, pair.method, 0.7)
		}
	}
}

func (x *nearIndex) add(v counted, index int32) {
	p := partsOf(v)
	runes := []rune(p.squeezed)
	if len(runes) < nearLength {
		return
	}
	at := int32(len(x.forms))
	x.forms, x.index = append(x.forms, p), append(x.index, index)
	middle := len(runes) / 2
	for _, h := range []half{{len(runes), false, string(runes[:middle])}, {len(runes), true, string(runes[middle:])}} {
		if len(x.halves[h]) < maxBlock {
			x.halves[h] = append(x.halves[h], at)
		}
	}
	if sound := similarity.Phonetic(p.text); len(sound) >= 3 && len(x.sounds[sound]) < maxBlock {
		x.sounds[sound] = append(x.sounds[sound], at)
	}
}

// nearest returns the most frequent form that a rare form may be a misspelling of.
func (x *nearIndex) nearest(p parts, index int32) (near, bool) {
	runes := []rune(p.squeezed)
	best, found := near{other: index}, false
	rows := int64(0)
	consider := func(at int32, method, limit int) {
		main := x.forms[at]
		if main.rows <= rows || main.rows < imbalance*p.rows || x.index[at] == index {
			return
		}
		if isSwap, ok := misspelling(main, p, limit); ok {
			best.main, best.method, best.swapped = x.index[at], method, isSwap
			found, rows = true, main.rows
		}
	}
	for length := len(runes) - 1; length <= len(runes)+1; length++ {
		middle := length / 2
		if middle <= len(runes) {
			for _, at := range x.halves[half{length, false, string(runes[:middle])}] {
				consider(at, byEdit, 1)
			}
		}
		if tail := len(runes) - (length - middle); tail >= 0 {
			for _, at := range x.halves[half{length, true, string(runes[tail:])}] {
				consider(at, byEdit, 1)
			}
		}
	}
	if !found && len(runes) >= 7 {
		for _, at := range x.sounds[similarity.Phonetic(p.text)] {
			consider(at, byPhonetics, 2)
		}
	}
	return best, found
}

// misspelling reports whether a rare text differs from a frequent one by at most limit changes
// of a kind that happens by mistake: not at the beginning, not of the last letter, not in a
// short word, and in no digit. isSwap reports that two neighbouring letters changed places.
func misspelling(main, other parts, limit int) (isSwap, ok bool) {
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
