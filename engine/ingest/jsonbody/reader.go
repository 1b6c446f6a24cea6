package jsonbody

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// memberBytes bounds the total size of the members other than the rows, maxMembers their
// number.
const (
	memberBytes = 128 << 10
	maxMembers  = 100
)

// reader reads values from a body and checks its grammar. Duplicate names and text that is not
// UTF-8 are left to the code that reads a value, which knows their place.
type reader struct {
	in *staging.Meter
	d  *jsontext.Decoder
	// mark is the number of bytes before the decoder's first byte.
	mark   int64
	format staging.Format
	limits staging.Limits
	// rowLimit is allocated once, because a row can be as short as two bytes.
	rowLimit *staging.LimitError
}

func newReader(in *staging.Meter, format staging.Format, limits staging.Limits) (*reader, error) {
	start, mark, err := staging.SkipMark(in)
	if err != nil {
		return nil, err
	}
	d := jsontext.NewDecoder(start, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &reader{
		in: in, d: d, mark: mark, format: format, limits: limits,
		rowLimit: &staging.LimitError{What: "row bytes", Limit: limits.RowBytes},
	}, nil
}

// ReadLines stages a sequence of values.
func ReadLines(in *staging.Meter, rows *staging.Rows) error {
	b, err := newReader(in, staging.NDJSON, rows.Limits)
	if err != nil {
		return err
	}
	j := &decoder{Rows: rows}
	for {
		value, err := b.value(b.rowLimit)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := j.row(value); err != nil {
			return err
		}
	}
}

// ReadEnvelope stages the member rows of an object, and returns the others.
func ReadEnvelope(in *staging.Meter, rows *staging.Rows) (map[string]json.RawMessage, error) {
	b, err := newReader(in, staging.JSON, rows.Limits)
	if err != nil {
		return nil, err
	}
	if err := b.enter('{', "expected an object"); err != nil {
		return nil, err
	}
	members, kept, found := map[string]json.RawMessage{}, int64(0), false
	for {
		name, more, err := b.name(memberBytes - kept)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if len(members) == maxMembers {
			return nil, &staging.LimitError{What: "members", Limit: maxMembers}
		}
		if _, twice := members[name]; twice || name == "rows" && found {
			return nil, b.syntax("a member is named twice")
		}
		if name == "rows" {
			found = true
			if err := b.rows(&decoder{Rows: rows}); err != nil {
				return nil, err
			}
			continue
		}
		value, err := b.value(memberLimit(memberBytes - kept))
		if err != nil {
			return nil, b.cut(err)
		}
		if deeper(value, b.limits.Depth) {
			return nil, staging.ErrTooDeep
		}
		if !value.IsValid() {
			return nil, b.syntax("a member holds a name twice, or text that is not UTF-8")
		}
		kept += int64(len(name) + len(value))
		members[name] = json.RawMessage(value.Clone())
	}
	b.in.Allow(b.rowLimit)
	if _, err := b.d.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			return nil, b.syntax("text after the end")
		}
		return nil, b.failure(err)
	}
	if !found {
		return nil, staging.ErrNoRows
	}
	return members, nil
}

// rows stages the values of a list.
func (b *reader) rows(j *decoder) error {
	b.in.Allow(b.rowLimit)
	if kind := b.d.PeekKind(); kind != '[' && kind != jsontext.KindInvalid {
		return staging.ErrNoRows
	}
	if err := b.enter('[', "expected a list of rows"); err != nil {
		return err
	}
	for {
		b.in.Allow(b.rowLimit)
		if b.d.PeekKind() == ']' {
			_, err := b.d.ReadToken()
			return b.cut(b.failure(err))
		}
		value, err := b.value(b.rowLimit)
		if err != nil {
			return b.cut(err)
		}
		if err := j.row(value); err != nil {
			return err
		}
	}
}

// enter reads the bracket that opens an object or a list.
func (b *reader) enter(bracket jsontext.Kind, otherwise string) error {
	b.in.Allow(b.rowLimit)
	token, err := b.d.ReadToken()
	if err != nil {
		return b.cut(b.failure(err))
	}
	if token.Kind() != bracket {
		return b.syntax(otherwise)
	}
	return nil
}

// name reads the name of a member, or the end of the object.
func (b *reader) name(limit int64) (string, bool, error) {
	b.in.Allow(memberLimit(limit))
	token, err := b.d.ReadToken()
	if err != nil {
		return "", false, b.cut(b.failure(err))
	}
	if token.Kind() == '}' {
		return "", false, nil
	}
	return token.String(), true, nil
}

// value reads one value, valid until the next call. At the end of a sequence it returns
// io.EOF.
func (b *reader) value(limit *staging.LimitError) (jsontext.Value, error) {
	b.in.Allow(limit)
	value, err := b.d.ReadValue()
	if err != nil {
		return nil, b.failure(err)
	}
	if int64(len(value)) > limit.Limit {
		return nil, limit
	}
	return value, nil
}

// memberLimit returns the limit for the members other than the rows.
func memberLimit(bytes int64) *staging.LimitError {
	return &staging.LimitError{What: "member bytes", Limit: max(bytes, 0)}
}

// cut returns an error inside of a value, where an end is a truncated body.
func (b *reader) cut(err error) error {
	if errors.Is(err, io.EOF) {
		return staging.ErrTruncated
	}
	return err
}

// failure converts an error of the decoder. Errors of the body are returned unchanged.
func (b *reader) failure(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case b.in.Failure() != nil:
		return b.in.Failure()
	case !errors.As(err, &syntactic):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return staging.ErrTruncated
	case strings.Count(string(syntactic.JSONPointer), "/") > b.limits.Depth:
		return staging.ErrTooDeep
	}
	return b.syntaxAt(syntactic.ByteOffset, "not the grammar of JSON")
}

func (b *reader) syntax(text string) error { return b.syntaxAt(b.d.InputOffset(), text) }

// syntaxAt returns a syntax error with the line of an offset that the decoder has buffered.
func (b *reader) syntaxAt(offset int64, text string) error {
	unread := b.d.UnreadBuffer()
	at := min(max(offset-b.d.InputOffset(), 0), int64(len(unread)))
	line := b.in.Line() - int64(strings.Count(string(unread[at:]), "\n"))
	return &staging.SyntaxError{Format: b.format, Line: line, Offset: b.mark + offset, Text: text}
}
