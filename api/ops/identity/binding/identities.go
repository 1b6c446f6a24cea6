package binding

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// Recorder writes the audit log.
type Recorder interface {
	Record(entry catalog.AuditEntry)
}

// Identities lists, sets and releases the subjects of members, for administrators.
type Identities struct {
	Store catalog.IdentityBindings
	Audit Recorder
}

// List lists the subjects of a member or former member, oldest first.
func (i Identities) List(ctx context.Context, org catalog.OrgID, user catalog.UserID) ([]catalog.IdentityBinding, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return nil, err
	}
	return i.Store.ListIdentityBindings(ctx, org, user)
}

// Bind binds a subject to a member, whatever the member's role. Errors are those of
// [catalog.IdentityBindings] and of catalog/authz.
func (i Identities) Bind(ctx context.Context, org catalog.OrgID, user catalog.UserID, issuer, subject string) (catalog.IdentityBinding,
	error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.IdentityBinding{}, err
	}
	bound, err := i.Store.BindIdentity(ctx, catalog.NewIdentityBinding{Org: org, User: user, Issuer: issuer, Subject: subject,
		Method: catalog.BoundByAdministrator})
	if err == nil {
		i.record(a, bound.Entry(catalog.ActionIdentityBound))
	}
	return bound, err
}

// Release releases a subject, and ends the sessions that it has begun.
func (i Identities) Release(ctx context.Context, org catalog.OrgID, user catalog.UserID, id catalog.IdentityID) error {
	a, err := caller.In(ctx, org)
	if err != nil {
		return err
	}
	released, err := i.Store.ReleaseIdentityBinding(ctx, org, user, id)
	if err == nil {
		i.record(a, released.Entry(catalog.ActionIdentityReleased))
	}
	return err
}

// ReleaseIssuer releases all subjects of an issuer, and returns their number. A dry run changes
// nothing.
func (i Identities) ReleaseIssuer(ctx context.Context, org catalog.OrgID, issuer string, dryRun bool) (int64, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return 0, err
	}
	count, err := i.Store.ReleaseIdentityBindings(ctx, org, issuer, dryRun)
	if err == nil && !dryRun && count > 0 {
		details, _ := json.Marshal(map[string]string{"issuer": issuer, "count": strconv.FormatInt(count, 10)}) // texts: cannot fail
		i.record(a, catalog.AuditEntry{Org: org, Action: catalog.ActionIdentityReleased, Outcome: catalog.OutcomeAllow, Details: details})
	}
	return count, err
}

// record writes an entry about an action of a caller.
func (i Identities) record(a caller.Identity, entry catalog.AuditEntry) {
	by := caller.NewEntry(a, entry.Action, entry.Resource, entry.Outcome)
	by.Details = entry.Details
	i.Audit.Record(by)
}
