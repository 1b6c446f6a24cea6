package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/moves"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// attach is the record of the last attach of a configuration by one user. At most one
// record of a configuration is open.
type attach struct {
	catalog.Attach
	closedAt time.Time
}

// attaches returns the records of a configuration.
func attaches(ctx context.Context, s sqldb.Session, config catalog.StorageConfig) ([]attach, error) {
	return sqldb.List(ctx, s, func(r sqldb.Row) (attach, error) {
		a := attach{Attach: catalog.Attach{Config: config}}
		err := r.Scan(&a.By, &a.PreviousOwner, sqldb.OrEmpty(&a.PreviousWorkspace), sqldb.Time(&a.UndoUntil), sqldb.Time(&a.closedAt))
		return a, err
	}, `SELECT attached_by, previous_owner_user_id, previous_workspace_id, undo_until, closed_at
		FROM storage_attaches WHERE config_id = ?`, config.ID)
}

// AttachStorageConfig implements [catalog.Sharing].
func (s *Store) AttachStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID,
	n catalog.NewAttach) (done catalog.Attach, err error) {
	if err := n.Validate(); err != nil {
		return done, err
	}
	now := s.db.Clock()
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, catalog.AnyVersion)
		if err != nil {
			return err
		}
		_, err = workspace(ctx, tx, v.Org, n.Workspace)
		if errors.Is(err, catalog.ErrNotFound) {
			err = catalog.ErrWorkspaceNotFound
		}
		if err != nil {
			return err
		}
		if c.Workspace == n.Workspace {
			return catalog.ErrAttached
		}
		if err := s.closeAttach(ctx, tx, id); err != nil {
			return err
		}
		done = catalog.Attach{By: n.By, PreviousOwner: c.Owner, PreviousWorkspace: c.Workspace, UndoUntil: now.Add(n.Window)}
		_, err = tx.Exec(ctx, `INSERT INTO storage_attaches
			(config_id, attached_by, previous_owner_user_id, previous_workspace_id, undo_until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (config_id, attached_by) DO UPDATE SET previous_owner_user_id = excluded.previous_owner_user_id,
			previous_workspace_id = excluded.previous_workspace_id, undo_until = excluded.undo_until, closed_at = NULL`,
			id, n.By, c.Owner, sqldb.TextOrNull(c.Workspace), sqldb.Micros(done.UndoUntil))
		if err != nil {
			return err
		}
		done.Config, err = s.placeConfig(ctx, tx, c, c.Owner, n.Workspace)
		return err
	})
	return done, err
}

// closeAttach ends the window of the open attach of a configuration, if there is one.
func (s *Store) closeAttach(ctx context.Context, tx sqldb.Session, id catalog.ConfigID) error {
	_, err := tx.Exec(ctx, "UPDATE storage_attaches SET closed_at = ? WHERE config_id = ? AND closed_at IS NULL",
		sqldb.Micros(s.db.Clock()), id)
	return err
}

// placeConfig gives a configuration an owner and a workspace. An empty workspace makes it
// personal. It refuses a configuration that a move concerns: the rights of who moves were judged
// where it is.
func (s *Store) placeConfig(ctx context.Context, tx sqldb.Session, c catalog.StorageConfig, owner catalog.UserID,
	workspace catalog.WorkspaceID) (catalog.StorageConfig, error) {
	if err := moves.Uses(ctx, tx, c.ID); err != nil {
		return c, err
	}
	_, err := tx.Exec(ctx, `UPDATE storage_configs SET owner_user_id = ?, workspace_id = ?, version = version + 1, updated_at = ?
		WHERE id = ?`, owner, sqldb.TextOrNull(workspace), sqldb.Micros(s.db.Clock()), c.ID)
	if err != nil {
		return c, err
	}
	return visibleConfig(ctx, tx, catalog.SystemViewer(c.Org), c.ID)
}

// AttachToUndo implements [catalog.Sharing].
func (s *Store) AttachToUndo(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, by catalog.UserID) (catalog.Attach, error) {
	return s.attachToUndo(ctx, s.db.Read(), v, id, by)
}

func (s *Store) attachToUndo(ctx context.Context, session sqldb.Session, v catalog.Viewer, id catalog.ConfigID,
	by catalog.UserID) (none catalog.Attach, err error) {
	c, err := visibleConfig(ctx, session, v, id)
	if err != nil {
		return none, err
	}
	all, err := attaches(ctx, session, c)
	if err != nil {
		return none, err
	}
	own := slices.IndexFunc(all, func(a attach) bool { return a.By == by })
	switch {
	case len(all) == 0:
		return none, catalog.ErrUndoClosed
	case own < 0:
		return none, &catalog.DeniedError{Reason: "not_attacher"}
	case !all[own].closedAt.IsZero():
		return none, catalog.ErrUndoClosed
	case !s.db.Clock().Before(all[own].UndoUntil):
		return none, catalog.ErrUndoExpired
	}
	return all[own].Attach, nil
}

// UndoAttach implements [catalog.Sharing].
func (s *Store) UndoAttach(ctx context.Context, v catalog.Viewer, id catalog.ConfigID,
	by catalog.UserID) (restored catalog.StorageConfig, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		a, err := s.attachToUndo(ctx, tx, v, id, by)
		if err != nil {
			return err
		}
		if a.PreviousWorkspace != "" {
			_, err := workspace(ctx, tx, v.Org, a.PreviousWorkspace)
			if errors.Is(err, catalog.ErrNotFound) {
				err = catalog.ErrUndoExpired // by the clock of the replica that deleted the workspace
			}
			if err != nil {
				return err
			}
		}
		if err := s.closeAttach(ctx, tx, id); err != nil {
			return err
		}
		restored, err = s.placeConfig(ctx, tx, a.Config, a.PreviousOwner, a.PreviousWorkspace)
		return err
	})
	return restored, err
}

// TakeStorageConfig implements [catalog.Sharing]. A move does not prevent it: it may need the rights
// of the new owner to end.
func (s *Store) TakeStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64,
	by catalog.UserID) (taken catalog.StorageConfig, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, expectedVersion)
		if err == nil && c.Personal() {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return err
		}
		if _, err := membership(ctx, tx, v.Org, by); err != nil {
			return err
		}
		if taken = c; c.Owner == by {
			return sqldb.ErrUnchanged
		}
		if _, err := tx.Exec(ctx, `UPDATE storage_attaches SET previous_owner_user_id = ?
			WHERE config_id = ? AND closed_at IS NULL AND previous_workspace_id IS NOT NULL`, by, id); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE storage_configs SET owner_user_id = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`, by, sqldb.Micros(s.db.Clock()), id, c.Version)
		if err != nil {
			return err
		}
		if err := sqldb.Replaced(n, c.Version); err != nil {
			return err
		}
		taken, err = visibleConfig(ctx, tx, v, id)
		return err
	})
	return taken, err
}

// awaitedByUndo reports whether the undo of an attach would move a configuration back into
// a workspace.
func (s *Store) awaitedByUndo(ctx context.Context, tx sqldb.Session, id catalog.WorkspaceID) (bool, error) {
	open, err := sqldb.One(ctx, tx, sqldb.Value[int], `SELECT count(*) FROM storage_attaches
		WHERE previous_workspace_id = ? AND closed_at IS NULL AND undo_until > ?`, id, sqldb.Micros(s.db.Clock()))
	return open > 0, err
}
