package worker

import (
	"encoding/binary"
	"errors"
	"math"
)

// errWire is a message that does not decode.
var errWire = errors.New("worker: malformed message")

// encoder appends values to a message. Texts keep their exact bytes, valid UTF-8
// or not: a path that changed on its way would be another path.
type encoder struct {
	b []byte
	// sent, in a message of a link that keeps sources, is what it keeps.
	sent *sentSources
}

func (e *encoder) uint(v uint64)      { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)        { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) length(n int)       { e.uint(uint64(n)) }
func (e *encoder) float(v float64)    { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v)) }
func (e *encoder) tag(t byte)         { e.b = append(e.b, t) }
func (e *encoder) text(s string)      { e.length(len(s)); e.b = append(e.b, s...) }
func (e *encoder) bytes(b []byte)     { e.length(len(b)); e.b = append(e.b, b...) }
func (e *encoder) texts(all []string) { list(e, all, e.text) }

func (e *encoder) bool(v bool) {
	if v {
		e.tag(1)
	} else {
		e.tag(0)
	}
}

// optional is a text that may be missing.
func (e *encoder) optional(s *string) {
	e.bool(s != nil)
	if s != nil {
		e.text(*s)
	}
}

func list[T any](e *encoder, items []T, each func(T)) {
	e.length(len(items))
	for _, item := range items {
		each(item)
	}
}

func dictionary[T any](e *encoder, items map[string]T, each func(T)) {
	e.length(len(items))
	for key, item := range items {
		e.text(key)
		each(item)
	}
}

// decoder reads what encoder wrote. After the first failure it reads zeros, and
// done reports it.
type decoder struct {
	b      []byte
	failed bool
	// held are the sources that the link keeps, or nil.
	held *heldSources
}

// done returns errWire unless the whole message was read.
func (d *decoder) done() error {
	if d.failed || len(d.b) > 0 {
		return errWire
	}
	return nil
}

func (d *decoder) fail() { d.b, d.failed = nil, true }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// length is a number of items of at least one byte each: what follows bounds it.
func (d *decoder) length() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) raw(n int) []byte {
	if n > len(d.b) {
		d.fail()
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) float() float64 {
	if b := d.raw(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) tag() byte {
	if b := d.raw(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) bool() bool      { return d.tag() == 1 }
func (d *decoder) text() string    { return string(d.raw(d.length())) }
func (d *decoder) bytes() []byte   { return append([]byte(nil), d.raw(d.length())...) }
func (d *decoder) texts() []string { return items(d, d.text) }

func (d *decoder) optional() *string {
	if !d.bool() {
		return nil
	}
	s := d.text()
	return &s
}

func items[T any](d *decoder, each func() T) []T {
	n := d.length()
	if n == 0 {
		return nil
	}
	out := make([]T, 0, min(n, 1024)) // grows with what is there, not with what is said
	for range n {
		out = append(out, each())
		if d.failed {
			return nil
		}
	}
	return out
}

func entries[T any](d *decoder, each func() T) map[string]T {
	n := d.length()
	if n == 0 {
		return nil
	}
	out := map[string]T{}
	for range n {
		key := d.text()
		out[key] = each()
		if d.failed {
			return nil
		}
	}
	return out
}
