package parquetcut

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// fewRows are so few that no row group of their own is made of them.
const fewRows = 4096

const (
	// growth is by how many bytes a file may be longer than the one that it is made of:
	// its footer, and its dictionaries, can be.
	growth = 256 << 10
	// storedGrowth is how often a file with stored pages may be longer than that.
	storedGrowth = 4
)

// Gap is what [File.Without] can leave out so that some rows are gone: those and as few
// others as the file allows, but at least so many in all. It may be the whole file.
func (f *File) Gap(gone Rows, least int64) (Rows, error) {
	if gone.From < 0 || gone.To > f.rows || gone.Count() <= 0 {
		return Rows{}, fmt.Errorf("%w: rows %d to %d of %d", ErrNotCut, gone.From, gone.To, f.rows)
	}
	gap := gone
	if gap.Count() < least {
		gap.To = min(gap.From+least, f.rows)
		gap.From = min(gap.From, max(gap.To-least, 0))
	}
	for _, g := range f.groups {
		if g.rows.From < gap.From && gap.From < g.rows.To && (!g.flat || gap.From-g.rows.From < fewRows) {
			gap.From = g.rows.From
		}
		if g.rows.From < gap.To && gap.To < g.rows.To && (!g.flat || g.rows.To-gap.To < fewRows) {
			gap.To = g.rows.To
		}
	}
	return gap, nil
}

// Without writes the file without the rows of a gap, which [File.Gap] has found, and
// returns its length. What comes last of a row group that is cut in its middle goes
// through later, which is empty before. Errors: [ErrNotCut], those of the bucket and of
// the writers.
func (f *File) Without(ctx context.Context, gap Rows, to io.Writer, later io.ReadWriteSeeker) (size int64, err error) {
	return f.write(ctx, []Rows{{0, gap.From}, {gap.To, f.rows}}, &target{w: bufio.NewWriterSize(to, 1<<20), limit: f.size + growth}, later)
}

// Only writes the rows of a gap as a file that is to be read soon and once, and returns
// its length. Errors are those of [File.Without].
func (f *File) Only(ctx context.Context, gap Rows, to io.Writer) (size int64, err error) {
	return f.write(ctx, []Rows{gap}, &target{w: bufio.NewWriterSize(to, 1<<20), limit: storedGrowth*f.size + growth, stored: true}, nil)
}

// write writes some stretches of rows, which are in order.
func (f *File) write(ctx context.Context, keep []Rows, out *target, later io.ReadWriteSeeker) (size int64, err error) {
	in := &source{ctx: ctx, bucket: f.bucket, name: f.name}
	defer func() { err = errors.Join(err, in.close()) }()
	if err := out.write([]byte(magic)); err != nil {
		return 0, err
	}
	var groups []structure
	var rows int64
	for i := range f.groups {
		made, err := f.groups[i].copy(in, out, keep, later)
		if err != nil {
			return 0, err
		}
		groups = append(groups, made...)
	}
	for i := range groups {
		rows += groups[i].number(3, 0)
		if groups[i].has(7) {
			groups[i] = groups[i].with(7, int16(min(i, 1<<15-1))) //nolint:gosec // bounded
		}
	}
	if rows == 0 {
		return 0, fmt.Errorf("%w: nothing is left", ErrNotCut)
	}
	footer, err := f.footer.with(3, rows).with(4, structureList(groups)).encode()
	if err != nil {
		return 0, err
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer))) //nolint:gosec // bounded by the limit of the target
	if err := errors.Join(out.write(append(footer, magic...)), out.w.Flush()); err != nil {
		return 0, err
	}
	return out.at, nil
}

// within are the stretches of the row group that are kept, counted from its first row.
func (g *group) within(keep []Rows) (out []Rows) {
	for _, k := range keep {
		if part := (Rows{max(k.From, g.rows.From) - g.rows.From, min(k.To, g.rows.To) - g.rows.From}); part.Count() > 0 {
			out = append(out, part)
		}
	}
	return out
}

