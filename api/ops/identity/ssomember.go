package identity

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
)

// wantedClaims returns the claims that a configuration uses.
func wantedClaims(config catalog.SSOConfig) []string {
	var names []string
	if config.RoleClaim != "" {
		names = append(names, config.RoleClaim)
	}
	for _, claim := range config.AttributeClaims {
		names = append(names, claim)
	}
	return names
}

// admit makes a verified person a member, with the role and attributes of the claims, and
// returns the membership.
func (s SSO) admit(ctx context.Context, p pending, config catalog.SSOConfig, who sso.Identity, from Origin) (none catalog.Membership,
	err error) {
	user, err := s.person(ctx, p, config, who, from)
	if err != nil {
		return none, err
	}
	role := s.role(config, who.Claims, catalog.AuditEntry{Org: config.Org, User: user.ID, Action: "sso.role_cut", RequestID: from.RequestID,
		Remote: from.Remote})
	member, err := s.member(ctx, config, user.ID, role)
	if err != nil {
		return none, err
	}
	if len(config.AttributeClaims) > 0 {
		changes := attributeChanges(config.AttributeClaims, who.Claims)
		if _, err := s.Store.ChangeAttributes(ctx, config.Org, user.ID, changes); err != nil {
			if errors.Is(err, catalog.ErrInvalid) { // too many in all
				return none, sso.Refused("membership_refused")
			}
			return none, err
		}
	}
	return member, nil
}

// ConfirmationError is a refused sign-in that the member with the address can confirm: at
// [ConfirmPath], in the browser that has the proposal as a cookie. It wraps [sso.ErrRefused].
type ConfirmationError struct {
	Proposal string
	// Cause tells why. The reply does not: who is bound is not for everybody.
	Cause *catalog.SubjectRefusedError
}

