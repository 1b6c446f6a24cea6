package identity

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

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
// returns the membership. It refuses an e-mail address outside the organisation's own verified domains: a provider
// must not be able to sign in people of others.
func (s SSO) admit(ctx context.Context, config catalog.SSOConfig, who sso.Identity, from Origin) (none catalog.Membership, err error) {
	email, err := mailbox(who.Email)
	if err != nil {
		return none, sso.Refused("email_not_usable")
	}
	domain, err := s.Store.VerifiedDomain(ctx, domainOf(email))
	if errors.Is(err, catalog.ErrNotFound) || err == nil && domain.Org != config.Org {
		return none, sso.Refused("email_domain_foreign")
	}
	if err != nil {
		return none, err
	}
	user, err := s.person(ctx, email, who.Name)
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

// person returns the user with an e-mail address, who is created if necessary.
func (s SSO) person(ctx context.Context, email, name string) (catalog.User, error) {
	user, err := s.Store.UserByEmail(ctx, email)
	if !errors.Is(err, catalog.ErrNotFound) {
		return user, err
	}
	n := catalog.NewUser{Email: email, DisplayName: strings.TrimSpace(name)}
	if n.Validate() != nil {
		n.DisplayName = ""
	}
	user, err = s.Store.CreateUser(ctx, n)
	if errors.Is(err, catalog.ErrExists) { // by a sign-in at the same time
		return s.Store.UserByEmail(ctx, email)
	}
	return user, err
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
		text, ok := claimText(claims[claim])
		if ok && catalog.ValidateAttributes(map[string]string{name: text}) == nil {
			changes[name] = &text
		}
	}
	return changes
}

// exactIntegers is the lowest number from which on a float64 may stand for several integers:
// two people must not get one attribute because their numbers were rounded.
const exactIntegers = 1 << 53

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
