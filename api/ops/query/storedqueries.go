package query

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/sessions"
)

var (
	// ErrRunning: the operation has no result yet: 409.
	ErrRunning = fault.New("operation_running", "operation has not ended")
	// ErrResultStale: a policy, the member's role or attributes, or a table have
	// changed since. Run the query again: 409.
	ErrResultStale = fault.New("result_stale", "result is stale")
)

// Stored runs statements as operations and stores their rows.
type Stored struct {
	Queries *Service
	Runner  *operation.Runner
	Results Results
	// OrgBytes bounds the total size of an organisation's results.
	OrgBytes int64
}

// StoredStatement is a statement whose rows are stored.
type StoredStatement struct {
	Statement
	// Rows and Bytes cut the result; zero means no limit.
	Rows, Bytes int64
}

// resultRecord is the record of a stored result in its operation.
type resultRecord struct {
	QueryID string        `json:"query_id"`
	Rows    int64         `json:"rows"`
	Cut     bool          `json:"cut"`
	Tables  []storedTable `json:"tables"`
	// Read are the versions of the tables. Earlier versions of this program did not record them.
	Read []access.ReadVersion `json:"read,omitempty"`
	// State is a digest of what decided which rows the statement returned: see readState.
	State string `json:"state"`
	// Epoch and Viewer are set for answers from the catalog itself: any change of the
	// catalog can change them, and so can another credential.
	Epoch  uint64   `json:"epoch,omitempty"`
	Viewer []string `json:"viewer,omitempty"`
}

// storedTable identifies a table that a stored result was read from.
type storedTable struct {
	ID    catalog.TableID `json:"id"`
	Delta catalog.DeltaID `json:"delta"`
	// Replaced is the id of the replaced table that the version belongs to, if any.
	Replaced catalog.DeltaID `json:"replaced,omitempty"`
}

// storedTables returns the tables of a basis as a stored result records them, each
// version of a table once.
func storedTables(b access.Basis) []storedTable {
	out := []storedTable{}
	for _, t := range b.Tables() {
		k := storedTable{ID: t.Located().ID, Delta: t.Located().DeltaID, Replaced: t.Replaced()}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Start begins a statement and returns at once.
func (o Stored) Start(ctx context.Context, q StoredStatement) (catalog.Operation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Operation{}, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return catalog.Operation{}, err
	}
	if err := o.Queries.Confirmed(); err != nil {
		return catalog.Operation{}, err
	}
	if _, err := o.Queries.timeout(q.Timeout); err != nil {
		return catalog.Operation{}, err
	}
	return o.Runner.Start(ctx, a, catalog.OperationQuery,
		func(ctx context.Context, t *operation.Task) (operation.Done, error) { return o.run(ctx, t, q) })
}

func (o Stored) run(ctx context.Context, t *operation.Task, q StoredStatement) (operation.Done, error) {
	room := &room{limit: o.Results.MaxBytes, reserve: func(bytes int64) (bool, error) {
		return o.Runner.Reserve(ctx, t.Operation.ID, bytes, o.OrgBytes)
	}}
	if err := room.grow(1); err != nil { // before the work
		return operation.Done{}, err
	}
	rows, remembered, err := o.begin(ctx, q.Statement)
	if err != nil {
		return operation.Done{}, err
	}
	defer func() { _ = rows.Close() }()
	keep := func() (storedRows, error) {
		return o.Results.keep(ctx, t.Operation, rows, room, q.Rows, q.Bytes,
			func(n int64) { t.Progress(catalog.Progress{Done: n, Unit: "rows"}) })
	}
	stored, err := keep()
	if err != nil {
		// No client has seen any rows yet, so they may all come again.
		again, failed := sessions.WhenFree(ctx, rows.Again)
		switch {
		case failed != nil:
			err = failed
		case again:
			stored, err = keep()
		}
	}
	if err != nil {
		return operation.Done{}, err
	}
	if err := revocation.EndedBy(rows.alive, nil); err != nil { // while the rows were stored
		return operation.Done{}, errors.Join(err, o.Results.Discard(ctx, t.Operation))
	}
	remembered.QueryID, remembered.Rows, remembered.Cut = rows.ID, stored.rows, stored.truncated
	private, err := json.Marshal(remembered)
	if err != nil {
		return operation.Done{}, err
	}
	result, err := json.Marshal(map[string]any{"queryId": rows.ID, "rowCount": stored.rows, "bytes": stored.bytes,
		"truncated": stored.truncated})
	return operation.Done{Result: result, Private: private, StoredBytes: stored.bytes}, err
}

// begin starts the statement when its turn comes, and returns the rules that applied. A change
// of these rules while the statement starts leads to another start, because the rows are
// from before it.
func (o Stored) begin(ctx context.Context, q Statement) (*Rows, resultRecord, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return nil, resultRecord{}, err
	}
	for range beginAttempts {
		before, err := o.Queries.Store.Epoch(ctx)
		if err != nil {
			return nil, resultRecord{}, err
		}
		rows, err := sessions.WhenFree(ctx, func() (*Rows, error) {
			if err := o.Queries.Pool.Room(string(a.Org), string(a.User)); err != nil {
				return nil, err
			}
			return o.Queries.Run(ctx, q)
		})
		if err != nil {
			return nil, resultRecord{}, err
		}
		remembered, err := o.remember(ctx, a, rows, before)
		switch {
		case err == nil:
			return rows, remembered, nil
		case !errors.Is(err, ErrResultStale):
			return nil, resultRecord{}, errors.Join(err, rows.Close())
		}
		if err := rows.Close(); err != nil {
			return nil, resultRecord{}, err
		}
	}
	return nil, resultRecord{}, revocation.ErrStale
}

