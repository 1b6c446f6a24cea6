package organisations

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

type apiKey struct {
	ID             string   `json:"id" format:"uuid"`
	Name           string   `json:"name"`
	KeyPrefix      string   `json:"key_prefix" doc:"Visible start of the key"`
	Scopes         []string `json:"scopes" doc:"Granular scopes; what counts is these and what the owner's role allows now"`
	OrganisationID string   `json:"organisation_id" format:"uuid"`
	WorkspaceID    *string  `json:"workspace_id" doc:"The workspace that the key reaches in addition to the default one; the default one itself if there is none, or if all_workspaces is true"`
	AllWorkspaces  bool     `json:"all_workspaces" doc:"Whether the key reaches every workspace of its owner"`
	UserID         string   `json:"user_id" format:"uuid" doc:"Owner of the key"`
	ExpiresAt      *string  `json:"expires_at"`
	LastUsedAt     *string  `json:"last_used_at"`
	CreatedAt      *string  `json:"created_at"`
	IsRevoked      bool     `json:"is_revoked"`
}

func apiKeyOf(k catalog.APIKey) apiKey {
	return apiKey{
		ID: string(k.ID), Name: k.Name, KeyPrefix: k.Prefix, Scopes: k.Scopes,
		OrganisationID: string(k.Org), WorkspaceID: v1.Pointer(k.Workspace), AllWorkspaces: k.AllWorkspaces, UserID: string(k.User),
		ExpiresAt: v1.Timestamp(k.ExpiresAt), LastUsedAt: v1.Timestamp(k.LastUsedAt), CreatedAt: v1.Timestamp(k.CreatedAt),
		IsRevoked: k.Revoked(),
	}
}

type revokeKeyInput struct {
	KeyPath
	DryRun bool `query:"dry_run" doc:"Show what would end, and change nothing"`
}

type ending struct {
	Kind string `json:"kind" enum:"api_key,service_account,client,client_secret,invitation"`
	ID   string `json:"id" format:"uuid" doc:"For a client_secret that of the client, for a service_account that of the user"`
	Name string `json:"name" doc:"For an invitation the e-mail address"`
}

// Key is the record of an API key. The API description has the members of an embedded struct
// only if the name of the field is exported.
type Key = apiKey

type revokeKeyReply struct {
	Key
	DryRun bool     `json:"dry_run"`
	Ends   []ending `json:"ends" nullable:"false" doc:"What was made with the key and ends with it, at most 1000 entries"`
}

// KeyReply is the reply to the creation of a key.
type KeyReply struct {
	Key    string `json:"key" doc:"The key itself. It is shown this once."`
	APIKey apiKey `json:"api_key"`
}

// KeyReplyOf returns the reply with a key in clear and its record.
func KeyReplyOf(key string, record catalog.APIKey) KeyReply {
	return KeyReply{Key: key, APIKey: apiKeyOf(record)}
}

// NewKeyBody is the body of a request for a key.
type NewKeyBody struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100"`
	Scopes      []string `json:"scopes,omitempty" nullable:"true" maxItems:"100" doc:"Presets read, write, admin, or granular scopes. Default: the viewer's scopes."`
	ExpiresIn   *string  `json:"expires_in,omitempty" nullable:"true" maxLength:"64" doc:"Go duration, Nd, Nw or ISO 8601: 5 minutes to 366 days, not later than the key in use expires. Default: 90 days, or the expiry of the key in use if that is earlier."`
	ExpiresAt   *string  `json:"expires_at,omitempty" nullable:"true" maxLength:"64" doc:"RFC 3339 time instead of expires_in"`
	WorkspaceID *string  `json:"workspace_id,omitempty" nullable:"true" format:"uuid" doc:"Reach this workspace in addition to the default one; the caller must be a member of it"`
	All         bool     `json:"all_workspaces,omitempty" doc:"Reach every workspace of the caller, including later ones. workspace_id must then be absent or the default one, and an API key in use must reach every workspace itself."`
}

// New returns the input of the use case.
func (b NewKeyBody) New() admin.NewKey {
	workspace := ""
	if b.WorkspaceID != nil {
		workspace = *b.WorkspaceID
	}
	return admin.NewKey{Name: b.Name, Scopes: b.Scopes, ExpiresIn: b.ExpiresIn, ExpiresAt: b.ExpiresAt, Workspace: workspace,
		AllWorkspaces: b.All}
}

