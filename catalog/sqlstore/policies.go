package sqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectPolicy = `SELECT p.id, p.org_id, p.delta_id, p.column_name, p.kind, p.policy_text, p.definition,
	p.builder_managed, p.enabled, p.version, p.created_by, p.updated_by, p.created_at, p.updated_at FROM policies p`

func scanPolicy(r sqldb.Row) (p catalog.Policy, err error) {
	err = r.Scan(&p.ID, &p.Org, &p.Table, &p.Column, &p.Kind, &p.Text, sqldb.JSON(&p.Definition),
		&p.BuilderManaged, &p.Enabled, &p.Version, &p.CreatedBy, &p.UpdatedBy, sqldb.Time(&p.CreatedAt), sqldb.Time(&p.UpdatedAt))
	return p, err
}

func policy(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.PolicyID) (catalog.Policy, error) {
	return sqldb.One(ctx, s, scanPolicy, selectPolicy+" WHERE p.org_id = ? AND p.id = ? AND "+sqldb.LiveOrg("p.org_id"), org, id)
}

// insertPolicy adds a policy and its first revision.
func (s *Store) insertPolicy(ctx context.Context, tx sqldb.Session, n catalog.NewPolicy) error {
	now := sqldb.Micros(s.db.Clock())
	err := tx.Insert(ctx, "id", `INSERT INTO policies (id, org_id, delta_id, column_name, kind, policy_text, definition,
		builder_managed, enabled, version, created_by, updated_by, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)`,
		n.ID, n.Org, n.Table, n.Column, n.Kind, n.Text, string(n.Definition),
		n.BuilderManaged, n.Enabled, n.By, n.By, now, now)
	if err != nil {
		return err
	}
	return s.recordPolicy(ctx, tx, n.Org, n.ID, 1, catalog.PolicyCreated, n.PolicySpec, n.By)
}

