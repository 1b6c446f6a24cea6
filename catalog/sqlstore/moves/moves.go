package moves

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store is the [catalog.Moves] of a database. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

var _ catalog.Moves = (*Store)(nil)

// New returns the moves of a database.
func New(db *sqldb.DB) *Store { return &Store{db} }

const moveColumns = `m.id, m.org_id, m.user_id, m.fingerprint, m.source_config_id, m.source_path, m.target_config_id, m.target_path,
	m.state, m.objects, m.bytes, m.tables, m.epoch, m.problem, m.holder, m.begun_at`

// live is the condition of moves that have not ended.
const live = "m.state NOT IN ('done', 'failed')"

func scanMove(r sqldb.Row) (m catalog.Move, err error) {
	var problem string
	err = r.Scan(&m.ID, &m.Org, &m.User, &m.Fingerprint, &m.Source.Config, &m.Source.Path, &m.Target.Config, &m.Target.Path,
		&m.State, &m.Objects, &m.Bytes, &m.Tables, &m.Epoch, &problem, &m.Holder, sqldb.Time(&m.BegunAt))
	if err == nil && problem != "" {
		m.Problem = &catalog.OperationProblem{}
		err = json.Unmarshal([]byte(problem), m.Problem)
	}
	return m, err
}

func one(ctx context.Context, s sqldb.Session, condition string, args ...any) (catalog.Move, error) {
	return sqldb.One(ctx, s, scanMove, "SELECT "+moveColumns+" FROM moves m WHERE "+condition, args...)
}

// Move implements [catalog.Moves].
func (s *Store) Move(ctx context.Context, org catalog.OrgID, id catalog.MoveID) (catalog.Move, error) {
	return one(ctx, s.db.Read(), "m.org_id = ? AND m.id = ?", org, id)
}

// MoveByKey implements [catalog.Moves].
func (s *Store) MoveByKey(ctx context.Context, org catalog.OrgID, key string) (catalog.Move, error) {
	return one(ctx, s.db.Read(), "m.org_id = ? AND m.key_hash = ?", org, key)
}

// RenewMove implements [catalog.Moves].
func (s *Store) RenewMove(ctx context.Context, id catalog.MoveID, holder string) error {
	return s.renewed(ctx, id, holder, s.db.Clock())
}

// ReleaseMove implements [catalog.Moves].
func (s *Store) ReleaseMove(ctx context.Context, id catalog.MoveID, holder string) error {
	return s.renewed(ctx, id, holder, time.Unix(0, 0))
}

func (s *Store) renewed(ctx context.Context, id catalog.MoveID, holder string, at time.Time) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, "UPDATE moves SET renewed_at = ? WHERE id = ? AND holder = ? AND state NOT IN ('done', 'failed')",
			sqldb.Micros(at), id, holder)
		if err == nil && n == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// SettleMove implements [catalog.Moves].
func (s *Store) SettleMove(ctx context.Context, id catalog.MoveID, holder string) (catalog.Move, error) {
	return s.step(ctx, id, holder, func(_ sqldb.Session, m *catalog.Move) error {
		if m.State != catalog.MoveSwitched {
			return catalog.ErrNotFound
		}
		m.State = catalog.MoveDeleting
		return nil
	})
}

// EndMove implements [catalog.Moves].
func (s *Store) EndMove(ctx context.Context, id catalog.MoveID, holder string,
	problem *catalog.OperationProblem) (catalog.Move, error) {
	return s.step(ctx, id, holder, func(_ sqldb.Session, m *catalog.Move) error {
		switch {
		case m.State == catalog.MoveDiscarding:
			m.State = catalog.MoveFailed
		case m.State != catalog.MoveDeleting:
			return catalog.ErrNotFound
		case problem != nil:
			m.State, m.Problem = catalog.MoveFailed, problem
		default:
			m.State = catalog.MoveDone
		}
		return nil
	})
}

// step changes the state of a holder's move. It raises the epoch: registrations at the places
// of the move may change, or may be made again, from then on.
func (s *Store) step(ctx context.Context, id catalog.MoveID, holder string,
	change func(tx sqldb.Session, m *catalog.Move) error) (m catalog.Move, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if m, err = one(ctx, tx, "m.id = ? AND m.holder = ? AND "+live, id, holder); err != nil {
			return err
		}
		if err := change(tx, &m); err != nil {
			return err
		}
		problem := ""
		if m.Problem != nil {
			problem = sqldb.JSONText(m.Problem)
		}
		_, err := tx.Exec(ctx, `UPDATE moves SET state = ?, objects = ?, bytes = ?, tables = ?, epoch = ?, problem = ?, renewed_at = ?
			WHERE id = ?`, m.State, m.Objects, m.Bytes, m.Tables, m.Epoch, problem, sqldb.Micros(s.db.Clock()), id)
		return err
	})
	if err != nil {
		return catalog.Move{}, err
	}
	return m, nil
}