// copy writes what is kept of a row group: each stretch becomes one.
func (g *group) copy(in *source, out *target, keep []Rows, later io.ReadWriteSeeker) ([]structure, error) {
	parts := g.within(keep)
	switch {
	case len(parts) == 0:
		return nil, nil
	case parts[0].Count() == g.rows.Count():
		made, err := g.whole(in, out)
		return []structure{made}, err
	case !g.flat:
		return nil, fmt.Errorf("%w: a row group that stays whole", ErrNotCut)
	case len(parts) == 1:
		first, _, err := g.cut(in, parts[0], out, Rows{}, nil)
		return []structure{g.made(first, parts[0].Count(), 0)}, err
	}
	spool := &target{w: bufio.NewWriterSize(later, 1<<20), limit: out.limit}
	first, second, err := g.cut(in, parts[0], out, parts[1], spool)
	if err != nil {
		return nil, err
	}
	base := out.at
	if err := spool.w.Flush(); err != nil {
		return nil, fmt.Errorf("setting pages aside: %w", err)
	}
	if _, err := later.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("setting pages aside: %w", err)
	}
	if err := out.copy(later, spool.at); err != nil {
		return nil, err
	}
	return []structure{g.made(first, parts[0].Count(), 0), g.made(second, parts[1].Count(), base)}, nil
}

// whole copies a row group. What lies outside of it, indexes and filters, stays behind.
func (g *group) whole(in *source, out *target) (structure, error) {
	columns := make([]structure, len(g.chunks))
	first := out.at
	for i, c := range g.chunks {
		moved := out.at - c.start
		if err := in.seek(c.start, g.end); err != nil {
			return nil, err
		}
		if err := out.copy(in, c.size); err != nil {
			return nil, err
		}
		meta := c.meta.with(9, c.meta.number(9, 0)+moved).without(10, 14, 15)
		if at := meta.number(11, 0); at > 0 {
			meta = meta.with(11, at+moved)
		}
		columns[i] = c.column.without(4, 5, 6, 7).with(2, int64(0)).with(3, meta)
	}
	made := g.meta.with(1, structureList(columns))
	if made.has(5) {
		made = made.with(5, first)
	}
	return made, nil
}

// written is a chunk of a new row group; offsets are those of its target.
type written struct {
	column, meta     structure
	data, dictionary int64
	packed, raw      int64
}

// cut writes one or two stretches of a row group, each to a target of its own.
func (g *group) cut(in *source, a Rows, toA *target, b Rows, toB *target) (first, second []written, err error) {
	for i := range g.chunks {
		c := &g.chunks[i]
		parts := []*stretch{newStretch(c, a, toA)}
		if toB != nil {
			parts = append(parts, newStretch(c, b, toB))
		}
		if err := in.seek(c.start, g.end); err != nil {
			return nil, nil, err
		}
		if err := c.split(in, g.rows.Count(), parts); err != nil {
			return nil, nil, err
		}
		first = append(first, parts[0].written)
		if toB != nil {
			second = append(second, parts[1].written)
		}
	}
	return first, second, nil
}

// made describes a new row group whose target lies at base.
func (g *group) made(chunks []written, rows, base int64) structure {
	var raw, packed int64
	columns := make([]structure, len(chunks))
	for i, c := range chunks {
		// Statistics, histograms and locations are those of the whole chunk.
		meta := c.meta.without(10, 11, 12, 13, 14, 15, 16, 17).with(5, rows).with(6, c.raw).with(7, c.packed).with(9, base+c.data)
		if c.dictionary >= 0 {
			meta = meta.with(11, base+c.dictionary)
		}
		columns[i] = c.column.without(4, 5, 6, 7).with(2, int64(0)).with(3, meta)
		raw, packed = raw+c.raw, packed+c.packed
	}
	made := g.meta.with(1, structureList(columns)).with(2, raw).with(3, rows)
	if made.has(5) && len(chunks) > 0 {
		start := chunks[0].data
		if chunks[0].dictionary >= 0 {
			start = chunks[0].dictionary
		}
		made = made.with(5, base+start)
	}
	if made.has(6) {
		made = made.with(6, packed)
	}
	return made
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
}

