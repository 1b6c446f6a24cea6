package parquetcut

// maxIndex bounds what is read of the column indexes of a row group, and of its offset
// indexes, in bytes.
const maxIndex = 1 << 20

// pageIndex holds the page indexes of the columns of numbers of a row group, as they stand
// in the file (PageIndex.md).
type pageIndex struct {
	columns, offsets excerpt
}

// excerpt is a part of a file.
type excerpt struct {
	at Rows // bytes, here
	b  []byte
}

// of is what lies there; nil where that is no part of it.
func (p excerpt) of(at Rows) []byte {
	if at.Count() <= 0 || at.From < p.at.From || at.To > p.at.To {
		return nil
	}
	return p.b[at.From-p.at.From : at.To-p.at.From]
}

// readPageIndex reads those that there are; they are few enough where they lie together.
func (g *group) readPageIndex(in *source) (x pageIndex, err error) {
	if x.columns, err = in.readAround(g.chunks, func(c chunk) Rows { return c.columnIndex }); err != nil {
		return x, err
	}
	x.offsets, err = in.readAround(g.chunks, func(c chunk) Rows { return c.offsetIndex })
	return x, err
}

// readAround reads the part of the file that has something of all columns of numbers.
func (s *source) readAround(chunks []chunk, of func(chunk) Rows) (p excerpt, err error) {
	for _, c := range chunks {
		at := of(c)
		if c.numbers == noNumbers || at.Count() <= 0 {
			continue
		}
		if p.at.Count() <= 0 {
			p.at = at
		}
		p.at = Rows{min(p.at.From, at.From), max(p.at.To, at.To)}
	}
	if p.at.Count() <= 0 || p.at.Count() > maxIndex {
		return excerpt{}, nil
	}
	p.b, err = s.file.read(s.ctx, p.at.From, p.at.Count())
	return p, err
}

// indexedPage is what an index says of a page: which rows of its row group it has, and
// what they hold.
type indexedPage struct {
	rows  Rows
	stats stats
}

// pages are those of a chunk of so many rows, by where they lie in the file. They are nil
// where there is no index, and where it does not fit the chunk's own statistics.
func (x pageIndex) pages(c *chunk, rows int64) map[int64]indexedPage {
	if c.numbers == noNumbers {
		return nil
	}
	index, _, errIndex := decode(x.columns.of(c.columnIndex))
	offsets, _, errOffsets := decode(x.offsets.of(c.offsetIndex))
	if errIndex != nil || errOffsets != nil {
		return nil
	}
	places := offsets.structures(1)
	empty, lows, highs, nulls := index.items(1), index.items(2), index.items(3), index.items(5)
	if len(empty) != len(places) || len(lows) != len(places) || len(highs) != len(places) || len(nulls) != len(places) {
		return nil
	}
	var all stats
	out := make(map[int64]indexedPage, len(places))
	for i, place := range places {
		p := indexedPage{rows: Rows{place.number(3, -1), rows}}
		if i < len(places)-1 {
			p.rows.To = places[i+1].number(3, -1)
		}
		if i == 0 && p.rows.From != 0 || p.rows.From < 0 || p.rows.Count() <= 0 || p.rows.To > rows {
			return nil
		}
		p.stats.nulls, _ = nulls[i].(int64)
		none := p.stats.nulls == p.rows.Count()
		if p.stats.nulls < 0 || p.stats.nulls > p.rows.Count() || none != (empty[i] == true) || !none && !p.stats.between(lows[i], highs[i], c.physical) {
			return nil
		}
		all.join(p.stats)
		out[place.number(1, -1)] = p
	}
	if whole, _ := statsOf(c.meta.structure(12), c.physical, rows); whole != all || len(out) != len(places) {
		return nil
	}
	return out
}

// extremes are the pages that lie in a stretch as a whole and, by the index, hold its least
// and its greatest value; -1 where there is none.
func extremes(pages map[int64]indexedPage, wanted Rows) (lowest, highest int64) {
	lowest, highest = -1, -1
	for at, p := range pages {
		if !p.stats.any || p.rows.From < wanted.From || p.rows.To > wanted.To {
			continue
		}
		if lowest < 0 || p.stats.min < pages[lowest].stats.min {
			lowest = at
		}
		if highest < 0 || p.stats.max > pages[highest].stats.max {
			highest = at
		}
	}
	return lowest, highest
}
