package records

import (
	"bytes"
	"hash/maphash"
)

// dictionary numbers texts from 1, in the order in which they come.
type dictionary struct {
	seed  maphash.Seed
	arena []byte
	// ends has, for each number, the end of its text in the arena.
	ends  []int
	slots []uint32
}

func newDictionary() *dictionary {
	return &dictionary{seed: maphash.MakeSeed(), ends: []int{0}, slots: make([]uint32, 64)}
}

// size returns the number of texts.
func (d *dictionary) size() int { return len(d.ends) - 1 }

// text returns a text, which must not change.
func (d *dictionary) text(number uint32) []byte { return d.arena[d.ends[number-1]:d.ends[number]] }

// number returns the number of a text, which is new or known.
func (d *dictionary) number(text []byte) uint32 {
	at := d.slot(text)
	if d.slots[at] != 0 {
		return d.slots[at]
	}
	d.arena = append(d.arena, text...)
	d.ends = append(d.ends, len(d.arena))
	number := uint32(d.size()) //nolint:gosec // The budget bounds it.
	d.slots[at] = number
	if 3*d.size() > 2*len(d.slots) {
		d.slots = make([]uint32, 2*len(d.slots))
		for n := uint32(1); int(n) <= d.size(); n++ {
			d.slots[d.slot(d.text(n))] = n
		}
	}
	return number
}

// find returns the number of a text, or 0.
func (d *dictionary) find(text []byte) uint32 { return d.slots[d.slot(text)] }

// slot returns the slot that has the number of a text, or the free one that is to have it.
func (d *dictionary) slot(text []byte) int {
	at := int(maphash.Bytes(d.seed, text) & uint64(len(d.slots)-1)) //nolint:gosec // It is less than the number of slots.
	for d.slots[at] != 0 && !bytes.Equal(d.text(d.slots[at]), text) {
		at = (at + 1) & (len(d.slots) - 1)
	}
	return at
}