type createKeyInput struct{ Body NewKeyBody }

// KeyPath holds the path parameter of an API key.
type KeyPath struct {
	ID string `path:"id" format:"uuid"`
}

type rotateKeyInput struct {
	KeyPath
	Body *struct { // optional
		GraceSeconds int64 `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the old key works on. Default: not at all."`
	}
}

type listKeysInput struct {
	v1.Page
	All bool `query:"all" doc:"Keys of every member; needs users:write"`
}

type keyList struct {
	APIKeys       []apiKey `json:"api_keys"`
	NextPageToken string   `json:"next_page_token,omitempty"`
}

func keyID(text string) (catalog.KeyID, error) { return catalog.ParseID[catalog.KeyID](text) }

// KeyRoutes registers the routes of API keys.
func KeyRoutes(api huma.API, keys admin.APIKeys) {
	v1.Add(api, v1.Route{Method: "POST", Path: "/v1/api-keys", ID: "createApiKey", Tag: "API keys", Created: true,
		Summary: "Create an API key", Description: "A key has no more scopes than its creator. A key that another key " +
			"creates ends with it, by expiry or revocation. A key may create keys only with apikeys:create."},
		func(ctx context.Context, in *createKeyInput) (KeyReply, error) {
			key, rec, err := keys.Create(ctx, in.Body.New())
			if err != nil {
				return KeyReply{}, err
			}
			return KeyReplyOf(key.Reveal(), rec), nil
		})
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/api-keys", ID: "listApiKeys", Tag: "API keys", Summary: "List API keys"},
		func(ctx context.Context, in *listKeysInput) (keyList, error) {
			list, err := keys.List(ctx, in.All, in.Page.Catalog())
			return keyList{APIKeys: v1.Map(list.Items, apiKeyOf), NextPageToken: list.Next}, err
		})
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/api-keys/{id}", ID: "getApiKey", Tag: "API keys", Summary: "Get an API key"},
		withKey(keys.Get))
	v1.Add(api, v1.Route{Method: "DELETE", Path: "/v1/api-keys/{id}", ID: "revokeApiKey", Tag: "API keys", Summary: "Revoke an API key",
		Description: "What was made with the key ends with it, also tokens of its service accounts and clients. Takes effect on the next " +
			"request, on every replica within a second. Idempotent."},
		func(ctx context.Context, in *revokeKeyInput) (revokeKeyReply, error) {
			id, err := keyID(in.ID)
			if err != nil {
				return revokeKeyReply{}, err
			}
			r, err := keys.Revoke(ctx, id, in.DryRun)
			return revokeKeyReply{Key: apiKeyOf(r.Key), DryRun: in.DryRun, Ends: v1.Map(r.Ends, func(e catalog.Ending) ending {
				return ending{Kind: string(e.Kind), ID: e.ID, Name: e.Name}
			})}, err
		})
	v1.Add(api, v1.Route{Method: "POST", Path: "/v1/api-keys/{id}/rotate", ID: "rotateApiKey", Tag: "API keys", Created: true,
		Summary: "Replace an API key by a successor",
		Description: "The successor has the name, the scopes and the workspaces of the key, and expires when the old key would have, or with " +
			"the key in use if that is earlier. What was made with the key then ends with the successor."},
		func(ctx context.Context, in *rotateKeyInput) (KeyReply, error) {
			id, err := keyID(in.ID)
			if err != nil {
				return KeyReply{}, err
			}
			grace := time.Duration(0)
			if in.Body != nil {
				grace = time.Duration(in.Body.GraceSeconds) * time.Second
			}
			key, rec, err := keys.Rotate(ctx, id, grace)
			if err != nil {
				return KeyReply{}, err
			}
			return KeyReplyOf(key.Reveal(), rec), nil
		})
}

func withKey(op func(context.Context, catalog.KeyID) (catalog.APIKey, error)) func(context.Context, *KeyPath) (apiKey, error) {
	return func(ctx context.Context, in *KeyPath) (apiKey, error) {
		id, err := keyID(in.ID)
		if err != nil {
			return apiKey{}, err
		}
		rec, err := op(ctx, id)
		if err != nil {
			return apiKey{}, err
		}
		return apiKeyOf(rec), nil
	}
}
