package identity

import (
	"context"
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectPerson = `SELECT u.id, u.kind, u.email, u.display_name, u.version, u.created_at, u.updated_at FROM users u
	WHERE u.kind = 'person' AND `

func scanPerson(r sqldb.Row) (u catalog.User, err error) {
	err = r.Scan(&u.ID, &u.Kind, &u.Email, &u.DisplayName, &u.Version, sqldb.Time(&u.CreatedAt), sqldb.Time(&u.UpdatedAt))
	return u, err
}

// IdentifySubject implements [catalog.IdentityBindings]. Without a change, and for a refusal, it only
// reads.
func (s *Store) IdentifySubject(ctx context.Context, org catalog.OrgID, c catalog.SubjectClaim) (found catalog.IdentifiedSubject,
	err error) {
	c.Email = catalog.NormaliseEmail(c.Email)
	if err := c.Validate(); err != nil {
		return found, err
	}
	found, bound, err := s.identify(ctx, s.db.Read(), org, c)
	if err != nil || bound && found.Address != catalog.AddressStored {
		return found, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		found, bound, err = s.identify(ctx, tx, org, c)
		switch {
		case err != nil:
			return err
		case !bound:
			found.Bound, err = s.insertBinding(ctx, tx, catalog.NewIdentityBinding{Org: org, User: found.User.ID, Issuer: c.Issuer,
				Subject: c.Subject, Method: c.Method})
			return err
		case found.Address != catalog.AddressStored:
			return sqldb.ErrUnchanged
		}
		found.Former = found.User.Email
		_, err = tx.Exec(ctx, "UPDATE users SET email = ?, version = version + 1, updated_at = ? WHERE id = ?", c.Email,
			sqldb.Micros(s.db.Clock()), found.User.ID)
		if err == nil {
			found.User, err = sqldb.One(ctx, tx, scanPerson, selectPerson+"u.id = ?", found.User.ID)
		}
		return err
	})
	return found, err
}

// identify returns the user of a subject, and whether the subject is bound. If it is not, it may be.
func (s *Store) identify(ctx context.Context, session sqldb.Session, org catalog.OrgID,
	c catalog.SubjectClaim) (found catalog.IdentifiedSubject, bound bool, err error) {
	found, err = s.identifyBound(ctx, session, org, c)
	if !errors.Is(err, catalog.ErrNotFound) {
		return found, err == nil, err
	}
	found.User, err = proposedUser(ctx, session, org, c)
	return found, false, err
}

// identifyBound returns the user of a bound subject, and what is to become of another address. It
// returns [catalog.ErrNotFound] for a subject that is not bound.
func (s *Store) identifyBound(ctx context.Context, session sqldb.Session, org catalog.OrgID,
	c catalog.SubjectClaim) (found catalog.IdentifiedSubject, err error) {
	b, err := binding(ctx, session, org, c.Issuer, c.Subject)
	if err != nil {
		return found, err
	}
	found.User, err = sqldb.One(ctx, session, scanPerson, selectPerson+"u.id = ?", b.User)
	if err != nil || c.Method == catalog.BoundByToken {
		return found, err
	}
	// The organisation decides about the account of a person only if the person's mailbox is its own.
	owns, err := ownsAddress(ctx, session, org, found.User.Email)
	if err == nil && !owns {
		err = &catalog.SubjectRefusedError{Reason: catalog.SubjectAddressForeign}
	}
	if err != nil || c.Email == found.User.Email {
		return found, err
	}
	free, err := s.addressFree(ctx, session, org, found.User.ID, c.Email)
	found.Address = catalog.AddressKept
	if free {
		found.Address = catalog.AddressStored
	}
	return found, err
}

// ownsAddress reports whether an organisation has verified the domain of a normalised address.
func ownsAddress(ctx context.Context, session sqldb.Session, org catalog.OrgID, email string) (bool, error) {
	n, err := sqldb.One(ctx, session, sqldb.Value[int64], `SELECT COUNT(*) FROM email_domains d
		WHERE d.org_id = ? AND d.domain = ? AND d.method <> ''`, org, email[strings.LastIndexByte(email, '@')+1:])
	return n > 0, err
}

