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
	stats            stats
}

// stretch is a part of a chunk on its way to a target.
type stretch struct {
	written
	wanted Rows
	to     *target
	// kept is the dictionary, which is written when the first page needs it: after many
	// values writers go on without one.
	kept *dictionaryPage
	// pages are what is known of those of the chunk. Of those that go as they are, two are
	// looked into: of all others their bounds are enough, if they are met there.
	pages           map[int64]indexedPage
	lowest, highest int64
}

// dictionaryPage is a dictionary as it stands in the file, raw its length when it is
// decompressed.
type dictionaryPage struct {
	head, body []byte
	raw        int64
	// plain are its values, once they were asked for.
	plain []byte
}

// values are those of the dictionary in their plain encoding.
func (d *dictionaryPage) values(codec int64) (_ []byte, err error) {
	if d.raw > maxPage {
		return nil, fmt.Errorf("%w: a dictionary of %d bytes", ErrNotCut, d.raw)
	}
	if d.plain == nil {
		d.plain, err = decompress(codec, d.body, int(d.raw))
	}
	return d.plain, err
}

// newStretch begins a stretch of a chunk whose pages may be known.
func newStretch(c *chunk, wanted Rows, to *target, pages map[int64]indexedPage) *stretch {
	s := &stretch{written: written{column: c.column, meta: c.meta, data: -1, dictionary: -1}, wanted: wanted, to: to, pages: pages}
	s.stats.unknown = pages == nil
	s.lowest, s.highest = extremes(pages, wanted)
	return s
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
	cut := false
	for _, s := range parts {
		if s.wanted.From <= d.rows.From && d.rows.To <= s.wanted.To {
			return c.sendWhole(in, d, s)
		}
		cut = cut || s.wanted.From < d.rows.To && d.rows.From < s.wanted.To
	}
	packed := d.header.number(3, 0)
	if !cut {
		return in.skip(packed)
	}
	body, err := in.take(packed)
	if err != nil {
		return err
	}
	p, err := c.openPage(d.header, body)
	if err != nil {
		return err
	}
	for _, s := range parts {
		from, to := max(s.wanted.From, d.rows.From), min(s.wanted.To, d.rows.To)
		if from >= to {
			continue
		}
		if err := s.sendPart(p, int(from-d.rows.From), int(to-d.rows.From)); err != nil {
			return err
		}
	}
	return nil
}

// sendWhole copies a data page. Where a bound of the stretch comes from it, it is looked
// into: the bound is to be met.
func (c *chunk) sendWhole(in *source, d dataPage, s *stretch) error {
	packed, raw := d.header.number(3, 0), d.header.number(2, 0)
	if err := s.begin(encodingOf(d.header), int64(len(d.head)), packed, raw); err != nil {
		return err
	}
	if err := s.to.write(d.head); err != nil {
		return err
	}
	indexed, found := s.pages[d.place]
	known := indexed.stats
	known.unknown = !found || indexed.rows != d.rows
	extreme := d.place == s.lowest || d.place == s.highest
	if known.unknown || !extreme || packed > maxPage {
		known.unknown = known.unknown || extreme
		s.stats.join(known)
		return s.to.copy(in, packed)
	}
	body, err := in.take(packed)
	if err != nil {
		return err
	}
	seen, err := c.statsOf(d.header, body, s.kept)
	known.unknown = err != nil || seen != known
	s.stats.join(known)
	return s.to.write(body)
}

// statsOf are those of the values of a data page.
func (c *chunk) statsOf(header structure, body []byte, dictionary *dictionaryPage) (stats, error) {
	p, err := c.openPage(header, body)
	if err != nil {
		return stats{}, err
	}
	return p.stats(0, p.rows, dictionary)
}

// sendPart writes the rows from, … below to of a page.
func (s *stretch) sendPart(p *page, from, to int) error {
	header, body, err := p.cut(from, to, s.to.stored)
	if err != nil {
		return err
	}
	if !s.stats.unknown {
		known, err := p.stats(from, to, s.kept)
		known.unknown = err != nil
		s.stats.join(known)
	}
	head, err := header.encode()
	if err != nil {
		return err
	}
	if err := s.begin(p.encoding, int64(len(head)), int64(len(body)), header.number(2, 0)); err != nil {
		return err
	}
	return errors.Join(s.to.write(head), s.to.write(body))
}

// encodingOf is that of the values of a data page of either version.
func encodingOf(header structure) int64 {
	if header.number(1, -1) == pageDataV2 {
		return header.structure(8).number(4, -1)
	}
	return header.structure(5).number(2, -1)
}
