package admin

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
)

// Members manages the members of an organisation and their attributes in policies.
type Members struct{ Store catalog.Store }

// List lists the members.
func (o Members) List(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Membership], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.Membership]{}, err
	}
	return o.Store.ListMembers(ctx, org, page)
}

// Get returns one member.
func (o Members) Get(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Membership{}, err
	}
	return o.Store.Membership(ctx, org, user)
}

// Self returns the caller's own membership.
func (o Members) Self(ctx context.Context) (catalog.Membership, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Membership{}, err
	}
	return o.Store.Membership(ctx, a.Org, a.User)
}

// SetRole changes a member's role. Callers cannot grant a role above their own.
func (o Members) SetRole(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) error {
	a, err := caller.In(ctx, org)
	if err != nil {
		return err
	}
	if !role.Valid() {
		return fault.Invalid("role", "must be one of viewer, editor, builder, admin")
	}
	if !catalog.Role(a.Role).Includes(role) {
		return &catalog.DeniedError{Reason: "role_escalation"}
	}
	_, err = o.Store.SetMemberRole(ctx, org, user, role)
	return err
}

// ReplaceAttributes replaces all policy attributes of a member. They apply from the
// member's next statement on.
func (o Members) ReplaceAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID, attributes map[string]string) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	_, err := o.Store.ReplaceAttributes(ctx, org, user, attributes)
	return err
}
