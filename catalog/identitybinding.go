package catalog

import (
	"context"
	"encoding/json"
	"time"
)

// BindingMethod is how a subject was bound.
type BindingMethod string

// The methods.
const (
	// BoundBySignIn is the first sign-in of the subject at the organisation's provider, and
	// BoundByToken its first token of a foreign issuer: the address named the user.
	BoundBySignIn BindingMethod = "sign_in"
	BoundByToken  BindingMethod = "token"
	// BoundByMember is the confirmation by a session of the user.
	BoundByMember        BindingMethod = "member"
	BoundByAdministrator BindingMethod = "administrator"
	BoundByOperator      BindingMethod = "operator"
)

// IdentityBinding says which user of an organisation a subject of an identity provider is. A
// subject is one user until the binding is released. Neither another address nor the end of the
// membership changes that.
type IdentityBinding struct {
	ID              IdentityID
	Org             OrgID
	User            UserID
	Issuer, Subject string
	Method          BindingMethod
	// By is the administrator who bound the subject, or empty.
	By        UserID
	CreatedAt time.Time
}

// Entry returns an audit entry about a binding, without an actor.
func (b IdentityBinding) Entry(action string) AuditEntry {
	details, _ := json.Marshal(map[string]string{"issuer": b.Issuer, "subject": b.Subject, "method": string(b.Method)}) // texts: cannot fail
	return AuditEntry{Org: b.Org, Action: action, Resource: "user/" + string(b.User), Outcome: OutcomeAllow, Details: details}
}

// The actions of audit entries about bindings.
const (
	ActionIdentityBound    = "identity.bound"
	ActionIdentityReleased = "identity.released"
)

// NewIdentityBinding is the input of [IdentityBindings.BindIdentity].
type NewIdentityBinding struct {
	Org             OrgID
	User            UserID
	Issuer, Subject string
	Method          BindingMethod
	By              UserID
	// Maker is what the binding is made with. It must not be an API key, unless the command line
	// printed the key: a binding does not end with the key.
	Maker Maker
}

// Bounds of bindings. The index of PostgreSQL holds issuer and subject.
const (
	// MaxIdentityBindings bounds the bindings of one user in an organisation.
	MaxIdentityBindings = 20
	maxSubject          = 255
)

// Validate returns nil or [FieldErrors].
func (n NewIdentityBinding) Validate() error {
	var e FieldErrors
	e.subject(n.Issuer, n.Subject)
	switch n.Method {
	case BoundByMember, BoundByAdministrator, BoundByOperator:
	default:
		e.add("method", "must be member, administrator or operator")
	}
	return e.Err()
}

// subject checks the two names of a subject, which are compared byte for byte.
func (e *FieldErrors) subject(issuer, subject string) {
	for _, name := range []struct {
		field, text string
		most        int
	}{{"issuer", issuer, maxIssuer}, {"subject", subject, maxSubject}} {
		if name.text == "" || len(name.text) > name.most || !storableText(name.text) {
			e.add(name.field, "must have 1 to %d bytes", name.most)
		}
	}
}

// SubjectClaim is what an identity provider has proved about somebody. The provider calls the
// address verified.
type SubjectClaim struct {
	Issuer, Subject string
	Email           string
	// Method is [BoundBySignIn] or [BoundByToken].
	Method BindingMethod
}

// Validate returns nil or [FieldErrors].
func (c SubjectClaim) Validate() error {
	var e FieldErrors
	e.subject(c.Issuer, c.Subject)
	e.mailbox("email", c.Email)
	if c.Method != BoundBySignIn && c.Method != BoundByToken {
		e.add("method", "must be sign_in or token")
	}
	return e.Err()
}

// AddressChange is what became of an address that is not the stored one.
type AddressChange string

// The outcomes. The empty one means that the address is the stored one.
const (
	AddressStored AddressChange = "stored"
	AddressKept   AddressChange = "kept"
)

// IdentifiedSubject is the result of [IdentityBindings.IdentifySubject].
type IdentifiedSubject struct {
	User User
	// Bound is the binding that this call has made, or the zero value.
	Bound IdentityBinding
	// Address tells what became of another address of a bound subject, and Former is the one
	// that was stored before.
	Address AddressChange
	Former  string
}

// The reasons of a [SubjectRefusedError].
const (
	// SubjectAddressForeign is the address of a domain that the organisation has not verified.
	SubjectAddressForeign = "email_domain_foreign"
	// SubjectOther is the address of a user whom another subject is bound to.
	SubjectOther = "bound_to_another_subject"
	// SubjectUnconfirmed is the address of a member whose role is above the highest one that is
	// given without confirmation.
	SubjectUnconfirmed = "confirmation_required"
)

// SubjectRefusedError is a refusal of [IdentityBindings.IdentifySubject].
type SubjectRefusedError struct {
	Reason string
	// User has the address. It is empty for a foreign address.
	User UserID
}

// Error implements error.
func (e *SubjectRefusedError) Error() string { return ErrSubjectRefused.Error() + ": " + e.Reason }

// Is matches [ErrSubjectRefused].
func (e *SubjectRefusedError) Is(target error) bool { return target == ErrSubjectRefused }

// IdentityBindings stores which user of an organisation a subject of an identity provider is.
type IdentityBindings interface {
	// IdentifySubject returns the user who a subject is. It is the only method by which an
	// address names a user at an identity provider.
	//
	// A bound subject is the user that it is bound to. At a sign-in the user's address must be
	// of a domain that the organisation has verified. Another address of such a domain is
	// stored, unless another user or an open invitation has it. A token changes no address,
	// since tokens of several ages are in use at once.
	//
	// Any other subject is bound to the person with the address, whom a token must find among
	// the members and a sign-in need not. It returns [ErrNotFound] if there is none, and a
	// [*SubjectRefusedError] for a sign-in with a foreign address, for a person whom another
	// subject is bound to, for the owner, and for a member whose role is above the highest one
	// of the organisation's single sign-on. Without single sign-on, that concerns administrators.
	IdentifySubject(ctx context.Context, org OrgID, claim SubjectClaim) (IdentifiedSubject, error)
	// IdentityBinding returns the binding of a subject.
	IdentityBinding(ctx context.Context, org OrgID, issuer, subject string) (IdentityBinding, error)
	// BindIdentity binds a subject to a person who is a member, whatever the role. A subject
	// that is bound to the member stays as it is. It returns [ErrNotFound] for anybody else,
	// [ErrExists] with field subject for one that is bound to another user, and a
	// [*DeniedError] for a maker that the binding would outlive.
	BindIdentity(ctx context.Context, binding NewIdentityBinding) (IdentityBinding, error)
	// ListIdentityBindings lists the bindings of a user, oldest first. It returns [ErrNotFound]
	// for a user who neither has any nor is a member.
	ListIdentityBindings(ctx context.Context, org OrgID, user UserID) ([]IdentityBinding, error)
	// ReleaseIdentityBinding removes a binding, and ends the sessions of the organisation that
	// the subject has begun. It returns the binding.
	ReleaseIdentityBinding(ctx context.Context, org OrgID, user UserID, binding IdentityID) (IdentityBinding, error)
	// ReleaseIdentityBindings does that for all bindings of an issuer, and returns their number.
	// With dryRun it changes nothing.
	ReleaseIdentityBindings(ctx context.Context, org OrgID, issuer string, dryRun bool) (int64, error)
}
