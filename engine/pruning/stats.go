package pruning

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// section is a part of a file's statistics.
type section int

const (
	minValues section = iota
	maxValues
	nullCount
)

var sections = map[string]section{"minValues": minValues, "maxValues": maxValues, "nullCount": nullCount}

// statsReader parses the statistics of files, one after the other.
type statsReader struct {
	text strings.Reader
	dec  *jsontext.Decoder
}

func newStatsReader() *statsReader {
	r := new(statsReader)
	r.dec = jsontext.NewDecoder(&r.text)
	return r
}

// read calls entry with each entry of a section of the text: the top-level column, and its unparsed
// JSON. It returns the number of rows. The entries are valid only if ok is true: then the text is
// complete and well formed.
func (r *statsReader) read(stats string, entry func(in section, column, raw string)) (rows int64, ok bool) {
	r.text.Reset(stats)
	r.dec.Reset(&r.text)
	rows = -1
	if !r.enter() {
		return 0, false
	}
	for r.dec.PeekKind() == '"' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return 0, false
		}
		// The name is only valid until the next token.
		in, wanted := sections[name.String()]
		records := name.String() == "numRecords"
		switch {
		case wanted && r.dec.PeekKind() == '{':
			if !r.section(stats, in, entry) {
				return 0, false
			}
		case records:
			raw, ok := r.raw(stats)
			if rows, err = strconv.ParseInt(raw, 10, 64); !ok || err != nil || rows < 0 {
				return 0, false
			}
		default:
			if r.dec.SkipValue() != nil {
				return 0, false
			}
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return 0, false
	}
	_, err := r.dec.ReadToken()
	return rows, errors.Is(err, io.EOF) && rows >= 0
}

func (r *statsReader) enter() bool {
	tok, err := r.dec.ReadToken()
	return err == nil && tok.Kind() == '{'
}

func (r *statsReader) section(stats string, in section, entry func(section, string, string)) bool {
	r.enter()
	for r.dec.PeekKind() == '"' {
		name, ok := r.raw(stats)
		if !ok {
			return false
		}
		column, ok := unquoted(name)
		if !ok {
			return false
		}
		raw, ok := r.raw(stats)
		if !ok {
			return false
		}
		entry(in, column, raw)
	}
	_, err := r.dec.ReadToken()
	return err == nil
}

// raw returns the next value as a part of the text, without copying it.
func (r *statsReader) raw(stats string) (string, bool) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return "", false
	}
	end := int(r.dec.InputOffset())
	return stats[end-len(v) : end], true
}