// beginAttempts bounds how often a statement starts, and how often its rules are read.
const beginAttempts = 20

// remember returns the record of rows whose statement began at an epoch or later. It returns
// [ErrResultStale] if the statement, begun now, would have other rows. Rows of the catalog
// itself are stale after any change, and rows of tables after a change of their basis. It
// returns [revocation.ErrStale] if the catalog changes all the time.
func (o Stored) remember(ctx context.Context, a caller.Identity, rows *Rows, began uint64) (resultRecord, error) {
	ofCatalog := rows.held == nil || rows.basis.Lists()
	holds := o.Queries.Tables.CheckBasis(a, rows.basis)
	for range beginAttempts {
		v, err := memo.NewEpochView(ctx, o.Queries.Store)
		if err != nil {
			return resultRecord{}, err
		}
		epoch := v.Epoch()
		if ofCatalog && epoch != began {
			return resultRecord{}, ErrResultStale
		}
		k := resultRecord{Tables: storedTables(rows.basis), Read: rows.basis.Versions()}
		if k.State, err = o.readState(ctx, a, k.Tables); err != nil {
			return resultRecord{}, err
		}
		if holds != nil {
			err := holds(ctx, v)
			if errors.Is(err, revocation.ErrRevoked) {
				err = ErrResultStale
			}
			if err != nil {
				return resultRecord{}, err
			}
		}
		after, err := o.Queries.Store.Epoch(ctx)
		if err != nil {
			return resultRecord{}, err
		}
		if after != epoch { // the state and the basis may be those of different epochs
			continue
		}
		if ofCatalog {
			k.Epoch, k.Viewer = epoch, access.ViewerFields(a.Viewer)
		}
		return k, nil
	}
	return resultRecord{}, revocation.ErrStale
}

// readState returns a digest of what decides which rows of some tables a caller sees: its role
// and attributes, and the policies. It returns [ErrResultStale] if the caller no longer sees
// one of the tables, or if another table has replaced it.
func (o Stored) readState(ctx context.Context, a caller.Identity, tables []storedTable) (string, error) {
	var governed []catalog.LocatedTable
	for _, t := range tables {
		found, err := o.Queries.Store.Table(ctx, a.Viewer, t.ID)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return "", ErrResultStale
		case err != nil:
			return "", err
		case found.State != catalog.TableLive || found.DeltaID != t.Delta:
			return "", ErrResultStale
		}
		governed = append(governed, found)
		if t.Replaced != "" {
			found.DeltaID = t.Replaced
			governed = append(governed, found)
		}
	}
	return o.Queries.Tables.RulesDigest(ctx, a, governed)
}

