package worker

import (
	"github.com/lakewarden/lakewarden/engine"
)

// A program sends one statement over the same tables again and again, and a list
// of their files can be most of its message. So a link keeps the lists that it
// carried last: the next message names one by its place, which spares both ends
// to write, read and hash it. The parent alone decides what stands where.

const (
	// keptSources is the number of places of a link.
	keptSources = 8
	// keptSourceBytes bounds the message of a source that is kept.
	keptSourceBytes = 256 << 10
)

// sentSources are what the parent knows of the places of its link. The zero value
// knows nothing to be there.
type sentSources struct {
	places [keptSources]string // by the content address of the source
	next   int
}

// place returns where a source is, if it is there.
func (s *sentSources) place(address string) (int, bool) {
	for i, have := range s.places {
		if have == address {
			return i, true
		}
	}
	return 0, false
}

// take gives a source the place that was given away longest ago.
func (s *sentSources) take(address string) int {
	at := s.next
	s.places[at], s.next = address, (at+1)%keptSources
	return at
}

// forget makes the next messages carry everything anew.
func (s *sentSources) forget() { *s = sentSources{} }

// heldSources are the places in the child.
type heldSources [keptSources]*engine.Source

// How a source stands in a message: as it is, as it is and to be kept, or by its
// place alone.
const (
	sourcePlain byte = iota
	sourceKeep
	sourceKept
)

// source writes a source, by its place where the encoder is one of a link that
// carried it before.
func (e *encoder) source(s engine.Source) {
	if e.sent == nil || s.Files == nil {
		e.tag(sourcePlain)
		e.plainSource(s)
		return
	}
	address := s.Database()
	if at, ok := e.sent.place(address); ok {
		e.tag(sourceKept)
		e.length(at)
		return
	}
	start := len(e.b)
	e.tag(sourceKeep)
	e.length(e.sent.next)
	e.plainSource(s)
	if len(e.b)-start > keptSourceBytes {
		e.b = append(e.b[:start], sourcePlain)
		e.plainSource(s)
		return
	}
	e.sent.take(address)
}

func (d *decoder) source() engine.Source {
	switch d.tag() {
	case sourcePlain:
		return d.plainSource()
	case sourceKeep:
		at := d.place()
		s := d.plainSource()
		if !d.failed {
			d.held[at] = &s
		}
		return s
	case sourceKept:
		if at := d.place(); !d.failed && d.held[at] != nil {
			return *d.held[at]
		}
	}
	d.fail()
	return engine.Source{}
}

// place reads the number of a place; a message that has one where nothing is kept
// is malformed.
func (d *decoder) place() int {
	at := d.uint()
	if d.held == nil || at >= keptSources {
		d.fail()
		return 0
	}
	return int(at)
}
