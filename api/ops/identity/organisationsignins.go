package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

// organisationPurpose is the purpose under which the organisations that a session is used in are
// remembered.
const organisationPurpose = "organisation_sign_in"

// OrganisationSignIns tells organisations about sign-ins by password. Such a sign-in names no
// organisation, so the log of an organisation has it once a token for the organisation is issued.
type OrganisationSignIns struct {
	Sessions session.Sessions
	Once     Once
	Audit    Recorder
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Issued records the sign-in of a session for whose client a token for an organisation was issued,
// unless the organisation has it already. A single sign-on is recorded when it succeeds.
func (o OrganisationSignIns) Issued(ctx context.Context, org, id uuid.UUID, from Origin) error {
	if org == uuid.Nil || id == uuid.Nil {
		return nil
	}
	of, err := o.Sessions.Session(ctx, id)
	if err != nil || of.Method != session.MethodPassword {
		return err
	}
	err = o.Once.UseOnce(ctx, organisationPurpose, org.String()+" "+id.String(), of.ExpiresAt.Sub(clock(o.Now)))
	if errors.Is(err, session.ErrReused) {
		return nil
	}
	if err != nil {
		return err
	}
	user := of.User.String()
	o.Audit.Record(catalog.AuditEntry{Org: catalog.OrgID(org.String()), User: catalog.UserID(user), Action: "sign_in",
		Resource: "user/" + user, Outcome: catalog.OutcomeAllow, RequestID: from.RequestID, Remote: from.Remote,
		Details: details("method", string(of.Method), "session", id.String(), "client", of.Client)})
	return nil
}
