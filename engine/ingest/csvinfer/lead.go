package csvinfer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// Lead describes where the table begins in a file, and which lines are no part of it.
type Lead struct {
	// Line holds at most 64 KiB of the first line of the table. It is "" if there is no table.
	Line string
	// Delimiter is the one that the file declares, or "".
	Delimiter string
	// Skip is the number of lines before the table, not counting one that declares the delimiter.
	Skip int
	// Comment is the character that begins comment lines, or "".
	Comment string
}

// commentMark is the character that is taken for the beginning of comments.
const commentMark = '#'

// The bounds of what is read to find the table.
const (
	leadBytes   = 256 << 10
	leadRecords = 2000
	// leadSkip bounds the lines before the header.
	leadSkip = 100
)

// record is a record of the sample. It may be no part of the table.
type record struct {
	// skipped is the number of lines before it.
	skipped int
	// fields are its values, without quotes; filled is the number of those that are not blank.
	fields []string
	filled int
	// marked reports that the record begins with [commentMark]. open reports that a field in quotes
	// continues on the next line.
	marked, open bool
}

// findLead finds the table at the beginning of a file, and returns the text from there on, without
// comments. Given options decide; the rest is guessed with caution, because a line that is wrongly
// taken for a row is seen, or becomes a problem.
func findLead(text []byte, given csvbody.Options) (lead Lead, table []byte) {
	quote := byte('"')
	if len(given.Quote) == 1 {
		quote = given.Quote[0]
	}
	if comma, ok := csvbody.Declared(text, quote); ok {
		lead.Delimiter = string(rune(comma))
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	delimiters := []string{",", ";", "\t", "|"}
	if d := cmp.Or(lead.Delimiter, given.Delimiter); len(d) == 1 {
		delimiters = []string{d}
	}
	lead.Skip, _ = strconv.Atoi(given.Skip) // empty, or checked
	lead.Comment = given.Comment
	text = afterLines(text, lead.Skip)
	begin := text[:min(len(text), leadBytes)]
	s := shapeOf(begin, len(begin) == len(text), delimiters, quote, given.Comment)
	skip, first := 0, 0
	if s.width > 0 && given.Skip == "" {
		skip, first = s.preamble()
	}
	if s.width > 0 && given.Comment == "" && s.hasComments(skip, first) {
		lead.Comment = string(rune(commentMark))
	}
	text = afterLines(text, skip)
	lead.Skip += skip
	table = withoutComments(text, lead.Comment, quote)
	line, _, _ := bytes.Cut(table[:min(len(table), 64<<10)], []byte{'\n'})
	lead.Line = string(line)
	return lead, table
}

// afterLines returns what follows the first lines of a text.
func afterLines(text []byte, lines int) []byte {
	for range lines {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text
}

// withoutComments returns a text without its comment lines.
func withoutComments(text []byte, comment string, quote byte) []byte {
	if comment == "" {
		return text
	}
	out := make([]byte, 0, len(text))
	for quoted := false; len(text) > 0; {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		line := text[:n]
		text = text[n:]
		if !quoted && line[0] == comment[0] {
			continue
		}
		quoted = quoted != (bytes.Count(line, []byte{quote})%2 == 1)
		out = append(out, line...)
	}
	return out
}

// shape is the beginning of a file as records.
type shape struct {
	records []record
	// width is the number of fields of most records, 0 if there are fewer than two.
	width int
}

// shapeOf splits a text by that delimiter with which the largest share of records has the same number
// of fields. The last record of a text that is not whole is left out.
func shapeOf(text []byte, whole bool, delimiters []string, quote byte, comment string) (best shape) {
	most := 0.0
	for _, d := range delimiters {
		if d[0] == quote {
			continue
		}
		s := shape{records: split(text, d[0], quote, comment)}
		if n := len(s.records); n > 0 && !whole {
			s.records = s.records[:n-1]
		}
		widths, total := map[int]int{}, 0
		for _, r := range s.records {
			if r.filled > 0 && !r.marked {
				widths[len(r.fields)]++
				total++
			}
		}
		n := 0 // the number of records of the most frequent width
		for width, count := range widths {
			if width > 1 && (count > n || count == n && width > s.width) {
				s.width, n = width, count
			}
		}
		if share := float64(n) / float64(max(total, 1)); share > most || share == most && s.width > best.width {
			best, most = s, share
		}
	}
	return best
}

// split returns the first records of a text, without comments.
func split(text []byte, comma, quote byte, comment string) (out []record) {
	for line := 0; len(text) > 0 && len(out) < leadRecords; {
		r := record{skipped: line, marked: text[0] == commentMark}
		isComment := comment != "" && text[0] == comment[0]
		n := r.read(text, comma, quote, r.marked || isComment)
		if r.open && !isComment {
			whole := record{skipped: line, marked: r.marked}
			n = whole.read(text, comma, quote, false)
			whole.open = true
			r = whole
		}
		line += bytes.Count(text[:n], []byte{'\n'})
		text = text[n:]
		if !isComment {
			out = append(out, r)
		}
	}
	return out
}

// read reads the record at the beginning of a text, or only its first line, and returns its length.
func (r *record) read(text []byte, comma, quote byte, oneLine bool) int {
	var field []byte
	quoted := false
	end := func() {
		value := strings.TrimSpace(string(field))
		r.fields, field, quoted = append(r.fields, value), field[:0], false
		if value != "" {
			r.filled++
		}
	}
	defer end()
	r.open = false
	for i, c := range text {
		switch {
		case c == '\n' && (oneLine || !r.open):
			return i + 1
		case c == quote && (quoted || len(field) == 0):
			r.open, quoted = !r.open, true // a quote that is doubled closes and opens
		case c == comma && !r.open:
			end()
		default:
			field = append(field, c)
		}
	}
	return len(text)
}

// mayBeRow reports whether the record has as many fields as a row, or a field that continues on the
// next line.
func (r *record) mayBeRow(width int) bool { return len(r.fields) == width || r.open }

// preamble returns the number of lines before the table, or 0 if that is uncertain, and the index of
// the first record after them that does not begin with [commentMark].
func (s shape) preamble() (skip, first int) {
	at, blank := s.firstRow(), false
	for first < len(s.records) && s.records[first].marked {
		first++
	}
	for _, r := range s.records[:at] {
		blank = blank || r.filled == 0
	}
	onlyComments := first >= at && !blank && !s.records[at].marked
	if at == 0 || onlyComments || s.records[at].skipped > leadSkip || !s.isPreamble(at) {
		return 0, first
	}
	return s.records[at].skipped, at
}

// firstRow returns the index of the first record that may be part of the table, or 0.
func (s shape) firstRow() int {
	for i, r := range s.records {
		padded := s.width > 2 && r.filled <= 1
		if len(r.fields) == s.width && !padded && (!r.marked || i+1 < len(s.records) && !s.records[i+1].marked) {
			return i
		}
	}
	return 0
}

// isPreamble reports whether the records before index at are text, and a table with a header begins
// at that index: the records have fewer values than the table has columns, and the header differs
// from the rows.
func (s shape) isPreamble(at int) bool {
	blankBefore := at > 0 && s.records[at-1].filled == 0
	for _, r := range s.records[:at] {
		few := r.filled <= 1 || r.filled == 2 && s.width > 3 || blankBefore && len(r.fields) < s.width
		if r.marked && r.mayBeRow(s.width) || !r.marked && (!few || len(r.fields) > s.width) {
			return false
		}
	}
	header, rows := s.records[at], 0
	for i, name := range header.fields {
		if header.marked && i == 0 {
			name = strings.TrimLeft(name, string(rune(commentMark)))
		}
		if name == "" || isTyped(name) {
			return false
		}
	}
	typed := make([]bool, s.width)
	for i := range typed {
		typed[i] = true
	}
	for _, r := range s.records[at+1:] {
		switch {
		case r.filled == 0 || r.marked:
			continue
		case len(r.fields) != s.width:
			return false
		}
		rows++
		for i, text := range r.fields {
			typed[i] = typed[i] && (text == "" || isTyped(text) || nullText(text) != "")
		}
	}
	return rows > 0 && (blankBefore || slices.Contains(typed, true))
}

// hasComments reports whether the records that begin with [commentMark] are comments: none of them
// has as many fields as a row, and without them the file begins with a row.
func (s shape) hasComments(skip, first int) bool {
	if first >= len(s.records) || len(s.records[first].fields) != s.width || s.records[first].marked {
		return false
	}
	found := false
	for _, r := range s.records {
		if r.marked && r.skipped >= skip {
			if r.mayBeRow(s.width) {
				return false
			}
			found = true
		}
	}
	return found
}

// isTyped reports whether a value is a number, a truth value, or begins as a date does.
func isTyped(text string) bool {
	if f, ok := parseNumber([]byte(text)); ok && f.finite || isBoolean([]byte(text)) {
		return true
	}
	digits := 0
	for digits < len(text) && text[digits]-'0' <= 9 {
		digits++
	}
	return digits > 0 && digits < len(text) && strings.IndexByte("-/.:", text[digits]) >= 0
}

// comments describes the comment lines of a file: their number and the first of them.
type comments struct {
	count, first int64
}

// comment takes a comment line, if the caller has not set csv_comment.
func (in *inference) comment(text []byte, line int64) {
	if in.comments.count++; in.comments.count == 1 {
		in.comments.first = line
	}
	var r record
	if r.read(text, in.records.Comma(), in.quote, true); len(in.columns) > 1 && r.mayBeRow(len(in.columns)) {
		in.problem(line, "the line is taken for a comment, but may be a row: set csv_comment")
	}
}

// reportLead reports the lines that a load leaves out, unless options of the caller say so.
func (in *inference) reportLead(given csvbody.Options, dialect csvbody.Dialect) {
	if dialect.Skip > 0 && given.Skip == "" {
		in.guessed(1, fmt.Sprintf("the lines before line %d are not taken for rows: set csv_skip", in.begun))
	}
	if in.comments.count > 0 && given.Comment == "" {
		in.guessed(in.comments.first, fmt.Sprintf("lines that begin with %c are taken for comments: set csv_comment (number of lines: %d)",
			dialect.Comment, in.comments.count))
	}
}
