package sqlstore

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectKey = `SELECT k.id, k.org_id, k.user_id, k.name, k.key_prefix, k.key_hash, k.scopes, k.workspace_id, k.all_workspaces,
	k.expires_at, k.last_used_at, k.created_at, k.revoked_at, k.successor_id, k.command_line FROM api_keys k`

func scanKey(r sqldb.Row) (k catalog.APIKey, err error) {
	var hash []byte
	err = r.Scan(&k.ID, &k.Org, &k.User, &k.Name, &k.Prefix, &hash, sqldb.JSON(&k.Scopes), &k.Workspace, &k.AllWorkspaces,
		sqldb.Time(&k.ExpiresAt), sqldb.Time(&k.LastUsedAt), sqldb.Time(&k.CreatedAt), sqldb.Time(&k.RevokedAt), &k.Successor,
		&k.CommandLine)
	if err == nil && len(hash) != len(k.Hash) {
		err = fmt.Errorf("api key hash of %d bytes", len(hash))
	}
	copy(k.Hash[:], hash)
	return k, err
}

func apiKey(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.KeyID) (catalog.APIKey, error) {
	return sqldb.One(ctx, s, scanKey, selectKey+" WHERE k.org_id = ? AND k.id = ? AND "+sqldb.LiveOrg("k.org_id"), org, id)
}

// insertKey inserts a key that is bound to others, and checks its owner and workspace in the
// same transaction.
func (s *Store) insertKey(ctx context.Context, tx sqldb.Session, n catalog.NewAPIKey, bound lifetimes.Bound) (none catalog.APIKey,
	err error) {
	account, err := lifetimes.FindAccount(ctx, tx, n.Org, n.User)
	if err != nil {
		return none, err
	}
	bound = bound.And(account)
	if err := bound.Check(s.db.Clock()); err != nil {
		return none, err
	}
	latest := bound.Cut(n.ExpiresAt)
	if latest.Before(n.ExpiresAt) && !n.Shorten {
		return none, &catalog.OutlivesMakerError{Ends: latest}
	}
	n.ExpiresAt = latest
	if err := n.Validate(s.db.Clock()); err != nil {
		return none, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.KeyID]()
	}
	if _, err := membership(ctx, tx, n.Org, n.User); err != nil {
		return none, err
	}
	if n.AllWorkspaces {
		if n.Workspace, err = everyWorkspace(ctx, tx, n); err != nil {
			return none, err
		}
	}
	if n.Workspace != "" {
		if _, err := workspaceRole(ctx, tx, n.Org, n.Workspace, n.User); err != nil {
			return none, err
		}
	}
	err = tx.Insert(ctx, "key_prefix", `INSERT INTO api_keys (id, org_id, user_id, name, key_prefix, key_hash, scopes,
		workspace_id, all_workspaces, expires_at, created_at, successor_id, command_line) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)`,
		n.ID, n.Org, n.User, n.Name, n.Prefix, n.Hash[:], sqldb.JSONText(catalog.NormaliseScopes(n.Scopes)),
		n.Workspace, n.AllWorkspaces, sqldb.Micros(n.ExpiresAt), sqldb.Micros(s.db.Clock()), n.CommandLine)
	if err != nil {
		return none, err
	}
	if err := lifetimes.Bind(ctx, tx, lifetimes.Key, string(n.ID), bound); err != nil {
		return none, err
	}
	return apiKey(ctx, tx, n.Org, n.ID)
}

// everyWorkspace returns the default workspace, which is stored for a key for all
// workspaces.
func everyWorkspace(ctx context.Context, tx sqldb.Session, n catalog.NewAPIKey) (catalog.WorkspaceID, error) {
	base, err := defaultWorkspace(ctx, tx, n.Org)
	if err == nil && n.Workspace != "" && n.Workspace != base.ID {
		err = catalog.FieldErrors{{Field: "workspace_id", Message: "must be absent or the default workspace when all_workspaces is true"}}
	}
	return base.ID, err
}

// CreateAPIKey implements [catalog.APIKeys].
func (s *Store) CreateAPIKey(ctx context.Context, n catalog.NewAPIKey) (created catalog.APIKey, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		bound, err := lifetimes.Of(ctx, tx, s.db.Clock(), n.Maker)
		if err != nil {
			return err
		}
		created, err = s.insertKey(ctx, tx, n, bound)
		return err
	})
	return created, err
}

// APIKeyByPrefix implements [catalog.APIKeys].
func (s *Store) APIKeyByPrefix(ctx context.Context, prefix string) (catalog.APIKey, error) {
	return sqldb.One(ctx, s.db.Read(), scanKey, selectKey+" WHERE k.key_prefix = ? AND "+sqldb.LiveOrg("k.org_id"), prefix)
}

// APIKey implements [catalog.APIKeys].
func (s *Store) APIKey(ctx context.Context, org catalog.OrgID, id catalog.KeyID) (catalog.APIKey, error) {
	return apiKey(ctx, s.db.Read(), org, id)
}

