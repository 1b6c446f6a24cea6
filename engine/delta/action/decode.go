package action

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits bounds what a decoder accepts. A zero field means the default.
type Limits struct {
	// LineBytes bounds one action; the default is 32 MiB.
	LineBytes int
	// CommitBytes bounds one commit; the default is 256 MiB.
	CommitBytes int
	// Actions bounds the actions of one commit; the default is 10 million.
	Actions int
}

// OrDefault replaces zero fields by their defaults.
func (l Limits) OrDefault() Limits {
	if l.LineBytes <= 0 {
		l.LineBytes = 32 << 20
	}
	if l.CommitBytes <= 0 {
		l.CommitBytes = 256 << 20
	}
	if l.Actions <= 0 {
		l.Actions = 10_000_000
	}
	return l
}

// DecodeCommit decodes a commit, which has one JSON object per line. It ignores unknown
// actions. Errors: [ErrMalformed], [ErrTooLarge].
func DecodeCommit(body []byte, limits Limits) ([]Action, error) {
	limits = limits.OrDefault()
	if len(body) > limits.CommitBytes {
		return nil, fmt.Errorf("commit of %d bytes: %w", len(body), ErrTooLarge)
	}
	var actions []Action
	dec := jsontext.NewDecoder(bytes.NewBuffer(nil))
	for n := 1; len(body) > 0; n++ {
		line, rest, _ := bytes.Cut(body, []byte{'\n'})
		body = rest
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if len(line) > limits.LineBytes {
			return nil, fmt.Errorf("line %d of %d bytes: %w", n, len(line), ErrTooLarge)
		}
		a, err := decodeLine(dec, line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if a == nil {
			continue
		}
		if len(actions) == limits.Actions {
			return nil, fmt.Errorf("more than %d actions: %w", limits.Actions, ErrTooLarge)
		}
		actions = append(actions, a)
	}
	return actions, nil
}

// decodeLine returns nil for an unknown action.
func decodeLine(dec *jsontext.Decoder, line []byte) (Action, error) {
	dec.Reset(bytes.NewBuffer(line))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, malformed("not a JSON object", err)
	}
	var found Action
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, malformed("member name", err)
		}
		name := tok.String()
		target := newAction(name)
		if target == nil || dec.PeekKind() == 'n' {
			if err := dec.SkipValue(); err != nil {
				return nil, malformed(name, err)
			}
			continue
		}
		if found != nil {
			return nil, malformed("two actions in one line", nil)
		}
		if err := json.UnmarshalDecode(dec, target); err != nil {
			return nil, malformed(name, err)
		}
		if err := Validate(target); err != nil {
			return nil, err
		}
		found = target
	}
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '}' {
		return nil, malformed("unterminated object", err)
	}
	if dec.InputOffset() != int64(len(line)) {
		return nil, malformed("text after the action", nil)
	}
	return found, nil
}

func newAction(name string) Action {
	switch name {
	case "commitInfo":
		return new(CommitInfo)
	case "protocol":
		return new(Protocol)
	case "metaData":
		return new(Metadata)
	case "add":
		// Validate refuses this size, so it marks a missing one.
		return &Add{Size: math.MinInt64}
	case "remove":
		// Old writers omit dataChange; every removal of theirs changed data.
		return &Remove{DataChange: true}
	case "txn":
		return &Txn{Version: math.MinInt64}
	case "cdc":
		return new(CDC)
	case "domainMetadata":
		return new(DomainMetadata)
	case "sidecar":
		return new(Sidecar)
	case "checkpointMetadata":
		return new(CheckpointMetadata)
	}
	return nil
}

// Validate returns an error if the action lacks a required member or has an invalid
// one. The error is [ErrMalformed].
func Validate(a Action) error {
	switch a := a.(type) {
	case *Add:
		if a.Path == "" || a.Size < 0 {
			return malformed("add without path or size", nil)
		}
		return validateDV(a.DeletionVector)
	case *Remove:
		if a.Path == "" {
			return malformed("remove without path", nil)
		}
		return validateDV(a.DeletionVector)
	case *CDC:
		if a.Path == "" {
			return malformed("cdc without path", nil)
		}
	case *Protocol:
		return validateProtocol(a)
	case *Txn:
		if a.AppID == "" || a.Version == math.MinInt64 {
			return malformed("txn without appId or version", nil)
		}
	case *DomainMetadata:
		if a.Domain == "" {
			return malformed("domainMetadata without domain", nil)
		}
	case *Sidecar:
		if a.Path == "" {
			return malformed("sidecar without path", nil)
		}
	}
	return nil
}

func validateProtocol(p *Protocol) error {
	if p.MinReaderVersion < 1 || p.MinWriterVersion < 1 {
		return malformed("protocol versions below 1", nil)
	}
	if p.ReaderFeatures != nil && p.MinReaderVersion < 3 ||
		p.WriterFeatures != nil && p.MinWriterVersion < 7 {
		return malformed("feature list without table features", nil)
	}
	return nil
}

func validateDV(d *DeletionVector) error {
	if d == nil {
		return nil
	}
	switch d.StorageType {
	case "u", "p", "i":
	default:
		return malformed("storage type of deletion vector", nil)
	}
	if d.PathOrInlineDV == "" || d.SizeInBytes < 0 || d.Cardinality < 0 ||
		d.Offset != nil && *d.Offset < 0 {
		return malformed("deletion vector", nil)
	}
	return nil
}

func malformed(what string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s: %w", what, ErrMalformed)
	}
	return fmt.Errorf("%s: %w", what, errors.Join(ErrMalformed, cause))
}
