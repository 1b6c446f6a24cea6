package operations

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store implements [catalog.Operations]. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

var _ catalog.Operations = (*Store)(nil)

// New returns the operations in a database.
func New(db *sqldb.DB) *Store { return &Store{db} }

const selectOperation = `SELECT o.id, o.org_id, o.user_id, o.key_id, o.kind, o.state, o.done, o.total, o.unit, o.problem, o.result, o.private,
	o.stored_bytes, o.cancel_requested, o.runner, o.heartbeat_at, o.created_at, o.started_at, o.finished_at, o.expires_at FROM operations o`

// Live is the SQL condition that an operation has not ended, written like that of the partial index.
const Live = "state IN ('queued', 'running')"

func scanOperation(r sqldb.Row) (o catalog.Operation, err error) {
	err = r.Scan(&o.ID, &o.Org, &o.User, &o.Key, &o.Kind, &o.State, &o.Progress.Done, &o.Progress.Total, &o.Progress.Unit,
		sqldb.JSON(&o.Problem), sqldb.JSON(&o.Result), sqldb.JSON(&o.Private), &o.StoredBytes, &o.CancelRequested, &o.Runner,
		sqldb.Time(&o.HeartbeatAt), sqldb.Time(&o.CreatedAt), sqldb.Time(&o.StartedAt), sqldb.Time(&o.FinishedAt), sqldb.Time(&o.ExpiresAt))
	return o, err
}

func operation(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.OperationID) (catalog.Operation, error) {
	return sqldb.One(ctx, s, scanOperation, selectOperation+" WHERE o.org_id = ? AND o.id = ? AND "+sqldb.LiveOrg("o.org_id"), org, id)
}

