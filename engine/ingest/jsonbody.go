package ingest

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// memberBytes bounds the total size of the other members of a JSON body. maxMembers
// bounds their number.
const (
	memberBytes = 128 << 10
	maxMembers  = 100
)

// jsonBody reads values from a body whose grammar is checked on the way. Names
// that come twice and text that is not UTF-8 are left to whoever takes a value,
// who can say where they stand.
type jsonBody struct {
	in *meter
	d  *jsontext.Decoder
	// mark is what stands before the decoder's first byte.
	mark   int64
	format Format
	limits Limits
	// rowLimit is allocated once, because a row can be as short as two bytes.
	rowLimit *LimitError
}

func newJSONBody(in *meter, format Format, limits Limits) (*jsonBody, error) {
	start, mark, err := skipMark(in)
	if err != nil {
		return nil, err
	}
	d := jsontext.NewDecoder(start, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &jsonBody{
		in: in, d: d, mark: mark, format: format, limits: limits,
		rowLimit: &LimitError{What: "row bytes", Limit: limits.RowBytes},
	}, nil
}

// readLines stages a sequence of values.
func readLines(in *meter, rows *rows) error {
	b, err := newJSONBody(in, NDJSON, rows.limits)
	if err != nil {
		return err
	}
	j := &jsonRows{rows: rows}
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

// readEnvelope stages the member rows of an object, and returns the others.
func readEnvelope(in *meter, rows *rows) (map[string]json.RawMessage, error) {
	b, err := newJSONBody(in, JSON, rows.limits)
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
			return nil, &LimitError{What: "members", Limit: maxMembers}
		}
		if _, twice := members[name]; twice || name == "rows" && found {
			return nil, b.syntax("a member is named twice")
		}
		if name == "rows" {
			found = true
			if err := b.rows(&jsonRows{rows: rows}); err != nil {
				return nil, err
			}
			continue
		}
		value, err := b.value(memberLimit(memberBytes - kept))
		if err != nil {
			return nil, b.cut(err)
		}
		if deeper(value, b.limits.Depth) {
			return nil, ErrTooDeep
		}
		if !value.IsValid() {
			return nil, b.syntax("a member holds a name twice, or text that is not UTF-8")
		}
		kept += int64(len(name) + len(value))
		members[name] = json.RawMessage(value.Clone())
	}
	b.in.allow(b.rowLimit)
	if _, err := b.d.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			return nil, b.syntax("text after the end")
		}
		return nil, b.failure(err)
	}
	if !found {
		return nil, ErrNoRows
	}
	return members, nil
}

// rows reads a list value by value.
func (b *jsonBody) rows(j *jsonRows) error {
	b.in.allow(b.rowLimit)
	if kind := b.d.PeekKind(); kind != '[' && kind != jsontext.KindInvalid {
		return ErrNoRows
	}
	if err := b.enter('[', "expected a list of rows"); err != nil {
		return err
	}
	for {
		b.in.allow(b.rowLimit)
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

// enter takes the bracket that opens an object or a list.
func (b *jsonBody) enter(bracket jsontext.Kind, otherwise string) error {
	b.in.allow(b.rowLimit)
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
func (b *jsonBody) name(limit int64) (string, bool, error) {
	b.in.allow(memberLimit(limit))
	token, err := b.d.ReadToken()
	if err != nil {
		return "", false, b.cut(b.failure(err))
	}
	if token.Kind() == '}' {
		return "", false, nil
	}
	return token.String(), true, nil
}

// value reads one value. It is valid until the next call. At the end of a
// sequence the error is io.EOF.
func (b *jsonBody) value(limit *LimitError) (jsontext.Value, error) {
	b.in.allow(limit)
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
func memberLimit(bytes int64) *LimitError {
	return &LimitError{What: "member bytes", Limit: max(bytes, 0)}
}

// cut is an error inside of a value, where an end is none.
func (b *jsonBody) cut(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}

// failure turns an error of the decoder into ours. Those of the reader stay.
func (b *jsonBody) failure(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case b.in.failure() != nil:
		return b.in.failure()
	case !errors.As(err, &syntactic):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case strings.Count(string(syntactic.JSONPointer), "/") > b.limits.Depth:
		return ErrTooDeep
	}
	return b.syntaxAt(syntactic.ByteOffset, "not the grammar of JSON")
}

func (b *jsonBody) syntax(text string) error { return b.syntaxAt(b.d.InputOffset(), text) }

// syntaxAt finds the line of an offset that was read but not passed yet.
func (b *jsonBody) syntaxAt(offset int64, text string) error {
	unread := b.d.UnreadBuffer()
	at := min(max(offset-b.d.InputOffset(), 0), int64(len(unread)))
	line := b.in.line() - int64(strings.Count(string(unread[at:]), "\n"))
	return &SyntaxError{Format: b.format, Line: line, Offset: b.mark + offset, Text: text}
}
