package parquetcut

import (
	"errors"
	"fmt"
)

// written is a chunk of a new row group. Offsets are those of its target, -1 for none; sizes
// are in bytes.
type written struct {
	column, meta     structure
	data, dictionary int64
	packed, raw      int64
	limits           limits
}

// stretch is a part of a chunk on its way to a target.
type stretch struct {
	written
	wanted Rows
	to     *target
	// kept is the dictionary, which is written when the first page needs it: after many
	// values writers go on without one.
	kept *dictionaryPage
}

// dictionaryPage is a dictionary as it stands in the file, raw its length when it is
// decompressed.
type dictionaryPage struct {
	head, body []byte
	raw        int64
	// decoded are its values, once they were asked for.
	decoded []int64
}

func newStretch(c *chunk, wanted Rows, to *target) *stretch {
	return &stretch{written: written{column: c.column, meta: c.meta, data: -1, dictionary: -1, limits: limits{unknown: c.pages == nil}}, wanted: wanted, to: to}
}

// begin notes where a data page goes, and its sizes, behind the dictionary if it needs it.
func (s *stretch) begin(encoding, head, body, raw int64) error {
	if encoding == encodingPlainDictionary || encoding == encodingRLEDictionary {
		if err := s.putDictionary(); err != nil {
			return err
		}
	}
	if s.data < 0 {
		s.data = s.to.at
	}
	s.packed, s.raw = s.packed+head+body, s.raw+head+raw
	return nil
}

// putDictionary writes the dictionary where it is not there yet.
func (s *stretch) putDictionary() error {
	d := s.kept
	switch {
	case s.dictionary >= 0:
		return nil
	case d == nil || s.data >= 0:
		return fmt.Errorf("%w: a dictionary behind pages", ErrNotCut)
	}
	s.dictionary = s.to.at
	head, body := int64(len(d.head)), int64(len(d.body))
	s.packed, s.raw = s.packed+head+body, s.raw+head+d.raw
	return errors.Join(s.to.write(d.head), s.to.write(d.body))
}

// split walks over the pages of a chunk, up to the last that counts, and sends each where
// it belongs.
func (c *chunk) split(in *source, rows int64, parts []*stretch) error {
	end, last := c.start+c.size, parts[len(parts)-1].wanted.To
	for at := int64(0); at < last; {
		place := in.at
		header, head, err := in.header(end)
		if err != nil {
			return err
		}
		packed, raw := header.number(3, -1), header.number(2, -1)
		if packed < 0 || raw < 0 || packed > end-in.at {
			return fmt.Errorf("%w: a page of %d bytes", ErrNotCut, packed)
		}
		n := int64(0)
		switch header.number(1, -1) {
		case pageDictionary:
			if at > 0 || parts[0].kept != nil {
				return fmt.Errorf("%w: a dictionary amid pages", ErrNotCut)
			}
			body, err := in.take(packed)
			if err != nil {
				return err
			}
			dictionary := &dictionaryPage{head: head, body: body, raw: raw}
			for _, s := range parts {
				s.kept = dictionary
			}
			continue
		case pageData:
			n = header.structure(5).number(1, -1)
		case pageDataV2:
			n = header.structure(8).number(1, -1)
		}
		if n <= 0 || n > rows-at {
			return fmt.Errorf("%w: a page of %d rows", ErrNotCut, n)
		}
		if err := c.send(in, dataPage{header, head, Rows{at, at + n}, place}, parts); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// dataPage is the header of one, with its bytes, the rows of the group that it has, and
// where it lies in the file.
type dataPage struct {
	header structure
	head   []byte
	rows   Rows
	place  int64
}

// send copies a data page, cuts it, or leaves it out.
func (c *chunk) send(in *source, d dataPage, parts []*stretch) error {
	header, head, rows := d.header, d.head, d.rows
	packed, raw := header.number(3, 0), header.number(2, 0)
	cut := false
	for _, s := range parts {
		if s.wanted.From <= rows.From && rows.To <= s.wanted.To {
			if err := s.begin(encodingOf(header), int64(len(head)), packed, raw); err != nil {
				return err
			}
			known, found := c.pages[d.place]
			known.unknown = known.unknown || !found
			s.limits.join(known)
			return errors.Join(s.to.write(head), s.to.copy(in, packed))
		}
		cut = cut || s.wanted.From < rows.To && rows.From < s.wanted.To
	}
	if !cut {
		return in.skip(packed)
	}
	if raw > maxPage || rows.Count() > maxPageRows {
		return fmt.Errorf("%w: a page of %d bytes", ErrNotCut, raw)
	}
	body, err := in.take(packed)
	if err != nil {
		return err
	}
	p, err := c.openPage(header, body)
	if err != nil {
		return err
	}
	for _, s := range parts {
		from, to := max(s.wanted.From, rows.From), min(s.wanted.To, rows.To)
		if from >= to {
			continue
		}
		header, body, err := p.cut(int(from-rows.From), int(to-rows.From), s.to.stored)
		if err != nil {
			return err
		}
		if !s.limits.unknown {
			known, err := p.limits(int(from-rows.From), int(to-rows.From), s.kept)
			if err != nil {
				return err
			}
			s.limits.join(known)
		}
		head, err := header.encode()
		if err != nil {
			return err
		}
		if err := s.begin(p.encoding, int64(len(head)), int64(len(body)), header.number(2, 0)); err != nil {
			return err
		}
		if err := errors.Join(s.to.write(head), s.to.write(body)); err != nil {
			return err
		}
	}
	return nil
}

// encodingOf is that of the values of a data page of either version.
func encodingOf(header structure) int64 {
	if header.number(1, -1) == pageDataV2 {
		return header.structure(8).number(4, -1)
	}
	return header.structure(5).number(2, -1)
}
