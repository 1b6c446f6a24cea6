package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// writesPolicies checks rls_policies:write and that the change is made in the actor's
// name.
func writesPolicies(ctx context.Context, org catalog.OrgID, by catalog.UserID) error {
	if err := inOrg(ctx, org, auth.ScopePoliciesWrite); err != nil {
		return err
	}
	return signed(ctx, by)
}

// CreatePolicy needs rls_policies:write.
func (s *Store) CreatePolicy(ctx context.Context, policy catalog.NewPolicy) (catalog.Policy, error) {
	if err := writesPolicies(ctx, policy.Org, policy.By); err != nil {
		return catalog.Policy{}, err
	}
	return s.inner.CreatePolicy(ctx, policy)
}

// Policy needs rls_policies:read.
func (s *Store) Policy(ctx context.Context, org catalog.OrgID, policy catalog.PolicyID) (catalog.Policy, error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite); err != nil {
		return catalog.Policy{}, err
	}
	return s.inner.Policy(ctx, org, policy)
}

// ListPolicies needs rls_policies:read.
func (s *Store) ListPolicies(ctx context.Context, org catalog.OrgID, filter catalog.PolicyFilter,
	page catalog.Page) (catalog.List[catalog.Policy], error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite); err != nil {
		return catalog.List[catalog.Policy]{}, err
	}
	return s.inner.ListPolicies(ctx, org, filter, page)
}

// UpdatePolicy needs rls_policies:write.
func (s *Store) UpdatePolicy(ctx context.Context, org catalog.OrgID, policy catalog.PolicyID, expectedVersion int64,
	spec catalog.PolicySpec, by catalog.UserID) (catalog.Policy, error) {
	if err := writesPolicies(ctx, org, by); err != nil {
		return catalog.Policy{}, err
	}
	return s.inner.UpdatePolicy(ctx, org, policy, expectedVersion, spec, by)
}

// DeletePolicy needs rls_policies:write.
func (s *Store) DeletePolicy(ctx context.Context, org catalog.OrgID, policy catalog.PolicyID, expectedVersion int64,
	by catalog.UserID) error {
	if err := writesPolicies(ctx, org, by); err != nil {
		return err
	}
	return s.inner.DeletePolicy(ctx, org, policy, expectedVersion, by)
}

// PolicyHistory needs rls_policies:read.
func (s *Store) PolicyHistory(ctx context.Context, org catalog.OrgID, policy catalog.PolicyID,
	page catalog.Page) (catalog.List[catalog.PolicyRevision], error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite); err != nil {
		return catalog.List[catalog.PolicyRevision]{}, err
	}
	return s.inner.PolicyHistory(ctx, org, policy, page)
}

// EnabledPolicies is open to every caller who works on tables, because enforcement runs
// on the caller's behalf. Its result is not shown to callers.
func (s *Store) EnabledPolicies(ctx context.Context, org catalog.OrgID, tables []catalog.DeltaID) ([]catalog.Policy, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return nil, err
	}
	return s.inner.EnabledPolicies(ctx, org, tables)
}

// DeletedPolicies is open to every caller who works on tables, like EnabledPolicies.
func (s *Store) DeletedPolicies(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) ([]catalog.PolicyRevision, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return nil, err
	}
	return s.inner.DeletedPolicies(ctx, org, table)
}