func newStretch(c *chunk, wanted Rows, to *target) *stretch {
	return &stretch{written: written{column: c.column, meta: c.meta, data: -1, dictionary: -1}, wanted: wanted, to: to}
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
			for _, s := range parts {
				s.kept = &dictionaryPage{head: head, body: body, raw: raw}
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
		if err := c.send(in, header, head, Rows{at, at + n}, parts); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// send copies a data page, cuts it, or leaves it out.
func (c *chunk) send(in *source, header structure, head []byte, rows Rows, parts []*stretch) error {
	packed, raw := header.number(3, 0), header.number(2, 0)
	cut := false
	for _, s := range parts {
		if s.wanted.From <= rows.From && rows.To <= s.wanted.To {
			if err := s.begin(encodingOf(header), int64(len(head)), packed, raw); err != nil {
				return err
			}
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

// target counts what is written.
type target struct {
	w  *bufio.Writer
	at int64
	// limit is how long it may become.
	limit int64
	// stored says that pages which are cut need not be compressed again.
	stored bool
}

// room is [ErrNotCut] where n more bytes make the target too long.
func (t *target) room(n int64) error {
	if n > t.limit-t.at {
		return fmt.Errorf("%w: it would become longer than %d bytes", ErrNotCut, t.limit)
	}
	return nil
}

func (t *target) write(b []byte) error {
	if err := t.room(int64(len(b))); err != nil {
		return err
	}
	n, err := t.w.Write(b)
	t.at += int64(n)
	if err != nil {
		return fmt.Errorf("writing a Parquet file: %w", err)
	}
	return nil
}

func (t *target) copy(from io.Reader, n int64) error {
	if err := t.room(n); err != nil {
		return err
	}
	done, err := io.CopyN(t.w, from, n)
	t.at += done
	if err != nil {
		return fmt.Errorf("copying a Parquet file: %w", err)
	}
	return nil
}

// source reads a file forwards, in one go as long as nothing lies behind.
type source struct {
	ctx     context.Context
	bucket  objstore.Bucket
	name    string
	at, end int64
	body    io.Closer
	r       *bufio.Reader
}

// maxSkip is up to how many bytes are read to get to a later place, rather than asked for
// anew.
const maxSkip = 1 << 20

// seek goes to a place from which is read up to end at most.
func (s *source) seek(to, end int64) error {
	if s.body != nil && to >= s.at && to-s.at <= maxSkip && end <= s.end {
		return s.skip(to - s.at)
	}
	if err := s.close(); err != nil {
		return err
	}
	body, err := s.bucket.GetRange(s.ctx, s.name, to, end-to)
	if err != nil {
		return err
	}
	s.body, s.at, s.end = body, to, end
	s.r = bufio.NewReaderSize(body, 1<<20)
	return nil
}

func (s *source) close() error {
	if s.body == nil {
		return nil
	}
	err := s.body.Close()
	s.body = nil
	return err
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.at += int64(n)
	return n, err
}

func (s *source) skip(n int64) error {
	for n > 0 {
		step, err := s.r.Discard(int(min(n, 1<<30)))
		s.at += int64(step)
		if err != nil {
			return fmt.Errorf("reading a Parquet file: %w", err)
		}
		n -= int64(step)
	}
	return nil
}

// take reads n bytes into memory.
func (s *source) take(n int64) ([]byte, error) {
	if n > maxPage {
		return nil, fmt.Errorf("%w: a page of %d bytes", ErrNotCut, n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(s, b)
	return b, err
}

// header reads the header of a page that lies before end, and its bytes.
func (s *source) header(end int64) (structure, []byte, error) {
	for size := int64(512); ; size *= 8 {
		b, err := s.r.Peek(int(min(size, end-s.at, 1<<20)))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("reading a Parquet file: %w", err)
		}
		header, n, err := decode(b)
		if err == nil {
			b, err := s.take(int64(n))
			return header, b, err
		}
		if int64(len(b)) < size || size > 64<<10 {
			return nil, nil, err
		}
	}
}
