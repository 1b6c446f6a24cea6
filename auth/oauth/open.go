package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// Documents reads the descriptions of clients whose id is the URL of a document
// (draft-ietf-oauth-client-id-metadata-document). Implementations are safe for concurrent use.
type Documents interface {
	// Describe returns the client that the document at a URL describes. It requests the document for
	// a person, whose requests it bounds. A document that cannot be used is a [*DocumentError].
	Describe(ctx context.Context, id string, user uuid.UUID) (Client, error)
}

// DocumentError is returned by [Documents] for a client whose document cannot be used.
type DocumentError struct {
	Reason string
	// Wait is set for a person for whom too many documents were read: the time until the next one.
	Wait time.Duration
}

// Error implements error.
func (e *DocumentError) Error() string { return "document of the client: " + e.Reason }

// errClosed is the refusal of an open client by an organisation.
var errClosed = &fosite.RFC6749Error{ErrorField: "access_denied", CodeField: http.StatusForbidden,
	DescriptionField: "The organisation allows only programs that it registered itself. An administrator can allow others."}

// describesItself reports whether an id is the URL of a document about the client.
func describesItself(id string) bool { return strings.HasPrefix(id, "https://") }

// describedBefore returns a client whose sessions a person has allowed. Its document is not needed
// again: the grants of a session hold what the person allowed.
func (s *Server) describedBefore(id string) (Client, error) {
	u, err := url.Parse(id)
	if err != nil || s.documents == nil {
		return Client{}, fosite.ErrInvalidClient.WithHint("The client does not exist.").WithWrap(ErrUnknownClient)
	}
	return Client{ID: id, Open: true, Publisher: u.Host, Scopes: auth.OpenClientScopes()}, nil
}

// findFor returns the client of an authorization request by a person. The document of a client is
// requested for people who have signed in only, so that nobody else has the server request
// addresses.
func (s *Server) findFor(ctx context.Context, id string, of session.Session) (Client, error) {
	if !describesItself(id) || s.documents == nil {
		return s.find(ctx, id)
	}
	c, err := s.documents.Describe(ctx, id, of.User)
	var unusable *DocumentError
	if errors.As(err, &unusable) && unusable.Wait == 0 {
		return c, fosite.ErrInvalidClient.WithHint("The document that client_id names cannot be used: " + unusable.Reason + ".").WithWrap(err)
	}
	return c, err
}

// mustSignIn answers an authorization request of a client with a document if the person has not
// signed in. It reports whether it did.
func (s *Server) mustSignIn(w http.ResponseWriter, r *http.Request, query url.Values, signedIn bool) bool {
	if signedIn || s.documents == nil || !describesItself(query.Get("client_id")) {
		return false
	}
	rule, err := signInRuleOf(query, s.now())
	if err == nil && rule.silent {
		err = fosite.ErrLoginRequired
	}
	if err != nil {
		out := s.refusalOf(r.Context(), err)
		s.monitor.Refused(r, Event{Kind: KindCode, Client: bounded(query.Get("client_id")), Reason: out.code})
		s.showRefusal(w, r, out)
		return true
	}
	s.pages.SignIn(w, r, r.URL.Path+"?"+rule.afterSignIn(r.URL), query.Get("login_hint"))
	return true
}

// chooseOrganisation returns the organisation that an open client acts in, if the request or the
// session names one or there is only one. Otherwise it asks the person and reports done.
func (s *Server) chooseOrganisation(w http.ResponseWriter, r *http.Request, a *authorization, of session.Session) (org uuid.UUID, done bool,
	err error) {
	if !a.client.Open || a.org != uuid.Nil || of.Org != uuid.Nil {
		return a.org, false, nil
	}
	among, err := s.access.OpenTo(r.Context(), of)
	switch {
	case err != nil:
		return uuid.Nil, false, err
	case len(among) == 0:
		return uuid.Nil, false, errClosed
	case len(among) == 1:
		return among[0].ID, false, nil
	case a.silent:
		return uuid.Nil, false, fosite.ErrConsentRequired
	}
	s.pages.Choose(w, r, a.client.Client, among)
	return uuid.Nil, true, nil
}

// admits returns an error unless an organisation in which a session may act admits a client.
func (s *Server) admits(ctx context.Context, of session.Session, c Client, org uuid.UUID) error {
	if !c.Open {
		return nil
	}
	among, err := s.access.OpenTo(ctx, of)
	if err == nil && !slices.ContainsFunc(among, func(o session.Organisation) bool { return o.ID == org }) {
		err = errClosed
	}
	return err
}