// CreateOperation implements [catalog.Operations].
func (s *Store) CreateOperation(ctx context.Context, n catalog.NewOperation) (created catalog.Operation, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.OperationID]()
	}
	now := s.db.Clock()
	state, started := catalog.OperationQueued, time.Time{}
	if n.Running {
		state, started = catalog.OperationRunning, now
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT 1 FROM memberships m WHERE m.org_id = ? AND m.user_id = ? AND `+
			sqldb.LiveOrg("m.org_id"), n.Org, n.User)
		if err != nil {
			return err
		}
		err = tx.Insert(ctx, "id",
			`INSERT INTO operations (id, org_id, user_id, key_id, kind, state, done, total, unit, problem, result, private,
			stored_bytes, cancel_requested, runner, heartbeat_at, created_at, started_at)
			VALUES (?, ?, ?, ?, ?, ?, 0, 0, '', '', '', '', 0, ?, ?, ?, ?, ?)`,
			n.ID, n.Org, n.User, n.Key, n.Kind, state, false, n.Runner, sqldb.Micros(now), sqldb.Micros(now), sqldb.MicrosOrNull(started))
		if err != nil {
			return err
		}
		created, err = operation(ctx, tx, n.Org, n.ID)
		return err
	})
	return created, err
}

// Operation implements [catalog.Operations].
func (s *Store) Operation(ctx context.Context, org catalog.OrgID, id catalog.OperationID) (catalog.Operation, error) {
	return operation(ctx, s.db.Read(), org, id)
}

// ListOperations implements [catalog.Operations].
func (s *Store) ListOperations(ctx context.Context, org catalog.OrgID, filter catalog.OperationFilter,
	page catalog.Page) (catalog.List[catalog.Operation], error) {
	order := sqldb.Paging[catalog.Operation]{
		List: "operations", Key: "o.created_at", ID: "o.id", Number: true, Descending: true,
		Position: func(o catalog.Operation) (string, string) { return sqldb.TimeKey(o.CreatedAt), string(o.ID) },
	}
	var w sqldb.Where
	w.And("o.org_id = ? AND "+sqldb.LiveOrg("o.org_id"), org)
	for _, equal := range []struct{ column, value string }{
		{"o.user_id", string(filter.User)}, {"o.kind", string(filter.Kind)}, {"o.state", string(filter.State)},
	} {
		if equal.value != "" {
			w.And(equal.column+" = ?", equal.value)
		}
	}
	return order.Fetch(ctx, s.db.Read(), page, scanOperation, selectOperation, w)
}

// CancelOperation implements [catalog.Operations].
func (s *Store) CancelOperation(ctx context.Context, org catalog.OrgID, id catalog.OperationID) (cancelled catalog.Operation, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if _, err := tx.Exec(ctx, "UPDATE operations SET cancel_requested = ? WHERE org_id = ? AND id = ? AND "+Live, true, org,
			id); err != nil {
			return err
		}
		cancelled, err = operation(ctx, tx, org, id)
		return err
	})
	return cancelled, err
}

// OperationUsage implements [catalog.Operations].
func (s *Store) OperationUsage(ctx context.Context, org catalog.OrgID) (catalog.OperationUsage, error) {
	return sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (u catalog.OperationUsage, err error) {
		err = r.Scan(&u.Live, &u.StoredBytes)
		return u, err
	}, `SELECT COUNT(CASE WHEN `+Live+` THEN 1 END), CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM operations WHERE org_id = ?`,
		org)
}

// updateOwned changes operations of a runner that have not ended. It returns ErrNotFound if it
// changed none.
func (s *Store) updateOwned(ctx context.Context, set, condition string, args ...any) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		changed, err := tx.Exec(ctx, "UPDATE operations SET "+set+" WHERE runner = ? AND id = ? AND "+condition, args...)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// StartOperation implements [catalog.Operations].
func (s *Store) StartOperation(ctx context.Context, runner string, id catalog.OperationID) error {
	now := sqldb.Micros(s.db.Clock())
	return s.updateOwned(ctx, "state = 'running', started_at = ?, heartbeat_at = ?", "state = 'queued'", now, now, runner, id)
}

// ReportOperation implements [catalog.Operations].
func (s *Store) ReportOperation(ctx context.Context, runner string, id catalog.OperationID, p catalog.Progress) error {
	return s.updateOwned(ctx, "done = ?, total = ?, unit = ?", Live, p.Done, p.Total, p.Unit, runner, id)
}

// ReserveOperation implements [catalog.Operations]. The row of the organisation is the
// lock that serialises reservations.
func (s *Store) ReserveOperation(ctx context.Context, runner string, id catalog.OperationID, bytes, most int64) (fits bool, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		const mine = "runner = ? AND id = ? AND " + Live
		locked, err := tx.Exec(ctx, "UPDATE organisations SET id = id WHERE id = (SELECT org_id FROM operations WHERE "+mine+")", runner, id)
		if err == nil && locked == 0 {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return err
		}
		changed, err := tx.Exec(ctx, "UPDATE operations SET stored_bytes = ? WHERE "+mine+` AND
			(SELECT CAST(COALESCE(SUM(o.stored_bytes), 0) AS BIGINT) FROM operations o
				WHERE o.org_id = operations.org_id AND o.id <> operations.id) <= ?`,
			bytes, runner, id, most-bytes)
		fits = changed > 0
		return err
	})
	return fits, err
}

// setOutcome is the SET clause of an outcome; outcomeArgs returns its values.
const setOutcome = `state = ?, done = ?, total = ?, unit = ?, problem = ?, result = ?, private = ?, stored_bytes = ?, finished_at = ?, ` +
	`expires_at = ?`

func (s *Store) outcomeArgs(o catalog.OperationOutcome) []any {
	problem := ""
	if o.Problem != nil {
		problem = sqldb.JSONText(o.Problem)
	}
	return []any{
		o.State, o.Progress.Done, o.Progress.Total, o.Progress.Unit, problem, string(o.Result), string(o.Private), o.StoredBytes,
		sqldb.Micros(s.db.Clock()), sqldb.Micros(o.ExpiresAt),
	}
}

// FinishOperation implements [catalog.Operations].
func (s *Store) FinishOperation(ctx context.Context, runner string, id catalog.OperationID, o catalog.OperationOutcome) error {
	if err := o.Validate(); err != nil {
		return err
	}
	return s.updateOwned(ctx, setOutcome, Live, append(s.outcomeArgs(o), runner, id)...)
}

// BeatOperations implements [catalog.Operations].
func (s *Store) BeatOperations(ctx context.Context, runner string) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "UPDATE operations SET heartbeat_at = ? WHERE runner = ? AND "+Live, sqldb.Micros(s.db.Clock()), runner)
		return err
	})
}

// CancelledOperations implements [catalog.Operations].
func (s *Store) CancelledOperations(ctx context.Context, runner string) ([]catalog.OperationID, error) {
	return sqldb.List(ctx, s.db.Read(), sqldb.Value[catalog.OperationID],
		"SELECT o.id FROM operations o WHERE o.runner = ? AND "+Live+
			` AND (o.cancel_requested OR NOT `+sqldb.LiveOrg("o.org_id")+`)`, runner)
}

// LoseOperations implements [catalog.Operations].
func (s *Store) LoseOperations(ctx context.Context, since time.Time, o catalog.OperationOutcome) (lost int64, err error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		lost, err = tx.Exec(ctx, "UPDATE operations SET "+setOutcome+" WHERE heartbeat_at < ? AND "+Live,
			append(s.outcomeArgs(o), sqldb.Micros(since))...)
		return err
	})
	return lost, err
}

// ExpiredOperations implements [catalog.Operations].
func (s *Store) ExpiredOperations(ctx context.Context, limit int) ([]catalog.Operation, error) {
	return sqldb.List(ctx, s.db.Read(), scanOperation, selectOperation+" WHERE o.expires_at <= ? OR (o.expires_at IS NOT NULL AND NOT "+
		sqldb.LiveOrg("o.org_id")+") ORDER BY o.expires_at LIMIT ?",
		sqldb.Micros(s.db.Clock()), limit)
}

// ForgetOperation implements [catalog.Operations].
func (s *Store) ForgetOperation(ctx context.Context, org catalog.OrgID, id catalog.OperationID) (forgotten catalog.Operation, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if _, err := tx.Exec(ctx, "UPDATE operations SET result = '', private = '', stored_bytes = 0 WHERE org_id = ? AND id = ? AND NOT ("+
			Live+")", org, id); err != nil {
			return err
		}
		if forgotten, err = operation(ctx, tx, org, id); err == nil && !forgotten.State.Ended() {
			err = catalog.ErrOperationLive
		}
		return err
	})
	return forgotten, err
}

// DeleteOperation implements [catalog.Operations].
func (s *Store) DeleteOperation(ctx context.Context, org catalog.OrgID, id catalog.OperationID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		if _, err := tx.Exec(ctx, "DELETE FROM operations WHERE org_id = ? AND id = ? AND NOT ("+Live+")", org, id); err != nil {
			return err
		}
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT 1 FROM operations WHERE org_id = ? AND id = ?", org, id)
		switch {
		case err == nil:
			return catalog.ErrOperationLive
		case errors.Is(err, catalog.ErrNotFound):
			return nil
		}
		return err
	})
}
