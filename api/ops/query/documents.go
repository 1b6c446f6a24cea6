package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// State identifies the rules by which a caller sees rows of some tables. Under equal states
// the caller sees equal rows, as long as the versions of the tables are the same.
type State struct {
	Tables []storedTable `json:"tables"`
	// Digest is that of the caller's role and attributes, and of the policies.
	Digest string `json:"digest"`
	// read are the versions whose rows are read.
	read []access.ReadVersion
}

// State returns the current state of tables. It returns [ErrResultStale] if the caller no
// longer sees one of them, or if another table has replaced it.
func (o Stored) State(ctx context.Context, a caller.Identity, tables ...access.Table) (State, error) {
	basis := access.BasisOf(tables...)
	s := State{Tables: storedTables(basis), read: basis.Versions()}
	var err error
	s.Digest, err = o.readState(ctx, a, s.Tables)
	return s, err
}

func (s State) record() resultRecord {
	return resultRecord{Tables: s.Tables, State: s.Digest, Read: s.read}
}

// Check returns [ErrResultStale] unless the state is still the current one.
func (o Stored) Check(ctx context.Context, a caller.Identity, s State) error {
	m, err := memo.NewEpochView(ctx, o.Queries.Store)
	if err != nil {
		return err
	}
	return o.current(ctx, m, a, s.record())
}

// KeepDocument stores a document that was made from rows of some tables as the result of an
// operation. Only [Stored.Document] returns it. visible becomes the public part of the record
// of the operation, so it must not hold a value of a row.
func (o Stored) KeepDocument(
	ctx context.Context, t *operation.Task, s State, document []byte, visible any,
) (done operation.Done, err error) {
	room := &room{limit: o.Results.MaxBytes, reserve: func(bytes int64) (bool, error) {
		return o.Runner.Reserve(ctx, t.Operation.ID, bytes, o.OrgBytes)
	}}
	if err := room.grow(int64(len(document))); err != nil {
		return done, err
	}
	if done.Private, err = json.Marshal(s.record()); err != nil {
		return done, err
	}
	if done.Result, err = json.Marshal(visible); err != nil {
		return done, err
	}
	done.StoredBytes = int64(len(document))
	return done, o.Results.put(ctx, resultName(t.Operation), bytes.NewReader(document), done.StoredBytes)
}

// Document returns a document that [Stored.KeepDocument] stored for an operation of a kind.
// It is for the owner only, whose policies decided what the document says, and only while
// the state is the one that it was made under. Errors are those of [Stored.Result].
func (o Stored) Document(ctx context.Context, id catalog.OperationID, kind catalog.OperationKind) ([]byte, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return nil, err
	}
	if err := o.Queries.Confirmed(); err != nil {
		return nil, err
	}
	op, err := o.Queries.Store.Operation(ctx, a.Org, id)
	if err != nil {
		return nil, err
	}
	remembered, err := resultOf(a, op, kind)
	if err != nil {
		return nil, err
	}
	state := State{Tables: remembered.Tables, Digest: remembered.State, read: remembered.Read}
	if err := o.Check(ctx, a, state); err != nil {
		return nil, err
	}
	body, err := o.Results.Bucket.Get(ctx, resultName(op))
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, catalog.ErrNotFound // removed just now
	}
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(body, o.Results.MaxBytes))
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("read stored document: %w", err)
	}
	// The rules can have changed while the document was read.
	return document, o.Check(ctx, a, state)
}