// Error implements error.
func (e *ConfirmationError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the refusal for the reply.
func (e *ConfirmationError) Unwrap() error { return sso.Refused("identity_not_confirmed") }

// person returns the user who a subject is, who is created if nobody has the address.
func (s SSO) person(ctx context.Context, p pending, config catalog.SSOConfig, who sso.Identity, from Origin) (none catalog.User,
	err error) {
	email, err := mailbox(who.Email)
	if err != nil {
		return none, sso.Refused("email_not_usable")
	}
	claim := catalog.SubjectClaim{Issuer: config.Issuer, Subject: who.Subject, Email: email, Method: catalog.BoundBySignIn}
	found, err := s.Store.IdentifySubject(ctx, config.Org, claim)
	if errors.Is(err, catalog.ErrNotFound) {
		n := catalog.NewUser{Email: email, DisplayName: strings.TrimSpace(who.Name)}
		if n.Validate() != nil {
			n.DisplayName = ""
		}
		// ErrExists: by a sign-in at the same time
		if _, err = s.Store.CreateUser(ctx, n); err == nil || errors.Is(err, catalog.ErrExists) {
			found, err = s.Store.IdentifySubject(ctx, config.Org, claim)
		}
	}
	var refused *catalog.SubjectRefusedError
	switch {
	case errors.As(err, &refused) && refused.User == "":
		return none, sso.Refused(refused.Reason)
	case errors.As(err, &refused):
		proposal, err := binding.Propose(ctx, s.Tokens, binding.Proposal{Org: config.Org, User: refused.User, Issuer: config.Issuer,
			Subject: who.Subject, Email: email, ReturnTo: p.ReturnTo})
		if err != nil {
			return none, err
		}
		return none, &ConfirmationError{Proposal: proposal, Cause: refused}
	case errors.Is(err, catalog.ErrInvalid):
		return none, sso.Refused("token_invalid")
	case err != nil:
		return none, err
	}
	s.recordSubject(found, config.Org, email, from)
	return found.User, nil
}

// recordSubject writes audit entries about a subject that was bound, and about an address that has
// changed.
func (s SSO) recordSubject(found catalog.IdentifiedSubject, org catalog.OrgID, claimed string, from Origin) {
	var entry catalog.AuditEntry
	switch {
	case found.Bound.ID != "":
		entry = found.Bound.Entry(catalog.ActionIdentityBound)
	case found.Address == catalog.AddressStored:
		entry = catalog.AuditEntry{Org: org, Action: "identity.address_stored", Resource: "user/" + string(found.User.ID),
			Outcome: catalog.OutcomeAllow, Details: details("former", found.Former, "email", claimed)}
	case found.Address == catalog.AddressKept:
		entry = catalog.AuditEntry{Org: org, Action: "identity.address_kept", Resource: "user/" + string(found.User.ID),
			Outcome: catalog.OutcomeDeny, Details: details("email", found.User.Email, "claimed", claimed)}
	default:
		return
	}
	entry.User, entry.Remote, entry.RequestID = found.User.ID, from.Remote, from.RequestID
	s.Audit.Record(entry)
}

// role returns the role of the claims. One above the highest of the configuration is cut,
// which is audited. Without a known role in the claims it is the default one.
func (s SSO) role(config catalog.SSOConfig, claims map[string]any, entry catalog.AuditEntry) catalog.Role {
	role := claimedRole(claims[config.RoleClaim])
	switch {
	case config.RoleClaim == "" || role == "":
		return config.DefaultRole
	case config.MaxRole.Includes(role):
		return role
	}
	entry.Outcome, entry.Details = catalog.OutcomeDeny, details("claimed", string(role), "granted", string(config.MaxRole))
	s.Audit.Record(entry)
	return config.MaxRole
}

// claimedRole returns the strongest role that a claim names: a text, or a list of texts.
func claimedRole(claim any) (strongest catalog.Role) {
	texts, isList := claim.([]any)
	if !isList {
		texts = []any{claim}
	}
	for _, t := range texts {
		if text, ok := t.(string); ok && catalog.Role(text).Valid() {
			strongest = strongest.Higher(catalog.Role(text))
		}
	}
	return strongest
}

// member returns the membership of a person with the role of the claims. An existing
// member keeps the role if the configuration names no role claim; the owner always does.
func (s SSO) member(ctx context.Context, config catalog.SSOConfig, user catalog.UserID, role catalog.Role) (catalog.Membership, error) {
	member, err := s.Store.Membership(ctx, config.Org, user)
	if errors.Is(err, catalog.ErrNotFound) {
		member, err = s.Store.AddMember(ctx, config.Org, user, role)
		if !errors.Is(err, catalog.ErrExists) { // by a sign-in at the same time
			return member, err
		}
		member, err = s.Store.Membership(ctx, config.Org, user)
	}
	if err != nil || config.RoleClaim == "" || member.Role == role {
		return member, err
	}
	changed, err := s.Store.SetMemberRole(ctx, config.Org, user, role)
	if errors.Is(err, catalog.ErrLastAdmin) {
		return member, nil
	}
	return changed, err
}

// attributeChanges returns the values of the attributes that are mapped to claims. One whose
// claim is missing or unusable is removed.
func attributeChanges(mapped map[string]string, claims map[string]any) map[string]*string {
	changes := make(map[string]*string, len(mapped))
	for name, claim := range mapped {
		changes[name] = nil
		text, ok := attributeText(claims[claim])
		if ok && catalog.ValidateAttributes(map[string]string{name: text}) == nil {
			changes[name] = &text
		}
	}
	return changes
}

// exactIntegers is the lowest number from which on a float64 may stand for several integers:
// two people must not get one attribute because their numbers were rounded.
const exactIntegers = 1 << 53

// attributeText returns the value of an attribute for a claim: the text of a single value, or a
// JSON array, which policies read as a list. A list with an element that has no text is unusable
// as a whole, because a shorter list would mean something else to a policy.
func attributeText(claim any) (string, bool) {
	list, isList := claim.([]any)
	if !isList {
		return claimText(claim)
	}
	for _, element := range list {
		if _, ok := claimText(element); !ok {
			return "", false
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(list)
	return strings.TrimSuffix(text.String(), "\n"), err == nil
}

// claimText returns the text of a claim that is a text, a truth value, or a number whose
// decimal form is known.
func claimText(claim any) (string, bool) {
	switch v := claim.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		text, err := json.Marshal(v)
		return string(text), err == nil && math.Abs(v) < exactIntegers
	}
	return "", false
}