// recordPolicy adds a revision to the history.
func (s *Store) recordPolicy(ctx context.Context, tx sqldb.Session, org catalog.OrgID, id catalog.PolicyID, version int64,
	action catalog.PolicyAction, spec catalog.PolicySpec, by catalog.UserID) error {
	_, err := tx.Exec(ctx, `INSERT INTO policy_revisions (policy_id, version, org_id, action, delta_id, column_name, kind,
		policy_text, definition, builder_managed, enabled, changed_by, changed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, version, org, action, spec.Table, spec.Column, spec.Kind,
		spec.Text, string(spec.Definition), spec.BuilderManaged, spec.Enabled, by, sqldb.Micros(s.db.Clock()))
	return err
}

// CreatePolicy implements [catalog.Policies].
func (s *Store) CreatePolicy(ctx context.Context, n catalog.NewPolicy) (created catalog.Policy, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.PolicyID]()
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := organisation(ctx, tx, n.Org); err != nil {
			return err
		}
		if err := s.insertPolicy(ctx, tx, n); err != nil {
			return err
		}
		created, err = policy(ctx, tx, n.Org, n.ID)
		return err
	})
	return created, err
}

// Policy implements [catalog.Policies].
func (s *Store) Policy(ctx context.Context, org catalog.OrgID, id catalog.PolicyID) (catalog.Policy, error) {
	return policy(ctx, s.db.Read(), org, id)
}

// ListPolicies implements [catalog.Policies].
func (s *Store) ListPolicies(ctx context.Context, org catalog.OrgID, filter catalog.PolicyFilter,
	page catalog.Page) (catalog.List[catalog.Policy], error) {
	order := sqldb.Paging[catalog.Policy]{
		List: "policies", Key: "p.created_at", ID: "p.id", Number: true,
		Position: func(p catalog.Policy) (string, string) { return sqldb.TimeKey(p.CreatedAt), string(p.ID) },
	}
	var w sqldb.Where
	w.And("p.org_id = ? AND "+sqldb.LiveOrg("p.org_id"), org)
	if filter.Table != "" {
		w.And("p.delta_id = ?", filter.Table)
	}
	return order.Fetch(ctx, s.db.Read(), page, scanPolicy, selectPolicy, w)
}

// requireVersion refuses a change without an expected version.
func requireVersion(expected int64) error {
	if expected <= 0 {
		return catalog.FieldErrors{{Field: "expected_version", Message: "must be the policy's version"}}
	}
	return nil
}

// UpdatePolicy implements [catalog.Policies].
func (s *Store) UpdatePolicy(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, expectedVersion int64, spec catalog.PolicySpec,
	by catalog.UserID) (updated catalog.Policy, err error) {
	if err := requireVersion(expectedVersion); err != nil {
		return updated, err
	}
	if err := spec.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		p, err := policy(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, p.Version); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE policies SET delta_id = ?, column_name = ?, kind = ?, policy_text = ?, definition = ?,
			builder_managed = ?, enabled = ?, updated_by = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
			spec.Table, spec.Column, spec.Kind, spec.Text, string(spec.Definition),
			spec.BuilderManaged, spec.Enabled, by, sqldb.Micros(s.db.Clock()), id, p.Version)
		if err != nil {
			return err
		}
		if err := sqldb.Replaced(n, p.Version); err != nil {
			return err
		}
		if err := s.recordPolicy(ctx, tx, org, id, p.Version+1, catalog.PolicyUpdated, spec, by); err != nil {
			return err
		}
		updated, err = policy(ctx, tx, org, id)
		return err
	})
	return updated, err
}

// DeletePolicy implements [catalog.Policies].
func (s *Store) DeletePolicy(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, expectedVersion int64, by catalog.UserID) error {
	if err := requireVersion(expectedVersion); err != nil {
		return err
	}
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		p, err := policy(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, p.Version); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM policies WHERE id = ? AND version = ?", id, p.Version)
		if err != nil {
			return err
		}
		if err := sqldb.Replaced(n, p.Version); err != nil {
			return err
		}
		return s.recordPolicy(ctx, tx, org, id, p.Version+1, catalog.PolicyDeleted, p.PolicySpec, by)
	})
}

const (
	revisionContent = `SELECT r.policy_id, r.org_id, r.version, r.action, r.delta_id, r.column_name, r.kind, r.policy_text,
	r.definition, r.builder_managed, r.enabled, r.changed_by`
	selectRevision = revisionContent + ", r.changed_at FROM policy_revisions r"
)

func scanRevision(r sqldb.Row) (p catalog.PolicyRevision, err error) {
	err = r.Scan(&p.Policy, &p.Org, &p.Version, &p.Action, &p.Table, &p.Column, &p.Kind, &p.Text,
		sqldb.JSON(&p.Definition), &p.BuilderManaged, &p.Enabled, &p.By, sqldb.Time(&p.At))
	return p, err
}

// PolicyHistory implements [catalog.Policies].
func (s *Store) PolicyHistory(ctx context.Context, org catalog.OrgID, id catalog.PolicyID,
	page catalog.Page) (catalog.List[catalog.PolicyRevision], error) {
	order := sqldb.Paging[catalog.PolicyRevision]{
		List: "policy_history", Key: "r.version", ID: "r.policy_id", Number: true, Descending: true,
		Position: func(r catalog.PolicyRevision) (string, string) {
			return strconv.FormatInt(r.Version, 10), string(r.Policy)
		},
	}
	var w sqldb.Where
	w.And("r.org_id = ? AND r.policy_id = ? AND "+sqldb.LiveOrg("r.org_id"), org, id)
	revisions, err := order.Fetch(ctx, s.db.Read(), page, scanRevision, selectRevision, w)
	if err == nil && len(revisions.Items) == 0 && page.Token == "" {
		err = catalog.ErrNotFound
	}
	return revisions, err
}

// EnabledPolicies implements [catalog.Policies].
func (s *Store) EnabledPolicies(ctx context.Context, org catalog.OrgID, tables []catalog.DeltaID) ([]catalog.Policy, error) {
	args := []any{org}
	for _, id := range tables {
		args = append(args, id)
	}
	return sqldb.List(ctx, s.db.Read(), scanPolicy, selectPolicy+" WHERE p.org_id = ? AND p.enabled AND "+sqldb.LiveOrg("p.org_id")+
		" AND p.delta_id IN (''"+strings.Repeat(", ?", len(tables))+") ORDER BY p.id", args...)
}

// DeletedPolicies implements [catalog.Policies].
func (s *Store) DeletedPolicies(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) ([]catalog.PolicyRevision, error) {
	const left = "COALESCE(n.changed_at, r.changed_at)"
	return sqldb.List(ctx, s.db.Read(), scanRevision, revisionContent+", "+left+` FROM policy_revisions r
		LEFT JOIN policy_revisions n ON n.policy_id = r.policy_id AND n.version = r.version + 1
		WHERE r.org_id = ? AND r.delta_id = ? AND r.enabled AND (r.action = ? OR n.delta_id <> r.delta_id AND n.delta_id <> '')
		AND NOT EXISTS (SELECT 1 FROM policy_revisions l WHERE l.policy_id = r.policy_id AND l.version > r.version AND l.delta_id = r.delta_id)
		AND `+sqldb.LiveOrg("r.org_id")+" ORDER BY "+left+", r.policy_id", org, table, catalog.PolicyDeleted)
}
