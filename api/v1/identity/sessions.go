package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

type signInSession struct {
	ID             string  `json:"id" format:"uuid" doc:"The claim sid of its access tokens"`
	Kind           string  `json:"kind" enum:"browser,program,service_account"`
	Method         string  `json:"method" enum:"password,sso,client" doc:"How the person or the service account signed in"`
	ClientID       string  `json:"clientId,omitempty" doc:"Absent for a browser"`
	ClientName     string  `json:"clientName,omitempty" doc:"Absent for a browser, and for a client that is known by its id only"`
	OrganisationID string  `json:"organisationId,omitempty" format:"uuid" doc:"The organisation that the session is limited to"`
	AllowedIn      string  `json:"allowedIn,omitempty" format:"uuid" doc:"The session of the browser in which the program was allowed"`
	Current        bool    `json:"current" doc:"Whether the request was made with this session"`
	CreatedAt      *string `json:"createdAt"`
	ExpiresAt      *string `json:"expiresAt"`
}

// sessionOf returns the reply about a session to a caller with the session current.
func sessionOf(l session.Listed, current uuid.UUID) signInSession {
	text := func(id uuid.UUID) string {
		if id == uuid.Nil {
			return ""
		}
		return id.String()
	}
	out := signInSession{ID: l.ID.String(), Kind: "program", Method: string(l.Method), ClientID: l.Client, ClientName: l.ClientName,
		OrganisationID: text(l.Org), AllowedIn: text(l.Parent), Current: l.ID == current,
		CreatedAt: v1.Timestamp(l.CreatedAt), ExpiresAt: v1.Timestamp(l.ExpiresAt)}
	switch {
	case l.Method == session.MethodClient:
		out.Kind = "service_account"
	case l.Client == "":
		out.Kind = "browser"
	}
	return out
}

type sessionList struct {
	Sessions      []signInSession `json:"sessions" nullable:"false"`
	NextPageToken string          `json:"nextPageToken,omitempty"`
}

func sessionListOf(ctx context.Context, list catalog.List[session.Listed], err error) (sessionList, error) {
	p, _ := auth.PrincipalFrom(ctx)
	return sessionList{Sessions: v1.Map(list.Items, func(l session.Listed) signInSession { return sessionOf(l, p.SessionID) }),
		NextPageToken: list.Next}, err
}

type listMySessionsInput struct{ v1.Page }

type mySessionPath struct {
	SessionID string `path:"session_id" format:"uuid"`
}

type listMemberSessionsInput struct {
	v1.MemberPath
	v1.Page
}

type memberSessionPath struct {
	v1.MemberPath
	SessionID string `path:"session_id" format:"uuid"`
}

// sessionID parses the id of a session.
func sessionID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, catalog.ErrNotFound
	}
	return id, nil
}

// SessionRoutes registers the routes of sessions.
func SessionRoutes(api huma.API, lists identity.SessionLists) {
	mine := v1.Route{Tag: "Sessions", Camel: true, Orgless: true}
	v1.Add(api, mine.With("GET", "/v1/me/sessions", "listMySessions", "List your sessions").Describe(
		"Browsers in which you are signed in, and programs that you have allowed. A sign-in for one organisation sees the sessions of this one."),
		func(ctx context.Context, in *listMySessionsInput) (sessionList, error) {
			list, err := lists.Mine(ctx, in.Page.Catalog())
			return sessionListOf(ctx, list, err)
		})
	v1.Add(api, mine.With("DELETE", "/v1/me/sessions/{session_id}", "endMySession", "End one of your sessions").Describe(
		"Its tokens end, on every replica within a second. The programs that were allowed in the session of a browser end with it."),
		func(ctx context.Context, in *mySessionPath) (v1.Empty, error) {
			id, err := sessionID(in.SessionID)
			if err == nil {
				err = lists.EndMine(ctx, id)
			}
			return v1.Empty{}, err
		})
	base := "/v1/organisations/{org_id}/users/{user_id}/sessions"
	group := v1.Route{Tag: "Sessions", Scope: auth.ScopeUsersWrite, Camel: true}
	v1.AddOne(api, group.With("GET", base, "listUserSessions", "List a member's sessions").Describe(
		"Sessions that are limited to the organisation. If the organisation has verified the domain of the member's address, or is the only "+
			"one of the server, also those that are not limited."),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *listMemberSessionsInput) (sessionList, error) {
			list, err := lists.OfMember(ctx, org, user, in.Page.Catalog())
			return sessionListOf(ctx, list, err)
		})
	v1.AddOne(api, group.With("DELETE", base+"/{session_id}", "endUserSession", "End one of a member's sessions"),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *memberSessionPath) (v1.Empty, error) {
			id, err := sessionID(in.SessionID)
			if err == nil {
				err = lists.EndOfMember(ctx, org, user, id)
			}
			return v1.Empty{}, err
		})
}