// TakeMoves implements [catalog.Moves].
func (s *Store) TakeMoves(ctx context.Context, holder string, since time.Time) (taken []catalog.Move, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if _, err := tx.Exec(ctx, `UPDATE moves SET holder = ?, renewed_at = ? WHERE renewed_at < ? AND holder <> ?
			AND state NOT IN ('done', 'failed') AND `+sqldb.LiveOrg("moves.org_id"),
			holder, sqldb.Micros(s.db.Clock()), sqldb.Micros(since), holder); err != nil {
			return err
		}
		taken, err = sqldb.List(ctx, tx, scanMove, "SELECT "+moveColumns+" FROM moves m WHERE m.holder = ? AND "+live+
			" AND "+sqldb.LiveOrg("m.org_id")+" ORDER BY m.begun_at, m.id", holder)
		return err
	})
	return taken, err
}

// ForgetMoves implements [catalog.Moves].
func (s *Store) ForgetMoves(ctx context.Context, before time.Time) (forgotten int64, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		forgotten, err = tx.Exec(ctx, "DELETE FROM moves WHERE begun_at < ? AND state IN ('done', 'failed')", sqldb.Micros(before))
		return err
	})
	return forgotten, err
}

// below is the condition that the path of the first expression is, or lies in, the folder of the
// second one.
func below(path, folder string) string {
	return "(" + folder + " = '' OR " + path + " = " + folder +
		" OR substr(" + path + ", 1, length(" + folder + ") + 1) = " + folder + " || '/')"
}

// CheckPlace implements [catalog.Moves]. Other registrations of a table that is being moved
// count, too: they may be of the same files.
func (s *Store) CheckPlace(ctx context.Context, t catalog.Table) error {
	registered := `(t.config_id = m.source_config_id AND ` + below("t.path", "m.source_path") + `
		OR t.config_id = m.target_config_id AND ` + below("t.path", "m.target_path") + `)`
	moving, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[int64], `SELECT count(*) FROM moves m
		WHERE m.org_id = ? AND `+live+` AND (m.source_config_id = ? AND `+below("?", "m.source_path")+`
		OR m.target_config_id = ? AND `+below("?", "m.target_path")+`
		OR EXISTS (SELECT 1 FROM delta_tables t WHERE t.org_id = m.org_id AND t.delta_id = ? AND `+registered+`))`,
		t.Org, t.Config, t.Path, t.Path, t.Config, t.Path, t.Path, t.DeltaID)
	switch {
	case err != nil:
		return err
	case moving > 0:
		return catalog.ErrTableMoving
	case t.ID == "":
		return nil
	}
	now, err := sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (p catalog.Place, err error) {
		err = r.Scan(&p.Config, &p.Path)
		return p, err
	}, "SELECT config_id, path FROM delta_tables WHERE id = ?", t.ID)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil // the registration was removed with its configuration
	case err != nil:
		return err
	case now != catalog.Place{Config: t.Config, Path: t.Path}:
		return catalog.ErrTableMoving
	}
	return nil
}

// WritesBeforeMove implements [catalog.Moves].
func (s *Store) WritesBeforeMove(ctx context.Context, id catalog.MoveID, since time.Time) (bool, error) {
	n, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[int64], `SELECT count(*) FROM moves m
		JOIN delta_tables t ON t.config_id = m.source_config_id AND `+below("t.path", "m.source_path")+`
		JOIN write_leases l ON l.org_id = t.org_id AND l.delta_id = t.delta_id WHERE m.id = ? AND l.renewed_at >= ?`,
		id, sqldb.Micros(since))
	return n > 0, err
}

// ReportReads implements [catalog.Moves].
func (s *Store) ReportReads(ctx context.Context, replica string, epoch uint64) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, `INSERT INTO replica_reads (replica, epoch, renewed_at) VALUES (?, ?, ?)
			ON CONFLICT (replica) DO UPDATE SET epoch = excluded.epoch, renewed_at = excluded.renewed_at`,
			replica, epoch, sqldb.Micros(s.db.Clock()))
		return err
	})
}

// OldestReads implements [catalog.Moves].
func (s *Store) OldestReads(ctx context.Context, since time.Time) (uint64, error) {
	return sqldb.One(ctx, s.db.Read(), sqldb.Value[uint64],
		"SELECT r.epoch FROM replica_reads r WHERE r.renewed_at >= ? ORDER BY r.epoch LIMIT 1", sqldb.Micros(since))
}

// ForgetReads implements [catalog.Moves].
func (s *Store) ForgetReads(ctx context.Context, replica string, since time.Time) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "DELETE FROM replica_reads WHERE replica = ? OR renewed_at < ?", replica, sqldb.Micros(since))
		return err
	})
}