// StoredRows is a stored result that its owner reads.
type StoredRows struct {
	engine.Result
	// QueryID identifies the statement. Truncated reports that its rows were cut.
	QueryID   string
	Truncated bool

	started time.Time
	close   func() error
	ctx     context.Context // ends when the caller loses the right to the rows
}

// Next returns the next batch or io.EOF.
func (r *StoredRows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := revocation.EndedBy(r.ctx, nil); err != nil {
		return nil, err
	}
	return r.Result.Next(ctx)
}

// Context returns a context that ends when the rows may no longer be shown to the
// caller.
func (r *StoredRows) Context() context.Context { return r.ctx }

// Elapsed is the time since the result was asked for.
func (r *StoredRows) Elapsed() time.Duration { return time.Since(r.started) }

// Close ends the reading.
func (r *StoredRows) Close() error { return r.close() }

// Result opens the rows of an operation, for its owner only, because the owner's policies
// decided which rows it has. Errors: [ErrRunning], [operation.ErrFailed],
// [ErrResultStale], catalog.ErrNotFound if no result is stored.
func (o Stored) Result(ctx context.Context, id catalog.OperationID) (*StoredRows, error) {
	started := time.Now()
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
	operation, err := o.Queries.Store.Operation(ctx, a.Org, id)
	if err != nil {
		return nil, err
	}
	remembered, err := resultOf(a, operation, catalog.OperationQuery)
	if err != nil {
		return nil, err
	}
	ctx, work := o.Queries.Revocations.Begin(ctx, a)
	rows, err := o.open(ctx, a, operation, remembered)
	if err != nil {
		work.Done()
		return nil, revocation.EndedBy(ctx, err)
	}
	work.SetCheck(o.check(a, remembered)) // after open, which says that the result is stale
	read := &StoredRows{Result: rows, QueryID: remembered.QueryID, Truncated: remembered.Cut, started: started, ctx: ctx}
	read.close = func() error {
		work.Done()
		o.Queries.Audit.Record(caller.NewEntry(a, "query.result", "operation/"+string(id), catalog.OutcomeAllow))
		return rows.Close()
	}
	return read, nil
}

func (o Stored) open(ctx context.Context, a caller.Identity, operation catalog.Operation, remembered resultRecord) (*resultReader, error) {
	m, err := memo.NewEpochView(ctx, o.Queries.Store)
	if err != nil {
		return nil, err
	}
	if err := o.current(ctx, m, a, remembered); err != nil {
		return nil, err
	}
	return o.Results.open(ctx, operation, remembered.Rows)
}

// check returns a [revocation.Check] that fails if a result is no longer current.
func (o Stored) check(a caller.Identity, k resultRecord) revocation.Check {
	return func(ctx context.Context, m *memo.EpochView) error {
		err := o.current(authz.System(ctx, "stored result"), m, a, k)
		if errors.Is(err, ErrResultStale) || errors.Is(err, catalog.ErrNotFound) {
			return revocation.ErrRevoked
		}
		return err
	}
}

func resultOf(a caller.Identity, op catalog.Operation, kind catalog.OperationKind) (k resultRecord, err error) {
	switch {
	case op.User != a.User:
		return k, &catalog.DeniedError{Reason: "not_owner"}
	case !op.State.Ended():
		return k, ErrRunning
	case op.State != catalog.OperationSucceeded:
		return k, operation.ErrFailed
	case op.Kind != kind, len(op.Private) == 0, time.Now().After(op.ExpiresAt):
		return k, catalog.ErrNotFound
	}
	return k, json.Unmarshal(op.Private, &k)
}

// current returns nil if the same rules would apply to the statement now.
func (o Stored) current(ctx context.Context, m *memo.EpochView, a caller.Identity, k resultRecord) error {
	state, err := memo.ReadAt(ctx, m, nil, nil, func() (string, error) { return o.readState(ctx, a, k.Tables) })
	switch {
	case err != nil:
		return err
	case state != k.State, k.Epoch != 0 && (k.Epoch != m.Epoch() || !slices.Equal(k.Viewer, access.ViewerFields(a.Viewer))):
		return ErrResultStale
	}
	deleted, err := o.Queries.Tables.FilesDeleted(ctx, k.Read, m.Epoch())
	if err == nil && deleted {
		err = ErrResultStale
	}
	return err
}
