package admin

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// AuditLog reads the audit log of the caller's organisation.
type AuditLog struct{ Store catalog.Store }

// List lists entries, newest first.
func (o AuditLog) List(
	ctx context.Context, org catalog.OrgID, filter catalog.AuditFilter, page catalog.Page,
) (catalog.List[catalog.AuditEntry], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.AuditEntry]{}, err
	}
	return o.Store.ListAudit(ctx, org, filter, page)
}
