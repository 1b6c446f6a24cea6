package action

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
)

// EncodeCommit encodes a commit with one action per line. Equal actions have equal
// encodings. The error is [ErrInvalidCommit] if the protocol does not allow the actions
// in one commit.
func EncodeCommit(actions []Action) ([]byte, error) {
	if err := checkCommit(actions); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	for _, a := range actions {
		line, err := Encode(a)
		if err != nil {
			return nil, err
		}
		buf.Write(line)
		buf.WriteByte('\n')
	}
	return buf.Bytes(), nil
}

// Encode encodes one action as a line of a commit, without the line feed.
func Encode(a Action) ([]byte, error) {
	value, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", a.name(), err)
	}
	line := make([]byte, 0, len(value)+len(a.name())+5)
	line = append(line, '{', '"')
	line = append(line, a.name()...)
	line = append(line, '"', ':')
	line = append(line, value...)
	line = append(line, '}')
	return line, nil
}

type fileSeen struct {
	add, remove  bool
	addDV, rmvDV string
}

// checkCommit applies the rules of the sections "Add File and Remove File" and "Delta
// Log Entries". Readers rely on them, because they may apply the actions of a commit in
// any order.
func checkCommit(actions []Action) error {
	invalid := func(what string) error { return fmt.Errorf("%s: %w", what, ErrInvalidCommit) }
	once := make(map[string]bool)
	files := make(map[string]*fileSeen)
	file := func(path string) *fileSeen {
		f := files[path]
		if f == nil {
			f = new(fileSeen)
			files[path] = f
		}
		return f
	}
	for i, a := range actions {
		if err := Validate(a); err != nil {
			return invalid(err.Error())
		}
		key := ""
		switch a := a.(type) {
		case *CommitInfo:
			if i != 0 {
				return invalid("commitInfo must come first")
			}
		case *Metadata:
			if a.ID == "" || a.SchemaString == "" {
				return invalid("metaData without id or schemaString")
			}
			key = a.name()
		case *Protocol:
			key = a.name()
		case *Txn:
			key = "txn " + a.AppID
		case *DomainMetadata:
			key = "domain " + a.Domain
		case *Add:
			f := file(a.Path)
			if f.add {
				return invalid("path added twice")
			}
			f.add, f.addDV = true, a.DeletionVector.UniqueID()
		case *Remove:
			f := file(a.Path)
			if f.remove {
				return invalid("path removed twice")
			}
			f.remove, f.rmvDV = true, a.DeletionVector.UniqueID()
		case *Sidecar, *CheckpointMetadata:
			return invalid("action of checkpoints")
		}
		if key != "" && once[key] {
			return invalid("repeated " + key)
		}
		once[key] = true
	}
	for _, f := range files {
		if f.add && f.remove && f.addDV == f.rmvDV {
			return invalid("path added and removed with the same deletion vector")
		}
	}
	return nil
}