// addressFree reports whether a person may get an address: it is of a verified domain of the
// organisation, neither a user nor an open invitation has it, and the person belongs to no other
// organisation. The links with which a password is set go to the address. So an organisation that
// could change it for others would take over what they have elsewhere.
func (s *Store) addressFree(ctx context.Context, session sqldb.Session, org catalog.OrgID, user catalog.UserID,
	email string) (bool, error) {
	owns, err := ownsAddress(ctx, session, org, email)
	if err != nil || !owns {
		return false, err
	}
	taken, err := sqldb.One(ctx, session, sqldb.Value[int64], `SELECT (SELECT COUNT(*) FROM users u WHERE u.email = ?) +
		(SELECT COUNT(*) FROM memberships m WHERE m.user_id = ? AND m.org_id <> ?) +
		(SELECT COUNT(*) FROM organisations o WHERE o.owner_user_id = ? AND o.id <> ?) +
		(SELECT COUNT(*) FROM invitations i WHERE i.email = ? AND i.expires_at > ? AND `+invitationOpen+")", email, user, org, user, org,
		email, sqldb.Micros(s.db.Clock()))
	return taken == 0, err
}

// proposedUser returns the person with the address of a subject that is not bound, if the subject may
// be bound to the person without confirmation.
func proposedUser(ctx context.Context, session sqldb.Session, org catalog.OrgID, c catalog.SubjectClaim) (user catalog.User, err error) {
	if err := sqldb.RequireOrg(ctx, session, org); err != nil {
		return user, err
	}
	if c.Method == catalog.BoundBySignIn {
		owns, err := ownsAddress(ctx, session, org, c.Email)
		if err == nil && !owns {
			err = &catalog.SubjectRefusedError{Reason: catalog.SubjectAddressForeign}
		}
		if err != nil {
			return user, err
		}
	}
	if user, err = sqldb.One(ctx, session, scanPerson, selectPerson+"u.email = ?", c.Email); err != nil {
		return user, err
	}
	role, err := sqldb.One(ctx, session, sqldb.Value[catalog.Role], "SELECT m.role FROM memberships m WHERE m.org_id = ? AND m.user_id = ?",
		org, user.ID)
	if err != nil && (c.Method == catalog.BoundByToken || !errors.Is(err, catalog.ErrNotFound)) {
		return user, err
	}
	// A sign-in at the same time may have bound this subject since.
	others, err := sqldb.One(ctx, session, sqldb.Value[int64], `SELECT COUNT(*) FROM identity_bindings b
		WHERE b.org_id = ? AND b.user_id = ? AND NOT (b.issuer = ? AND b.subject = ?)`, org, user.ID, c.Issuer, c.Subject)
	if err == nil && others > 0 {
		err = &catalog.SubjectRefusedError{Reason: catalog.SubjectOther, User: user.ID}
	}
	if err == nil && role != "" {
		err = needsNoConfirmation(ctx, session, org, user.ID, role)
	}
	return user, err
}

// needsNoConfirmation returns a [*catalog.SubjectRefusedError] for the owner, and for a member whose
// role is above the highest one of the organisation's single sign-on.
func needsNoConfirmation(ctx context.Context, session sqldb.Session, org catalog.OrgID, user catalog.UserID,
	role catalog.Role) error {
	most := catalog.RoleBuilder // without single sign-on
	config, err := ssoConfig(ctx, session, org)
	switch {
	case err == nil:
		most = config.MaxRole
	case !errors.Is(err, catalog.ErrNotFound):
		return err
	}
	owned, err := sqldb.One(ctx, session, sqldb.Value[int64], "SELECT COUNT(*) FROM organisations o WHERE o.id = ? AND o.owner_user_id = ?",
		org, user)
	if err == nil && (owned > 0 || !most.Includes(role)) {
		err = &catalog.SubjectRefusedError{Reason: catalog.SubjectUnconfirmed, User: user}
	}
	return err
}
