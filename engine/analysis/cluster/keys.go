package cluster

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// standardizable reports whether a text can be a form of a value: a text with letters that is
// no address.
func standardizable(text string) bool {
	return strings.IndexFunc(text, unicode.IsLetter) >= 0 && !strings.Contains(text, "@") && !strings.Contains(text, "://")
}

// keys are hashes that are equal for texts whose keys of package similarity are equal. They
// are 0 for texts that are not clustered.
type keys struct{ fingerprint, bigrams, letters uint64 }

// keysOf returns the keys of texts, which two goroutines compute.
func keysOf(forms []Form) []keys {
	out := make([]keys, len(forms))
	halve(len(forms), func(k *keyer, i int) {
		if standardizable(forms[i].Text) {
			out[i] = k.keys(forms[i].Text)
		}
	})
	return out
}

// halve calls do with the numbers from 0 to n-1, in two goroutines with a keyer each.
func halve(n int, do func(*keyer, int)) {
	var work sync.WaitGroup
	half := (n + 1) / 2
	for _, part := range [][2]int{{0, half}, {half, n}} {
		work.Go(func() {
			var k keyer
			for i := part[0]; i < part[1]; i++ {
				do(&k, i)
			}
		})
	}
	work.Wait()
}

// keyer computes keys in memory that it reuses.
type keyer struct {
	words [][]byte
	bare  []byte
	grams []uint64
	runes []rune
}

// fold calls take with the folded characters of a text.
func fold(text string, take func(rune)) {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			for _, r := range similarity.Fold(text) {
				take(r)
			}
			return
		}
	}
	for i := range len(text) {
		b := text[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		take(rune(b))
	}
}

// letters returns the folded letters and digits of a text, until the next call.
func (k *keyer) letters(text string) []rune {
	k.runes = k.runes[:0]
	fold(text, func(r rune) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			k.runes = append(k.runes, r)
		}
	})
	return k.runes
}

// keys computes what similarity.Fingerprint and similarity.NGramFingerprint do, without their
// texts: there may be millions.
func (k *keyer) keys(text string) keys {
	k.bare, k.runes = k.bare[:0], k.runes[:0]
	fold(text, func(r rune) {
		switch {
		case unicode.IsSpace(r):
			k.bare = append(k.bare, ' ')
		case similarity.IsMark(r):
		default:
			k.bare = utf8.AppendRune(k.bare, r)
			k.runes = append(k.runes, r)
		}
	})
	if len(k.runes) == 0 {
		return keys{}
	}
	k.words = k.words[:0]
	for rest := k.bare; len(rest) > 0; {
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			k.words = append(k.words, rest[:end])
		}
		rest = rest[min(end+1, len(rest)):]
	}
	slices.SortFunc(k.words, bytes.Compare)
	fingerprint := uint64(offset)
	for _, word := range slices.CompactFunc(k.words, bytes.Equal) {
		for _, b := range word {
			fingerprint = (fingerprint ^ uint64(b)) * prime
		}
		fingerprint = (fingerprint ^ ' ') * prime
	}
	return keys{fingerprint, k.hashBigrams(), k.hashLetters()}
}

// The constants of the hash FNV-1a.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// hashBigrams returns the hash of the set of sequences of two characters.
func (k *keyer) hashBigrams() uint64 {
	k.grams = k.grams[:0]
	if len(k.runes) == 1 {
		k.grams = append(k.grams, uint64(k.runes[0])<<32)
	}
	for i := range len(k.runes) - 1 {
		k.grams = append(k.grams, uint64(k.runes[i])<<32|uint64(k.runes[i+1]))
	}
	return k.hashGrams(offset)
}

// hashLetters returns the hash of the set of characters.
func (k *keyer) hashLetters() uint64 {
	k.grams = k.grams[:0]
	var low, high uint64 // the characters of ASCII
	for _, r := range k.runes {
		switch {
		case r < 64:
			low |= 1 << r
		case r < 128:
			high |= 1 << (r - 64)
		default:
			k.grams = append(k.grams, uint64(r))
		}
	}
	hash := (offset ^ low) * prime
	hash ^= hash >> 29
	hash = (hash ^ high) * prime
	return k.hashGrams(hash ^ hash>>29)
}

// hashGrams adds the set of grams to a hash.
func (k *keyer) hashGrams(hash uint64) uint64 {
	slices.Sort(k.grams)
	for _, gram := range slices.Compact(k.grams) {
		hash = (hash ^ gram) * prime
		hash ^= hash >> 29
	}
	return hash
}

// allGroups returns the groups of forms by each of their keys.
func allGroups(all []keys) (groups [3][][]int32) {
	var work sync.WaitGroup
	work.Go(func() { groups[0] = groupsBy(all, func(k keys) uint64 { return k.fingerprint }) })
	work.Go(func() {
		groups[1] = groupsBy(all, func(k keys) uint64 { return k.bigrams })
		groups[2] = groupsBy(all, func(k keys) uint64 { return k.letters })
	})
	work.Wait()
	return groups
}

// groupsBy returns the groups of at least two forms with an equal key that is not 0. The forms
// of a group are in order, and the groups in the order of their first forms.
func groupsBy(all []keys, key func(keys) uint64) [][]int32 {
	type entry struct {
		key   uint64
		index int32
	}
	// Most keys are those of one form, which need not be sorted.
	seen := make([]uint8, 1<<bits.Len(uint(4*len(all))))
	bucket := func(k uint64) uint64 { return (k ^ k>>32) & uint64(len(seen)-1) }
	for i := range all {
		if b := bucket(key(all[i])); seen[b] < 2 {
			seen[b]++
		}
	}
	var entries []entry
	for i := range all {
		if k := key(all[i]); k != 0 && seen[bucket(k)] > 1 {
			entries = append(entries, entry{k, int32(i)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(a.index, b.index)
	})
	var groups [][]int32
	for start := 0; start < len(entries); {
		end := start + 1
		for end < len(entries) && entries[end].key == entries[start].key {
			end++
		}
		if end-start > 1 {
			group := make([]int32, 0, end-start)
			for _, e := range entries[start:end] {
				group = append(group, e.index)
			}
			groups = append(groups, group)
		}
		start = end
	}
	slices.SortFunc(groups, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return groups
}
