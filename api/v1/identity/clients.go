package identity

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/program"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

const clientsBase = "/v1/organisations/{org_id}/clients"

type oauthClient struct {
	ID           string   `json:"id" format:"uuid" doc:"The client_id in OAuth"`
	Name         string   `json:"name"`
	Public       bool     `json:"public" doc:"Whether the client has no secret"`
	RedirectURIs []string `json:"redirectUris" nullable:"false"`
	Scopes       []string `json:"scopes" nullable:"false" doc:"Granular scopes, which bound those of the client's tokens"`
	CreatedBy    string   `json:"createdBy" format:"uuid"`
	Version      int64    `json:"version"`
	CreatedAt    *string  `json:"createdAt"`
	UpdatedAt    *string  `json:"updatedAt"`
	Ends
}

func clientOf(c catalog.Client) oauthClient {
	return oauthClient{ID: string(c.ID), Name: c.Name, Public: c.Public(), RedirectURIs: c.RedirectURIs, Scopes: c.Scopes,
		CreatedBy: string(c.CreatedBy), Version: c.Version, CreatedAt: v1.Timestamp(c.CreatedAt), UpdatedAt: v1.Timestamp(c.UpdatedAt),
		Ends: Ends{v1.Timestamp(c.EndsAt), v1.Timestamp(c.SecretEndsAt)}}
}

type clientReply struct {
	Client       oauthClient `json:"client"`
	ClientSecret string      `json:"clientSecret,omitempty" doc:"Shown this once; absent for a public client"`
}

// ClientPath holds the path parameters of an OAuth client.
type ClientPath struct {
	v1.OrgPath
	ClientID string `path:"client_id" format:"uuid"`
}

// IDs parses the path parameters.
func (in ClientPath) IDs() (catalog.OrgID, catalog.ClientID, error) {
	org, err := v1.OrgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.ClientID](in.ClientID)
	return org, id, err
}

type createClientInput struct {
	v1.OrgPath
	Body struct {
		Name         string   `json:"name" minLength:"1" maxLength:"100"`
		Public       bool     `json:"public,omitempty" doc:"A client that cannot keep a secret, such as a program on people's machines"`
		RedirectURIs []string `json:"redirectUris" minItems:"1" maxItems:"20" doc:"https, or http on localhost; compared exactly"`
		Scopes       []string `json:"scopes,omitempty" nullable:"true" maxItems:"100" doc:"Presets read, write, admin, or granular scopes, no wider than the caller's. Default: the viewer's scopes."`
	}
}

type patchClientInput struct {
	ClientPath
	Body struct {
		ExpectedVersion int64     `json:"expectedVersion,omitempty" minimum:"1" doc:"Refuse the change if the client has another version"`
		Name            *string   `json:"name,omitempty" nullable:"true" minLength:"1" maxLength:"100"`
		RedirectURIs    *[]string `json:"redirectUris,omitempty" nullable:"true" minItems:"1" maxItems:"20"`
		Scopes          *[]string `json:"scopes,omitempty" nullable:"true" minItems:"1" maxItems:"100" doc:"No wider than the caller's. If the client loses a scope, its tokens end."`
	}
}

// rotation is the body of a request for a new secret.
type rotation struct {
	Body *struct {
		GraceSeconds int64 `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long issued tokens remain valid"`
	}
}

func (r rotation) grace() time.Duration {
	if r.Body == nil {
		return 0
	}
	return time.Duration(r.Body.GraceSeconds) * time.Second
}

type rotateClientInput struct {
	ClientPath
	rotation
}

type listClientsInput struct {
	v1.OrgPath
	v1.Page
}

type clientList struct {
	Clients       []oauthClient `json:"clients" nullable:"false"`
	NextPageToken string        `json:"nextPageToken,omitempty"`
}

// ClientRoutes registers the routes of OAuth clients.
func ClientRoutes(api huma.API, clients program.Clients) {
	group := v1.Route{Tag: "OAuth clients", Scope: auth.ScopeUsersWrite, Camel: true}
	v1.AddIn(api, group.With("POST", clientsBase, "createClient", "Create an OAuth client").As201().Describe(
		"A client acts for people who agree to it, within its scopes and their role. All clients use PKCE."),
		func(ctx context.Context, org catalog.OrgID, in *createClientInput) (clientReply, error) {
			created, secret, err := clients.Create(ctx, org, program.NewClient{Name: in.Body.Name, Public: in.Body.Public,
				RedirectURIs: in.Body.RedirectURIs, Scopes: in.Body.Scopes})
			return clientReply{Client: clientOf(created), ClientSecret: secret}, err
		})
	v1.AddIn(api, group.With("GET", clientsBase, "listClients", "List OAuth clients"),
		func(ctx context.Context, org catalog.OrgID, in *listClientsInput) (clientList, error) {
			list, err := clients.List(ctx, org, in.Page.Catalog())
			return clientList{Clients: v1.Map(list.Items, clientOf), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, group.With("GET", clientsBase+"/{client_id}", "getClient", "Get an OAuth client"),
		func(ctx context.Context, org catalog.OrgID, id catalog.ClientID, _ *ClientPath) (oauthClient, error) {
			found, err := clients.Get(ctx, org, id)
			return clientOf(found), err
		})
	v1.AddOne(api, group.With("PATCH", clientsBase+"/{client_id}", "updateClient", "Update an OAuth client"),
		func(ctx context.Context, org catalog.OrgID, id catalog.ClientID, in *patchClientInput) (oauthClient, error) {
			updated, err := clients.Update(ctx, org, id, in.Body.ExpectedVersion,
				program.ClientChange{Name: in.Body.Name, RedirectURIs: in.Body.RedirectURIs, Scopes: in.Body.Scopes})
			return clientOf(updated), err
		})
	v1.AddOne(api, group.With("DELETE", clientsBase+"/{client_id}", "deleteClient", "Delete an OAuth client").Describe(
		"The client's tokens end, on every replica within a second."),
		func(ctx context.Context, org catalog.OrgID, id catalog.ClientID, _ *ClientPath) (v1.Empty, error) {
			return v1.Empty{}, clients.Delete(ctx, org, id)
		})
	v1.AddOne(api, group.With("POST", clientsBase+"/{client_id}/rotate-secret", "rotateClientSecret", "Replace the secret of an OAuth client").
		Describe("The old secret stops working at once."),
		func(ctx context.Context, org catalog.OrgID, id catalog.ClientID, in *rotateClientInput) (clientReply, error) {
			changed, secret, err := clients.RotateSecret(ctx, org, id, in.grace())
			return clientReply{Client: clientOf(changed), ClientSecret: secret}, err
		})
}
