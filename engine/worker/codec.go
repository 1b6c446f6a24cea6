package worker

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/lakewarden/lakewarden/engine"
)

// errWire is returned for a message that does not decode.
var errWire = errors.New("worker: malformed message")

// Types of argument values that CBOR's own types cannot distinguish. Each has a tag.
type (
	bools   []bool
	ints    []int64
	floats  []float64
	texts   []string
	numbers []json.Number
	// unbindable replaces a value of a type outside the contract. The engine refuses it and names
	// its parameter, as it would have refused the original.
	unbindable struct{}
)

// firstTag is the tag of the first of these types. The others follow in the order of the list.
const firstTag = 40000

var encoding, decoding, decodingReplies = func() (cbor.EncMode, cbor.DecMode, cbor.DecMode) {
	tags := cbor.NewTagSet()
	opts := cbor.TagOptions{EncTag: cbor.EncTagRequired, DecTag: cbor.DecTagRequired}
	for i, v := range []any{json.Number(""), bools{}, ints{}, floats{}, texts{}, numbers{}, unbindable{}} {
		must(0, tags.Add(opts, reflect.TypeOf(v), firstTag+uint64(i)))
	}
	// Texts keep their exact bytes, even if they are not valid UTF-8: a changed path would be
	// another path. Before it allocates, the decoder checks that the message has as many items as
	// it announces.
	return must(cbor.EncOptions{NaNConvert: cbor.NaNConvertNone, InfConvert: cbor.InfConvertNone}.EncModeWithTags(tags)),
		must(cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, IntDec: cbor.IntDecConvertSignedOrFail,
			MaxArrayElements: maxItems, MaxMapPairs: maxItems, MaxNestedLevels: maxNesting}.DecModeWithTags(tags)),
		must(cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, IntDec: cbor.IntDecConvertSignedOrFail,
			DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, TagsMd: cbor.TagsForbidden,
			MaxArrayElements: maxReplyItems, MaxMapPairs: maxReplyItems, MaxNestedLevels: maxReplyNesting}.DecMode())
}()

const (
	// maxItems bounds one list or dictionary of a request.
	maxItems = 1 << 24
	// maxNesting bounds the nesting of a request: columns have members at any depth.
	maxNesting = 1024
	// maxReplyItems and maxReplyNesting are the same for replies: the columns of a result or of a file
	// are their longest lists, and the names of a nested column are their deepest texts.
	maxReplyItems   = 1 << 18
	maxReplyNesting = 8
)

// must returns v. It panics on an error, which only a change of this package can cause.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encode returns the message of a value of one of this package's messages.
func encode(v any) []byte { return must(encoding.Marshal(v)) }

// decode reads a message that encode wrote into v, a pointer.
func decode(message []byte, v any) error {
	if decoding.Unmarshal(message, v) != nil {
		return errWire
	}
	return nil
}

// decodeReply reads a message of a child. It is stricter than decode, because a list item of one
// byte can take the memory of a column, and a hostile child may send nothing else.
func decodeReply(message []byte, v any) error {
	if decodingReplies.Unmarshal(message, v) != nil {
		return errWire
	}
	return nil
}

// setupMessage is the first message to a child.
type setupMessage struct {
	Protocol uint64
	Setup    []byte
}

// columnsMessage announces a result: its schema as an IPC message, and its columns.
type columnsMessage struct {
	Schema  []byte
	Columns []engine.Column
}

// failureMessage ends a request that failed. One of Engine and Coded is set.
type failureMessage struct {
	// Broken reports that the session is of no further use.
	Broken bool
	Engine *engine.Error
	Coded  *codedError
}

// codedError is an engine failure that is not an [engine.Error] and has its own code in the table
// of problems.
type codedError struct{ Text, Code string }

func (e *codedError) Error() string { return e.Text }

// ProblemCode returns the code of the failure in the table of problems.
func (e *codedError) ProblemCode() string { return e.Code }

// maxText bounds the text of a failure, which can hold a value of any length.
const maxText = 1 << 20

// newFailure returns the message for any error. It cuts long texts.
func newFailure(broken bool, err error) failureMessage {
	m := failureMessage{Broken: broken}
	var coded interface{ ProblemCode() string }
	switch {
	case errors.As(err, &m.Engine):
	case errors.As(err, &coded):
		m.Coded = &codedError{Text: cut(err.Error()), Code: coded.ProblemCode()}
	default:
		m.Engine = &engine.Error{Kind: engine.KindInternal, Class: "engine", Position: -1, Text: err.Error()}
	}
	if m.Engine != nil && len(m.Engine.Text) > maxText {
		short := *m.Engine
		short.Text = cut(short.Text)
		m.Engine = &short
	}
	return m
}

func cut(text string) string { return text[:min(len(text), maxText)] }

// err returns the error that the message holds.
func (m failureMessage) err() error {
	switch {
	case m.Engine != nil:
		return m.Engine
	case m.Coded != nil:
		return m.Coded
	}
	return errWire
}

// mapArgs returns the arguments with each value, and those of lists, replaced by f.
func mapArgs(a engine.Args, f func(any) any) engine.Args {
	out := engine.Args{Positional: mapValues(a.Positional, f)}
	if a.Named != nil {
		out.Named = make(map[string]any, len(a.Named))
		for name, v := range a.Named {
			out.Named[name] = mapValue(v, f)
		}
	}
	return out
}

func mapValues(values []any, f func(any) any) []any {
	if values == nil {
		return nil
	}
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = mapValue(v, f)
	}
	return out
}

func mapValue(v any, f func(any) any) any {
	if list, ok := v.([]any); ok {
		return mapValues(list, f)
	}
	return f(v)
}

// tagged converts a value of the contract to one that a message can represent without ambiguity.
func tagged(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, json.Number:
		return v
	case []bool:
		return bools(v)
	case []int64:
		return ints(v)
	case []float64:
		return floats(v)
	case []string:
		return texts(v)
	case []json.Number:
		return numbers(v)
	}
	return unbindable{}
}

// untagged is the inverse of tagged.
func untagged(v any) any {
	switch v := v.(type) {
	case bools:
		return []bool(v)
	case ints:
		return []int64(v)
	case floats:
		return []float64(v)
	case texts:
		return []string(v)
	case numbers:
		return []json.Number(v)
	}
	return v
}
