package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// CreateOperation is for the system: the code that starts the work decides who may
// start it.
func (s *Store) CreateOperation(ctx context.Context, operation catalog.NewOperation) (catalog.Operation, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Operation{}, err
	}
	return s.inner.CreateOperation(ctx, operation)
}

// operationScopes returns the scopes with one of which work of a kind is started.
func operationScopes(kind catalog.OperationKind) []auth.Scope {
	switch kind {
	case catalog.OperationQuery, catalog.OperationAnalyze:
		return []auth.Scope{auth.ScopeTablesQuery}
	case catalog.OperationDiscover:
		return []auth.Scope{auth.ScopeStorageWrite, auth.ScopeStorageConfigure}
	case catalog.OperationValidate, catalog.OperationRewrite:
		return []auth.Scope{auth.ScopeTablesModify, auth.ScopeDomainsWrite}
	case catalog.OperationMove:
		return []auth.Scope{auth.ScopeStorageWrite}
	}
	return []auth.Scope{auth.ScopeTablesModify}
}

// Operation is open to the owner and to holders of org:update. For others it is not
// found. For the owner's credentials without a scope that starts such work it is not
// found either, so that a program does not cancel what it could not start. The same
// applies to an API key if the credential that started the operation reaches more
// workspaces than the key, because the result can name files of those workspaces.
func (s *Store) Operation(ctx context.Context, org catalog.OrgID, operation catalog.OperationID) (catalog.Operation, error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return catalog.Operation{}, err
	}
	if err := a.in(org); err != nil {
		return catalog.Operation{}, err
	}
	found, err := s.inner.Operation(ctx, org, operation)
	if err != nil {
		return catalog.Operation{}, err
	}
	seen, err := s.mayStart(ctx, a, found)
	if err == nil && !seen && a.in(org, auth.ScopeOrgUpdate) != nil {
		err = catalog.ErrNotFound
	}
	if err != nil {
		return catalog.Operation{}, err
	}
	return found, nil
}

// mayStart reports whether an operation is of the actor's user, of a kind that the
// actor's credential starts, and was started by a credential that reaches no more
// workspaces than the actor's. The user's present role does not count: a person may
// cancel what an earlier role allowed.
func (s *Store) mayStart(ctx context.Context, a actor, operation catalog.Operation) (bool, error) {
	if !a.isUser(operation.User) || holds(a.principal.Granted, operationScopes(operation.Kind)) != nil {
		return false, nil
	}
	if !a.viewer.Limited {
		return true, nil
	}
	if operation.Key == "" { // a person started it
		return false, nil
	}
	key, err := s.inner.APIKey(ctx, operation.Org, operation.Key)
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.reaches(ctx, a, key.Workspace, key.AllWorkspaces)
}

// ListOperations lists the actor's own operations. Those of others need org:update.
// Without org:update a credential gets only the operations that [Store.Operation] returns
// to it, so a page can be shorter than requested.
func (s *Store) ListOperations(ctx context.Context, org catalog.OrgID, filter catalog.OperationFilter,
	page catalog.Page) (none catalog.List[catalog.Operation], err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if a.isUser(filter.User) {
		err = a.in(org)
	} else {
		err = a.in(org, auth.ScopeOrgUpdate)
	}
	if err != nil {
		return none, err
	}
	list, err := s.inner.ListOperations(ctx, org, filter, page)
	if err != nil || a.in(org, auth.ScopeOrgUpdate) == nil {
		return list, err
	}
	shown := make([]catalog.Operation, 0, len(list.Items))
	for _, operation := range list.Items {
		seen, err := s.mayStart(ctx, a, operation)
		if err != nil {
			return none, err
		}
		if seen {
			shown = append(shown, operation)
		}
	}
	list.Items = shown
	return list, nil
}

// CancelOperation is open to callers who see the operation.
func (s *Store) CancelOperation(ctx context.Context, org catalog.OrgID, operation catalog.OperationID) (catalog.Operation, error) {
	if _, err := s.Operation(ctx, org, operation); err != nil {
		return catalog.Operation{}, err
	}
	return s.inner.CancelOperation(ctx, org, operation)
}

// OperationUsage is for the system, which enforces quotas.
func (s *Store) OperationUsage(ctx context.Context, org catalog.OrgID) (catalog.OperationUsage, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.OperationUsage{}, err
	}
	return s.inner.OperationUsage(ctx, org)
}

// StartOperation is for the system, which runs operations.
func (s *Store) StartOperation(ctx context.Context, runner string, operation catalog.OperationID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.StartOperation(ctx, runner, operation)
}

// ReportOperation is for the system, which runs operations.
func (s *Store) ReportOperation(ctx context.Context, runner string, operation catalog.OperationID, progress catalog.Progress) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ReportOperation(ctx, runner, operation, progress)
}

// ReserveOperation is for the system, which runs operations.
func (s *Store) ReserveOperation(ctx context.Context, runner string, operation catalog.OperationID, bytes, most int64) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.ReserveOperation(ctx, runner, operation, bytes, most)
}

// FinishOperation is for the system, which runs operations.
func (s *Store) FinishOperation(ctx context.Context, runner string, operation catalog.OperationID, outcome catalog.OperationOutcome) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.FinishOperation(ctx, runner, operation, outcome)
}

// BeatOperations is for the system, which runs operations.
func (s *Store) BeatOperations(ctx context.Context, runner string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.BeatOperations(ctx, runner)
}

// CancelledOperations is for the system, which runs operations.
func (s *Store) CancelledOperations(ctx context.Context, runner string) ([]catalog.OperationID, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.CancelledOperations(ctx, runner)
}

// LoseOperations is for the system, which ends the operations of failed replicas.
func (s *Store) LoseOperations(ctx context.Context, since time.Time, outcome catalog.OperationOutcome) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.LoseOperations(ctx, since, outcome)
}

// ExpiredOperations is for the system: it spans organisations.
func (s *Store) ExpiredOperations(ctx context.Context, limit int) ([]catalog.Operation, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.ExpiredOperations(ctx, limit)
}

// ForgetOperation is open to callers who see the operation.
func (s *Store) ForgetOperation(ctx context.Context, org catalog.OrgID, operation catalog.OperationID) (catalog.Operation, error) {
	if _, err := s.Operation(ctx, org, operation); err != nil {
		return catalog.Operation{}, err
	}
	return s.inner.ForgetOperation(ctx, org, operation)
}

// DeleteOperation is for the system, which removes expired records.
func (s *Store) DeleteOperation(ctx context.Context, org catalog.OrgID, operation catalog.OperationID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.DeleteOperation(ctx, org, operation)
}
