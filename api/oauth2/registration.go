package oauth2

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/program"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/catalog"
)

// maxRegistration bounds the body of a registration, in bytes.
const maxRegistration = 64 << 10

// clients is the part of [program.Clients] that the registration uses.
type clients interface {
	Create(ctx context.Context, org catalog.OrgID, in program.NewClient) (catalog.Client, string, error)
	Get(ctx context.Context, org catalog.OrgID, id catalog.ClientID) (catalog.Client, error)
	Delete(ctx context.Context, org catalog.OrgID, id catalog.ClientID) error
}

// openClients is the part of [program.OpenClients] that the registration uses.
type openClients interface {
	Register(ctx context.Context, n program.NewOpenClient) (catalog.Client, error)
}

// Registration registers clients (RFC 7591). Callers with a bearer credential register clients of
// their organisation, and need users:write, also to read and delete a client: there are no
// registration access tokens, so replies have no registration_client_uri. Without a credential, a
// client of no organisation is registered, which nobody can read or delete.
type Registration struct {
	Clients clients
	// Open registers clients without a credential. If it is nil, there are none.
	Open openClients
	// Arrivals limits these by the network of the sender.
	Arrivals *middleware.Limiter
	Audit    Recorder
}

// ArrivalRate is the rate at which clients register themselves from one network. A program registers
// once on each machine.
var ArrivalRate = middleware.Rate{PerMinute: 2, Burst: 20}

func (g Registration) routes(open, r chi.Router) {
	create := g.audited("createClient", g.create)
	if g.Open == nil {
		r.Post(registerPath, create)
	} else {
		known := r.Middlewares().HandlerFunc(create)
		open.Post(registerPath, func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header.Values("Authorization")) > 0 {
				known.ServeHTTP(w, r)
				return
			}
			g.createOpen(w, r)
		})
	}
	r.Get(registerPath+"/{client_id}", g.audited("getClient", g.read))
	r.Delete(registerPath+"/{client_id}", g.audited("deleteClient", g.remove))
}

// audited writes an audit entry for each call, with the action of the route below /v1 that
// does the same.
func (g Registration) audited(action string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reply := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		serve(reply, r)
		outcome := catalog.OutcomeAllow
		switch {
		case reply.status == http.StatusForbidden || reply.status == http.StatusNotFound:
			outcome = catalog.OutcomeDeny
		case reply.status >= http.StatusBadRequest:
			outcome = catalog.OutcomeError
		}
		a, err := caller.From(r.Context())
		if err == nil {
			g.Audit.Record(caller.NewEntry(a, action, r.URL.Path, outcome))
		}
	}
}

// statusWriter remembers the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// clientMetadata describes a client in requests and replies (RFC 7591 §2).
type clientMetadata struct {
	ClientID        string   `json:"client_id,omitempty"`
	ClientSecret    string   `json:"client_secret,omitempty"`
	IssuedAt        int64    `json:"client_id_issued_at,omitempty"`
	SecretExpiresAt *int64   `json:"client_secret_expires_at,omitempty"`
	Name            string   `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Scope           string   `json:"scope"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
}

func (g Registration) create(w http.ResponseWriter, r *http.Request) {
	p, err := registrar(r.Context())
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	in, refused := readRegistration(w, r)
	if refused != nil {
		refused.write(w)
		return
	}
	created, secret, err := g.Clients.Create(r.Context(), catalog.OrgID(p.OrgID.String()), program.NewClient{
		Name: in.Name, Public: in.AuthMethod == "none", RedirectURIs: in.RedirectURIs, Scopes: strings.Fields(in.Scope),
	})
	if err != nil {
		failRegistration(w, r, err)
		return
	}
	out := metadataOf(created)
	if secret != "" {
		expires := int64(0) // never
		if !created.SecretEndsAt.IsZero() {
			expires = created.SecretEndsAt.Unix()
		}
		out.ClientSecret, out.SecretExpiresAt = secret, &expires
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, http.StatusCreated, out)
}

