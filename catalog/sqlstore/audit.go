package sqlstore

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectAudit = `SELECT a.id, a.at, a.org_id, a.user_id, a.key_id, a.action, a.resource, a.outcome, a.request_id, a.remote, a.details
	FROM audit_entries a`

func scanAudit(r sqldb.Row) (a catalog.AuditEntry, err error) {
	err = r.Scan(&a.ID, sqldb.Time(&a.At), &a.Org, &a.User, &a.Key, &a.Action, &a.Resource, &a.Outcome, &a.RequestID, &a.Remote,
		sqldb.JSON(&a.Details))
	return a, err
}

// AppendAudit implements [catalog.Audit].
func (s *Store) AppendAudit(ctx context.Context, entries ...catalog.AuditEntry) error {
	for _, a := range entries {
		if err := a.Validate(); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		for len(entries) > 0 {
			rows := 1
			if len(entries) >= auditRows {
				rows = auditRows
			}
			if err := s.insertAudit(ctx, tx, entries[:rows]); err != nil {
				return err
			}
			entries = entries[rows:]
		}
		return nil
	})
}

// auditRows is how many entries one statement inserts if there are as many. The others are
// inserted one by one, so that drivers need to cache two statements only.
const auditRows = 32

func (s *Store) insertAudit(ctx context.Context, tx sqldb.Session, entries []catalog.AuditEntry) error {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	args := make([]any, 0, len(entries)*strings.Count(row, "?"))
	for _, a := range entries {
		if a.ID == "" {
			a.ID = catalog.NewID[catalog.AuditID]()
		}
		if a.At.IsZero() {
			a.At = s.db.Clock()
		}
		args = append(args, a.ID, sqldb.Micros(a.At), a.Org, a.User, a.Key, a.Action, a.Resource, a.Outcome, a.RequestID, a.Remote,
			string(a.Details))
	}
	return tx.Insert(ctx, "id", `INSERT INTO audit_entries
		(id, at, org_id, user_id, key_id, action, resource, outcome, request_id, remote, details) VALUES `+
		row+strings.Repeat(", "+row, len(entries)-1), args...)
}

// ListAudit implements [catalog.Audit]. It includes entries of deleted organisations.
func (s *Store) ListAudit(ctx context.Context, org catalog.OrgID, filter catalog.AuditFilter,
	page catalog.Page) (catalog.List[catalog.AuditEntry], error) {
	order := sqldb.Paging[catalog.AuditEntry]{
		List: "audit", Key: "a.at", ID: "a.id", Number: true, Descending: true,
		Position: func(a catalog.AuditEntry) (string, string) { return sqldb.TimeKey(a.At), string(a.ID) },
	}
	var w sqldb.Where
	w.And("a.org_id = ?", org)
	if !filter.Since.IsZero() {
		w.And("a.at >= ?", sqldb.Micros(filter.Since))
	}
	if !filter.Until.IsZero() {
		w.And("a.at < ?", sqldb.Micros(filter.Until))
	}
	for _, equal := range []struct{ column, value string }{
		{"a.user_id", string(filter.User)},
		{"a.key_id", string(filter.Key)},
		{"a.action", filter.Action},
		{"a.resource", filter.Resource},
		{"a.outcome", string(filter.Outcome)},
		{"a.request_id", filter.RequestID},
	} {
		if equal.value != "" {
			w.And(equal.column+" = ?", equal.value)
		}
	}
	return order.Fetch(ctx, s.db.Read(), page, scanAudit, selectAudit, w)
}
