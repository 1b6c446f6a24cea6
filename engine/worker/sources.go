package worker

import (
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/lakewarden/lakewarden/engine"
)

// A program repeatedly sends statements over the same tables, and a list of their files can be most
// of the message. Therefore both sides of a link cache the sources that it carried last: a later
// message refers to one by its slot, so that neither side has to write, read and hash it again. The
// parent alone decides which slot holds which source.

const (
	// cachedSources is the number of slots of a link.
	cachedSources = 8
	// cachedSourceBytes bounds the message of a source that is cached.
	cachedSourceBytes = 256 << 10
)

// sentSources holds, in the parent, the addresses of the sources in the slots of a link. The zero
// address marks empty slots.
type sentSources struct {
	slots [cachedSources]string
	next  int // the slot to be replaced next
}

// forget empties the slots, so that the next messages carry their sources again.
func (s *sentSources) forget() { *s = sentSources{} }

// heldSources are the slots in the child.
type heldSources [cachedSources]*engine.Source

// noSlot is the slot of a source that is not cached.
const noSlot = -1

// sentSource is a source in a message. Without Source it is the source in the slot; with both, the
// slot holds Source from now on.
type sentSource struct {
	Slot   int
	Source cbor.RawMessage
}

// heldSource is a sentSource as the child decodes it.
type heldSource struct {
	Slot   int
	Source *engine.Source
}

// statementMessage is a statement for the child. Sources are those of the statement followed by
// those of its barriers; Statement omits them.
type statementMessage[Source any] struct {
	Statement engine.WriteStatement
	Sources   []Source
}

// statement returns the message of a statement. A nil s caches no sources.
func (s *sentSources) statement(st engine.WriteStatement) []byte {
	m := statementMessage[sentSource]{Statement: st}
	for _, source := range st.Sources {
		m.Sources = append(m.Sources, s.source(source))
	}
	m.Statement.Sources, m.Statement.Barriers = nil, slices.Clone(st.Barriers)
	m.Statement.Args = mapArgs(st.Args, tagged)
	for i, b := range st.Barriers {
		m.Sources = append(m.Sources, s.source(b.Source))
		m.Statement.Barriers[i].Source = engine.Source{}
		m.Statement.Barriers[i].Args = mapArgs(b.Args, tagged)
	}
	return encode(m)
}

func (s *sentSources) source(source engine.Source) sentSource {
	if s == nil || source.Lists() == nil {
		return sentSource{Slot: noSlot, Source: encode(source)}
	}
	address := source.Database()
	if at := slices.Index(s.slots[:], address); at >= 0 {
		return sentSource{Slot: at}
	}
	out := sentSource{Slot: noSlot, Source: encode(source)}
	if len(out.Source) <= cachedSourceBytes {
		out.Slot = s.next
		s.slots[s.next], s.next = address, (s.next+1)%cachedSources
	}
	return out
}

// statement decodes the message of a statement.
func (h *heldSources) statement(message []byte) (engine.WriteStatement, error) {
	var m statementMessage[heldSource]
	if err := decode(message, &m); err != nil {
		return engine.WriteStatement{}, err
	}
	st, barriers := m.Statement, m.Statement.Barriers
	if len(m.Sources) < len(barriers) {
		return engine.WriteStatement{}, errWire
	}
	for i, sent := range m.Sources {
		source, err := h.source(sent)
		if err != nil {
			return engine.WriteStatement{}, err
		}
		if n := len(m.Sources) - len(barriers); i < n {
			st.Sources = append(st.Sources, source)
		} else {
			barriers[i-n].Source = source
		}
	}
	st.Args = mapArgs(st.Args, untagged)
	for i := range barriers {
		barriers[i].Args = mapArgs(barriers[i].Args, untagged)
	}
	return st, nil
}

// source returns the source of a message. A slot that does not exist or is empty makes
// the message malformed.
func (h *heldSources) source(sent heldSource) (engine.Source, error) {
	if s := sent.Source; s != nil && s.Files != nil {
		s.Files = s.Files.WithDeleted(s.Files.Deleted) // computes the address of the list
	}
	switch {
	case sent.Slot == noSlot && sent.Source != nil:
		return *sent.Source, nil
	case sent.Slot < 0 || sent.Slot >= cachedSources:
		return engine.Source{}, errWire
	case sent.Source != nil:
		h[sent.Slot] = sent.Source
	case h[sent.Slot] == nil:
		return engine.Source{}, errWire
	}
	return *h[sent.Slot], nil
}