// ListAPIKeys implements [catalog.APIKeys].
func (s *Store) ListAPIKeys(ctx context.Context, org catalog.OrgID, filter catalog.APIKeyFilter,
	page catalog.Page) (catalog.List[catalog.APIKey], error) {
	order := sqldb.Paging[catalog.APIKey]{
		List: "api_keys", Key: "k.created_at", ID: "k.id", Number: true,
		Position: func(k catalog.APIKey) (string, string) { return sqldb.TimeKey(k.CreatedAt), string(k.ID) },
	}
	var w sqldb.Where
	w.And("k.org_id = ? AND "+sqldb.LiveOrg("k.org_id"), org)
	if filter.User != "" {
		w.And("k.user_id = ?", filter.User)
	}
	return order.Fetch(ctx, s.db.Read(), page, scanKey, selectKey, w)
}

// RevokeAPIKey implements [catalog.APIKeys].
func (s *Store) RevokeAPIKey(ctx context.Context, org catalog.OrgID, id catalog.KeyID) (revoked catalog.APIKey, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if revoked, err = apiKey(ctx, tx, org, id); err != nil {
			return err
		}
		if revoked.Revoked() {
			return sqldb.ErrUnchanged
		}
		if _, err := tx.Exec(ctx, "UPDATE api_keys SET revoked_at = ? WHERE id = ?", sqldb.Micros(s.db.Clock()), id); err != nil {
			return err
		}
		if err := lifetimes.End(ctx, tx, s.db.Clock(), org); err != nil {
			return err
		}
		revoked, err = apiKey(ctx, tx, org, id)
		return err
	})
	return revoked, err
}

// ListEndings implements [catalog.APIKeys].
func (s *Store) ListEndings(ctx context.Context, org catalog.OrgID, id catalog.KeyID) ([]catalog.Ending, error) {
	if _, err := apiKey(ctx, s.db.Read(), org, id); err != nil {
		return nil, err
	}
	return lifetimes.List(ctx, s.db.Read(), s.db.Clock(), id)
}

// TakeUnboundCredentials implements [catalog.APIKeys].
func (s *Store) TakeUnboundCredentials(ctx context.Context) (found []catalog.UnboundCredentials, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		found, err = lifetimes.TakeUnbound(ctx, tx, s.db.Clock())
		return err
	})
	return found, err
}

// RotateAPIKey implements [catalog.APIKeys].
func (s *Store) RotateAPIKey(ctx context.Context, org catalog.OrgID, id catalog.KeyID, successor catalog.NewAPIKey,
	grace time.Duration) (created catalog.APIKey, err error) {
	if grace < 0 || grace > catalog.MaxRotationGrace {
		return created, catalog.FieldErrors{{
			Field: "grace_seconds", Message: fmt.Sprintf("must be between 0 and %d", int(catalog.MaxRotationGrace.Seconds())),
		}}
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		old, err := apiKey(ctx, tx, org, id)
		if err != nil {
			return err
		}
		now := s.db.Clock()
		switch {
		case !old.Usable(now):
			return catalog.ErrRevoked
		case old.Successor != "":
			return &catalog.ExistsError{Field: "successor"}
		}
		successor.Org, successor.User = old.Org, old.User
		successor.Workspace, successor.AllWorkspaces = old.Workspace, old.AllWorkspaces
		if old.ExpiresAt.Before(successor.ExpiresAt) {
			successor.ExpiresAt = old.ExpiresAt
		}
		bound, err := s.boundSuccessor(ctx, tx, old, successor.Maker)
		if err != nil {
			return err
		}
		successor.Shorten, successor.CommandLine = true, old.CommandLine && bound.Free()
		if created, err = s.insertKey(ctx, tx, successor, bound); err != nil {
			return err
		}
		if err := lifetimes.HandOver(ctx, tx, old.ID, created, bound); err != nil {
			return err
		}
		expires := now.Add(grace)
		if old.ExpiresAt.Before(expires) {
			expires = old.ExpiresAt
		}
		_, err = tx.Exec(ctx, "UPDATE api_keys SET expires_at = ?, successor_id = ? WHERE id = ?",
			sqldb.Micros(expires), created.ID, id)
		return err
	})
	return created, err
}

// boundSuccessor returns what the successor of a key is bound to: what the key is bound to, and
// the key that rotates it, unless a key rotates itself.
func (s *Store) boundSuccessor(ctx context.Context, tx sqldb.Session, old catalog.APIKey, maker catalog.Maker) (b lifetimes.Bound,
	err error) {
	if maker.Key != old.ID {
		if b, err = lifetimes.Of(ctx, tx, s.db.Clock(), maker); err != nil {
			return b, err
		}
	}
	found, err := lifetimes.Find(ctx, tx, lifetimes.Key, string(old.ID))
	return b.And(found).Without(old.ID), err
}

// TouchAPIKeys implements [catalog.APIKeys]. It waits for no key that another transaction
// has locked: two that lock several keys could wait for each other.
func (s *Store) TouchAPIKeys(ctx context.Context, at time.Time, keys ...catalog.KeyID) error {
	if len(keys) == 0 {
		return nil
	}
	// Few different numbers of placeholders, so that drivers need to cache few statements.
	n := 1 << bits.Len(uint(len(keys)-1))
	args := make([]any, 0, n+2)
	args = append(args, sqldb.Micros(at))
	for i := range n {
		args = append(args, keys[min(i, len(keys)-1)])
	}
	args = append(args, sqldb.Micros(at))
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "UPDATE api_keys SET last_used_at = ? WHERE id IN (SELECT k.id FROM api_keys k WHERE k.id IN ("+sqldb.Marks(n)+
			") AND (k.last_used_at IS NULL OR k.last_used_at < ?)"+tx.UnlockedClause()+")", args...)
		return err
	})
}
