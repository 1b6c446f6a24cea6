package oauth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// cleanupTime bounds the cleanup after a request that has failed.
const cleanupTime = 10 * time.Second

// Token serves the token endpoint.
func (s *Server) Token(w http.ResponseWriter, r *http.Request) {
	e := Event{Kind: KindToken}
	tokens, err := s.exchange(w, r, &e)
	if err != nil {
		s.refuseClient(w, r, e, err)
		return
	}
	s.monitor.Issued(r, e)
	reply(w, http.StatusOK, tokens)
}

// refuseClient replies to a client, and counts a failed authentication of it.
func (s *Server) refuseClient(w http.ResponseWriter, r *http.Request, e Event, err error) {
	out := s.refusalOf(r.Context(), err)
	if out.code == "access_denied" { // not a code of this endpoint
		out.code, out.status = "invalid_grant", http.StatusBadRequest
	}
	if e.Reason = out.code; e.Client == "" {
		e.Client = clientOf(r)
	}
	if out.status == http.StatusUnauthorized {
		if wait := s.monitor.ClientRefused(r, e.Client); wait > 0 {
			s.fail(w, r, refusal{code: "temporarily_unavailable", description: "Too many failed attempts.", status: http.StatusTooManyRequests,
				retryAfter: wait})
			return
		}
	}
	s.monitor.Refused(r, e)
	s.fail(w, r, out)
}

// limitedError is returned for a client that gets tokens too often.
type limitedError struct{ wait time.Duration }

// Error implements error.
func (e *limitedError) Error() string { return "too many tokens of one client" }

// issued is the reply to a request for tokens.
type issued struct {
	session.Tokens
	IDToken string `json:"id_token,omitempty"`
}

// exchange issues tokens, and describes them in e.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, e *Event) (none issued, err error) {
	if err := form(w, r); err != nil {
		return none, err
	}
	kind := r.PostForm.Get("grant_type")
	switch kind {
	case grantCode, grantRefresh, grantClient:
		e.Kind = kind
	case "":
		return none, fosite.ErrInvalidRequest.WithHint("The parameter grant_type is missing.")
	default:
		return none, fosite.ErrUnsupportedGrantType
	}
	if err := s.checkResource(r.PostForm); err != nil {
		return none, err
	}
	state := &exchange{}
	ctx := context.WithValue(r.Context(), exchangeKey{}, state)
	tokens, err := s.exchangeGrant(ctx, r, kind, e)
	if state.reused {
		e.Session = state.family
		return none, fosite.ErrInvalidGrant.WithHint("It was used before. All tokens of the session have been revoked.").
			WithWrap(session.ErrReused)
	}
	if state.ended {
		return none, fosite.ErrInvalidGrant.WithHint("The session has ended.").WithWrap(session.ErrNotFound)
	}
	return tokens, err
}

func (s *Server) exchangeGrant(ctx context.Context, r *http.Request, kind string, e *Event) (none issued, err error) {
	access, err := s.flows.NewAccessRequest(ctx, r, &granted{})
	if proving := exchangeOf(ctx).proving; err != nil && proving != uuid.Nil {
		// The code ends with this attempt, also if the client disconnects, so that nobody who has the
		// code can try several verifiers.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		err = errors.Join(err, s.sessions.RevokeSession(cleanup, proving))
	}
	switch {
	case kind == grantClient && errors.Is(err, fosite.ErrInvalidGrant): // fosite's refusal of public clients
		return none, fosite.ErrUnauthorizedClient.WithHint("The client is not that of a service account.")
	case err != nil:
		return none, err
	}
	client := access.GetClient().(*registered) // of store.GetClient
	given := access.GetSession().(*granted)    // of store.load, or the one above
	e.Client = client.ID
	if kind == grantClient {
		if wait := s.monitor.Limited(client.ID); wait > 0 {
			return none, &limitedError{wait}
		}
		err = s.startService(ctx, r, client.Client, given)
	} else {
		err = s.choose(ctx, r, kind, client.Client, given)
	}
	e.User, e.Org, e.Session = given.session.User, given.org, given.session.ID
	if err != nil {
		return none, err
	}
	response, err := s.flows.NewAccessResponse(ctx, access)
	if err != nil {
		return none, err
	}
	refresh, _ := response.GetExtra("refresh_token").(string)
	out := issued{Tokens: session.Tokens{
		AccessToken: response.GetAccessToken(), TokenType: "Bearer", ExpiresIn: given.expiresIn(), RefreshToken: refresh,
		Scope: given.scopeText(given.effective(client.Client)),
	}}
	if given.identifies() {
		out.IDToken, err = s.idToken(ctx, given, client.ID, out.AccessToken)
	}
	return out, err
}

// choose checks that the user may still act in the organisation. A refresh may choose
// another one, and fewer scopes for the next access token.
func (s *Server) choose(ctx context.Context, r *http.Request, kind string, client Client, given *granted) (err error) {
	wanted := given.org
	if kind == grantRefresh {
		chosen, err := organisationOf(r.PostForm)
		if err != nil {
			return err
		}
		if chosen != uuid.Nil {
			wanted = chosen
		}
		if err := given.narrow(r.PostForm.Get("scope")); err != nil {
			return err
		}
	}
	given.org, given.allowed, err = s.organisation(ctx, given.session, client, wanted)
	return err
}

// startService starts a session of a service account. It lasts longer than its one access
// token, because work that the token began ends with it.
func (s *Server) startService(ctx context.Context, r *http.Request, client Client, given *granted) (err error) {
	if client.Service == uuid.Nil {
		return fosite.ErrUnauthorizedClient.WithHint("The client is not that of a service account.")
	}
	if chosen, err := organisationOf(r.PostForm); err != nil {
		return err
	} else if chosen != uuid.Nil && chosen != client.Org {
		return fosite.ErrInvalidRequest.WithHint("The parameter org names another organisation than the client's.")
	}
	given.scopes = client.Scopes
	if names := strings.Fields(r.PostForm.Get("scope")); len(names) > 0 {
		if given.scopes, err = requested(names, client.Scopes); err != nil {
			return err
		}
	}
	of := session.Session{User: client.Service, Org: client.Org, Client: client.ID, Method: session.MethodClient,
		ExpiresAt: s.now().Add(serviceLife)}
	if given.org, given.allowed, err = s.organisation(ctx, of, client, client.Org); err != nil {
		if errors.Is(err, auth.ErrForbidden) || errors.Is(err, auth.ErrUnauthenticated) {
			err = fosite.ErrUnauthorizedClient.WithHint("The service account is not a member of the organisation.").WithWrap(err)
		}
		return err
	}
	if given.session, err = s.sessions.CreateSession(ctx, of); err != nil {
		return err
	}
	// A change of the client, or of its secret, ends the sessions that it finds. This one may be
	// younger.
	now, err := s.find(ctx, client.ID)
	if err == nil && !bytes.Equal(now.SecretHash, client.SecretHash) {
		err = fosite.ErrInvalidClient.WithHint("The secret was replaced.")
	}
	if err != nil {
		return errors.Join(err, s.sessions.RevokeSession(ctx, given.session.ID))
	}
	given.scopes = given.scopes.Intersect(now.Scopes)
	return nil
}
