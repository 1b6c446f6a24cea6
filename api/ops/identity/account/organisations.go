package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
)

// Recorder queues entries of the audit log.
type Recorder interface {
	Record(entry catalog.AuditEntry)
}

// Organisations creates, deletes and restores organisations, and transfers them to other
// owners.
type Organisations struct {
	Store catalog.Organisations
	Audit Recorder
	// OperatorOnly reports that only the command line creates organisations.
	OperatorOnly bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// ErrOperatorOnly is returned for the creation of an organisation on a server where only the
// operator creates them: 403.
var ErrOperatorOnly = fault.New("operator_only", "only the operator creates organisations")

// Create creates an organisation of the caller, a signed-in person, who becomes its owner
// and first administrator. It returns [ErrOperatorOnly], and [catalog.ErrTooManyOrganisations]
// for a person who owns [catalog.MaxOwnedOrganisations].
func (o Organisations) Create(ctx context.Context, name string) (catalog.Organisation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Organisation{}, err
	}
	if o.OperatorOnly {
		return catalog.Organisation{}, ErrOperatorOnly
	}
	org, err := o.Store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: name, Owner: a.User, MaxOwned: catalog.MaxOwnedOrganisations})
	if err == nil {
		o.record(a, org.ID, "organisation.created")
	}
	return org, err
}

// record writes an audit entry to the log of an organisation that the caller's credential
// may not name.
func (o Organisations) record(a caller.Identity, org catalog.OrgID, action string) {
	entry := caller.NewEntry(a, action, "organisation/"+string(org), catalog.OutcomeAllow)
	entry.Org = org
	o.Audit.Record(entry)
}

// List lists the organisations of the caller, and the deleted ones that the caller owns.
// A credential for one organisation lists that one.
func (o Organisations) List(ctx context.Context, page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.UserOrganisation]{}, err
	}
	return o.Store.ListUserOrganisations(ctx, a.User, page)
}

// Delete deletes the caller's organisation, if the caller owns it and has signed in. Its
// keys and tokens are refused from the next request on.
func (o Organisations) Delete(ctx context.Context, id catalog.OrgID) error {
	if _, err := caller.In(ctx, id); err != nil {
		return err
	}
	return o.Store.DeleteOrganisation(ctx, id, catalog.AnyVersion)
}

// Undelete restores an organisation that its owner, the caller, has deleted within
// [catalog.OrganisationRetention].
func (o Organisations) Undelete(ctx context.Context, id catalog.OrgID) (catalog.Organisation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Organisation{}, err
	}
	org, err := o.Store.UndeleteOrganisation(ctx, id, a.User, clock(o.Now).Add(-catalog.OrganisationRetention))
	if err == nil {
		o.record(a, id, "organisation.restored")
	}
	return org, err
}

// Transfer makes another administrator the owner. The caller, who owned the organisation
// and has signed in, remains an administrator. It returns
// [catalog.ErrTooManyOrganisations] if the other owns [catalog.MaxOwnedOrganisations].
func (o Organisations) Transfer(ctx context.Context, id catalog.OrgID, to catalog.UserID) (catalog.Organisation, error) {
	if _, err := caller.In(ctx, id); err != nil {
		return catalog.Organisation{}, err
	}
	org, err := o.Store.UpdateOrganisation(ctx, id, catalog.AnyVersion,
		catalog.OrganisationChange{Owner: &to, MaxOwned: catalog.MaxOwnedOrganisations})
	if errors.Is(err, catalog.ErrInvalid) {
		return org, fault.Invalid("user_id", "must be a person who is an administrator of the organisation")
	}
	return org, err
}

// clock returns the time of a clock; nil means [time.Now].
func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// Purge removes the records of organisations that can no longer be restored.
type Purge struct {
	Store  catalog.Organisations
	Audit  Recorder
	Logger *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Run purges every organisation that was deleted longer ago than
// [catalog.OrganisationRetention]. The context is that of the system.
func (p Purge) Run(ctx context.Context) {
	for ctx.Err() == nil {
		org, err := p.Store.PurgeOrganisation(ctx, clock(p.Now).Add(-catalog.OrganisationRetention))
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return
		case err != nil:
			if ctx.Err() == nil {
				p.Logger.Warn("deleted organisation not purged", "error", err)
			}
			return
		}
		p.Audit.Record(catalog.AuditEntry{Org: org, Action: "organisation.purged", Outcome: catalog.OutcomeAllow})
		p.Logger.Info("deleted organisation purged", "org_id", org)
	}
}