// createOpen registers a client of an unknown sender. The client is public, and gets none of the scopes
// that an open client cannot have: the reply has those that it gets (RFC 7591 §3.2.1).
func (g Registration) createOpen(w http.ResponseWriter, r *http.Request) {
	if wait := g.Arrivals.Take(middleware.Network(middleware.Remote(r))).RetryAfter; wait > 0 {
		problem.Write(w, r, &problem.Refusal{Code: "rate_limited", RetryAfter: wait})
		return
	}
	in, refused := readRegistration(w, r)
	if refused == nil && in.AuthMethod != "none" {
		refused = invalidMetadata("token_endpoint_auth_method must be none without a credential")
	}
	if refused != nil {
		refused.write(w)
		return
	}
	created, err := g.Open.Register(r.Context(), program.NewOpenClient{
		Name: in.Name, RedirectURIs: in.RedirectURIs, Scopes: strings.Fields(in.Scope),
	})
	if err != nil {
		failRegistration(w, r, err)
		return
	}
	g.Audit.Record(catalog.AuditEntry{Action: "client.registered", Resource: "client/" + string(created.ID), Outcome: catalog.OutcomeAllow,
		RequestID: problem.RequestID(r.Context()), Remote: middleware.Remote(r)})
	w.Header().Set("Content-Type", "application/json")
	write(w, http.StatusCreated, metadataOf(created))
}

// registrar returns the caller if it may manage clients.
func registrar(ctx context.Context) (auth.Principal, error) {
	p, err := auth.PrincipalFrom(ctx)
	if err == nil {
		err = p.InOrganisation()
	}
	if err == nil {
		err = p.Require(auth.ScopeUsersWrite)
	}
	return p, err
}

// readRegistration decodes a request. Members that the server does not know are ignored
// (RFC 7591 §2). Values that it does not support are refused rather than replaced.
func readRegistration(w http.ResponseWriter, r *http.Request) (in clientMetadata, refused *registrationError) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return in, invalidMetadata("the body must be application/json")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRegistration))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return in, &registrationError{"invalid_client_metadata", "the body is too large", http.StatusRequestEntityTooLarge}
	case err != nil, json.Unmarshal(text, &in) != nil:
		return in, invalidMetadata("the body must be a JSON object with the members of RFC 7591")
	}
	subset := func(values []string, allowed ...string) bool {
		return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(allowed, v) })
	}
	switch {
	case !subset(in.GrantTypes, "authorization_code", "refresh_token"):
		return in, invalidMetadata("grant_types may hold authorization_code and refresh_token")
	case !subset(in.ResponseTypes, "code"):
		return in, invalidMetadata("response_types may hold code")
	case !slices.Contains([]string{"", "none", "client_secret_basic", "client_secret_post"}, in.AuthMethod):
		return in, invalidMetadata("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post")
	}
	in.Scope = oauth.Permissions(in.Scope)
	if in.Name == "" {
		in.Name = program.NamelessClient
	}
	return in, nil
}

func (g Registration) read(w http.ResponseWriter, r *http.Request) {
	p, id, err := named(r)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	found, err := g.Clients.Get(r.Context(), catalog.OrgID(p.OrgID.String()), id)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, http.StatusOK, metadataOf(found))
}

func (g Registration) remove(w http.ResponseWriter, r *http.Request) {
	p, id, err := named(r)
	if err == nil {
		err = g.Clients.Delete(r.Context(), catalog.OrgID(p.OrgID.String()), id)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// named returns the caller and the client that the path names.
func named(r *http.Request) (auth.Principal, catalog.ClientID, error) {
	p, err := registrar(r.Context())
	if err != nil {
		return p, "", err
	}
	id, err := catalog.ParseID[catalog.ClientID](chi.URLParam(r, "client_id"))
	return p, id, err
}

func metadataOf(c catalog.Client) clientMetadata {
	method := "client_secret_basic"
	if c.Public() {
		method = "none"
	}
	return clientMetadata{
		ClientID: string(c.ID), IssuedAt: c.CreatedAt.Truncate(time.Second).Unix(),
		Name: c.Name, RedirectURIs: c.RedirectURIs, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, Scope: strings.Join(c.Scopes, " "), AuthMethod: method,
	}
}

// registrationError is a refusal of a registration (RFC 7591 §3.2.2).
type registrationError struct {
	code, description string
	status            int
}

func invalidMetadata(description string) *registrationError {
	return &registrationError{"invalid_client_metadata", description, http.StatusBadRequest}
}

func (e *registrationError) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	write(w, e.status, map[string]string{"error": e.code, "error_description": e.description})
}

// failRegistration replies to a registration that was refused as a whole.
func failRegistration(w http.ResponseWriter, r *http.Request, err error) {
	var fields catalog.FieldErrors
	switch {
	case errors.As(err, &fields) && strings.HasPrefix(fields[0].Field, "redirect_uris"):
		(&registrationError{"invalid_redirect_uri", fields[0].Field + " " + fields[0].Message, http.StatusBadRequest}).write(w)
	case errors.As(err, &fields):
		invalidMetadata(fields[0].Field + " " + fields[0].Message).write(w)
	case errors.Is(err, auth.ErrUnknownScope):
		invalidMetadata("scope holds an unknown scope").write(w)
	default:
		problem.Write(w, r, err)
	}
}
