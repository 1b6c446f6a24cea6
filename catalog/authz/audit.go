package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// AppendAudit is for the system: callers do not write the log.
func (s *Store) AppendAudit(ctx context.Context, entries ...catalog.AuditEntry) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.AppendAudit(ctx, entries...)
}

// ListAudit needs org:update.
func (s *Store) ListAudit(ctx context.Context, org catalog.OrgID, filter catalog.AuditFilter,
	page catalog.Page) (catalog.List[catalog.AuditEntry], error) {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return catalog.List[catalog.AuditEntry]{}, err
	}
	return s.inner.ListAudit(ctx, org, filter, page)
}

// Epoch is open to every actor: it reveals only that something has changed.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	if _, err := actorFrom(ctx); err != nil {
		return 0, err
	}
	return s.inner.Epoch(ctx)
}

// Watch is for the system, because it holds a connection. Other actors get a closed
// channel.
func (s *Store) Watch(ctx context.Context) <-chan uint64 {
	if err := systemOnly(ctx); err != nil {
		closed := make(chan uint64)
		close(closed)
		return closed
	}
	return s.inner.Watch(ctx)
}

// AnnounceCommit is for the system, which writes to tables.
func (s *Store) AnnounceCommit(ctx context.Context, table catalog.CommittedTable) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.AnnounceCommit(ctx, table)
}

// WatchCommits is for the system, like Watch.
func (s *Store) WatchCommits(ctx context.Context) <-chan catalog.CommittedTable {
	if err := systemOnly(ctx); err != nil {
		closed := make(chan catalog.CommittedTable)
		close(closed)
		return closed
	}
	return s.inner.WatchCommits(ctx)
}
