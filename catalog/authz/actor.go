package authz

import (
	"context"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// systemKey is the context key of a [systemMark].
type systemKey struct{}

// systemMark holds the principal of the context at the time of the mark, if any.
type systemMark struct {
	reason    string
	principal auth.Principal
	present   bool
}

// System returns a context in which every call is allowed, because the server itself
// acts: authentication, discovery, start-up, the audit log. The reason is documentation
// only. A principal that is added to the context later takes precedence, so that a
// request never inherits the rights of the system.
func System(ctx context.Context, reason string) context.Context {
	p, err := auth.PrincipalFrom(ctx)
	return context.WithValue(ctx, systemKey{}, systemMark{reason: reason, principal: p, present: err == nil})
}

// ViewerOf returns the only viewer that a principal may use. That of a person without an
// organisation has an empty Org and sees nothing.
func ViewerOf(p auth.Principal) catalog.Viewer {
	org, user := catalog.OrgID(p.OrgID.String()), catalog.UserID(p.UserID.String())
	if p.InOrganisation() != nil {
		org = ""
	}
	if p.SignedIn() && p.WorkspaceID == nil || p.Method == auth.MethodAPIKey && p.AllWorkspaces {
		return catalog.MemberViewer(org, user)
	}
	var workspace catalog.WorkspaceID
	if p.WorkspaceID != nil {
		workspace = catalog.WorkspaceID(p.WorkspaceID.String())
	}
	return catalog.KeyViewer(org, user, workspace)
}

// actor is the caller of a method.
type actor struct {
	system    bool
	principal auth.Principal
	viewer    catalog.Viewer
}

// actorFrom returns the actor of a context, or ErrNoActor.
func actorFrom(ctx context.Context) (actor, error) {
	p, err := auth.PrincipalFrom(ctx)
	mark, marked := ctx.Value(systemKey{}).(systemMark)
	if marked && mark.present == (err == nil) && mark.principal == p {
		return actor{system: true}, nil
	}
	if err != nil {
		return actor{}, catalog.ErrNoActor
	}
	return actor{principal: p, viewer: ViewerOf(p)}, nil
}

// isUser reports whether the actor is a given user. An actor without an organisation is
// one too.
func (a actor) isUser(user catalog.UserID) bool {
	return !a.system && a.viewer.User == user
}

// in checks that the actor acts in an organisation and holds one of the scopes there.
// Without scopes, membership is sufficient.
func (a actor) in(org catalog.OrgID, anyOf ...auth.Scope) error {
	switch {
	case a.system:
		return nil
	case a.viewer.Org == "" || a.viewer.Org != org:
		return catalog.ErrNotFound
	}
	return holds(a.principal.Scopes, anyOf)
}

// usesViewer checks that v is the actor's own viewer and that the actor holds one of the
// scopes.
func (a actor) usesViewer(v catalog.Viewer, anyOf ...auth.Scope) error {
	if err := a.in(v.Org); err != nil {
		return err
	}
	if !a.system && v != a.viewer {
		return &catalog.DeniedError{Reason: "viewer_mismatch"}
	}
	return a.in(v.Org, anyOf...)
}

// maker returns what credentials of the actor's making are bound to.
func (a actor) maker() catalog.Maker {
	switch p := a.principal; {
	case a.system:
		return catalog.Maker{}
	case p.KeyID != nil:
		return catalog.Maker{Key: catalog.KeyID(p.KeyID.String())}
	case p.SessionID != uuid.Nil:
		return catalog.Maker{Session: p.SessionID.String()}
	}
	return catalog.Maker{}
}

// signs checks that a change is made in the name of the actor.
func (a actor) signs(by catalog.UserID) error {
	if a.system || a.viewer.User == by {
		return nil
	}
	return &catalog.DeniedError{Reason: "actor_mismatch"}
}

// grants checks that the actor grants no role above its own.
func (a actor) grants(role, own auth.Role) error {
	if a.system || own.AtLeast(role) || !role.Valid() { // the store refuses an invalid role
		return nil
	}
	return &catalog.DeniedError{Reason: "role_escalation"}
}

// confers checks that the actor gives nobody a role above its own in the organisation, nor
// scopes that its credential lacks: a member could use them at once. before is the role that
// the member has; empty means none.
func (a actor) confers(role, before auth.Role) error {
	return a.confersOf(a.principal.Role, a.principal.Scopes, role, before)
}

// confersOf is confers where the actor has a role and scopes of its own.
func (a actor) confersOf(own auth.Role, scopes auth.ScopeSet, role, before auth.Role) error {
	if err := a.grants(role, own); err != nil || a.system {
		return err
	}
	if scopes.Contains(role.Scopes().Minus(before.Scopes())) {
		return nil
	}
	return &catalog.DeniedError{Reason: "role_escalation"}
}

func holds(scopes auth.ScopeSet, anyOf []auth.Scope) error {
	for _, s := range anyOf {
		if scopes.Has(s) {
			return nil
		}
	}
	if len(anyOf) == 0 {
		return nil
	}
	return &catalog.DeniedError{Scope: string(anyOf[0])}
}

// signedIn checks that the actor is a person who has signed in, whose id is user. API
// keys, service accounts, and programs that act for people are denied.
func (s *Store) signedIn(ctx context.Context, a actor, user catalog.UserID) error {
	if a.system {
		return nil
	}
	if err := a.signs(user); err != nil {
		return err
	}
	if !a.principal.ActsAsPerson() {
		return &catalog.DeniedError{Reason: signInRequired}
	}
	u, err := s.inner.User(ctx, user)
	if err == nil && u.Kind != catalog.UserPerson {
		err = &catalog.DeniedError{Reason: signInRequired}
	}
	return err
}

// signedInFreely is signedIn for what concerns organisations other than the actor's.
func (s *Store) signedInFreely(ctx context.Context, a actor, user catalog.UserID) error {
	if !a.system && a.principal.Confined {
		return &catalog.DeniedError{Reason: signInRequired}
	}
	return s.signedIn(ctx, a, user)
}

// signInRequired is the reason of the denial of actors that are not people who have
// signed in.
const signInRequired = "sign_in_required"

// systemOnly denies every actor but the system.
func systemOnly(ctx context.Context) error {
	a, err := actorFrom(ctx)
	if err == nil && !a.system {
		err = &catalog.DeniedError{Reason: "system_only"}
	}
	return err
}

// inOrg is the check of most methods that concern an organisation.
func inOrg(ctx context.Context, org catalog.OrgID, anyOf ...auth.Scope) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	return a.in(org, anyOf...)
}
