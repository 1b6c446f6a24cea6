package identity

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

type providerLink struct {
	Provider  string   `json:"provider" enum:"provider_one,provider_two,provider_three"`
	Status    string   `json:"status" enum:"linked,broken" doc:"A broken link was refused by the provider: link again"`
	Subject   *string  `json:"subject" doc:"The person at the provider; null if it did not tell"`
	Scopes    []string `json:"scopes"`
	CreatedAt *string  `json:"createdAt"`
	UpdatedAt *string  `json:"updatedAt"`
}

func providerLinkOf(l catalog.ProviderLink) providerLink {
	out := providerLink{
		Provider: string(l.Provider), Status: "linked", Subject: v1.Pointer(l.Subject), Scopes: append([]string{}, l.Scopes...),
		CreatedAt: v1.Timestamp(l.CreatedAt), UpdatedAt: v1.Timestamp(l.UpdatedAt),
	}
	if !l.BrokenAt.IsZero() {
		out.Status = "broken"
	}
	return out
}

type providerLinkList struct {
	Links []providerLink `json:"links"`
}

type startedLinkBody struct {
	AuthorizationURL string `json:"authorizationUrl" doc:"The page of the provider where the member agrees"`
}

type startedLinkReply struct {
	SetCookie string `header:"Set-Cookie" doc:"Binds the link to the browser, which must send it to the callback"`
	Body      startedLinkBody
}

type linkCallbackInput struct {
	Incoming
	State string `query:"state" maxLength:"256"`
	Code  string `query:"code" maxLength:"4096"`
	Iss   string `query:"iss" maxLength:"1024"`
	Error string `query:"error" maxLength:"256"`
}

// ProviderLinkRoutes registers the routes by which members link themselves to providers.
func ProviderLinkRoutes(api huma.API, links identity.ProviderLinks, door Door) {
	const base = "/v1/organisations/{org_id}/provider-apps"
	group := v1.Route{Tag: "Provider applications", Camel: true}
	begin := group.With("GET", base+"/{provider}/link", "beginProviderLink", "Begin to link the caller to a provider").
		Describe("Open authorizationUrl within ten minutes, in a browser that has the cookie of this reply or is signed in as the caller.")
	huma.Register(api, begin.Operation(api), func(ctx context.Context, in *ProviderPath) (*startedLinkReply, error) {
		org, err := v1.OrgID(in.OrgID)
		if err != nil {
			return nil, begin.Fail(ctx, err)
		}
		started, err := links.Begin(ctx, org, in.Provider)
		if err != nil {
			return nil, begin.Fail(ctx, err)
		}
		return &startedLinkReply{
			SetCookie: door.Cookies.New(browser.Link, started.Cookie, identity.StateLife).String(),
			Body:      startedLinkBody{started.AuthorizationURL},
		}, nil
	})
	v1.AddIn(api, group.With("DELETE", base+"/{provider}/link", "deleteProviderLink", "Unlink the caller from a provider").
		Describe("Revokes the access at the provider, too, if the provider allows that."),
		func(ctx context.Context, org catalog.OrgID, in *ProviderPath) (v1.Empty, error) {
			return v1.Empty{}, links.Unlink(ctx, org, in.Provider)
		})
	v1.AddIn(api, group.With("GET", "/v1/organisations/{org_id}/provider-links", "listProviderLinks", "List the caller's links to providers"),
		func(ctx context.Context, org catalog.OrgID, _ *v1.OrgPath) (providerLinkList, error) {
			list, err := links.List(ctx, org)
			return providerLinkList{v1.Map(list, providerLinkOf)}, err
		})

	callback := group.With("GET", identity.LinkCallbackPath, "providerLinkCallback", "End a link to a provider").
		Describe("The provider leads the browser here. Needs no credential, but the browser in which the link was started. Browsers get " +
			"pages.")
	callback.Open = true
	op := callback.Operation(api)
	op.SkipValidateParams = true // providers add parameters of their own
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[providerLink](), true, "ProviderLink")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *linkCallbackInput) (*huma.StreamResponse, error) {
		link, err := links.Finish(ctx, identity.LinkCallback{
			State: in.State, Code: in.Code, Issuer: in.Iss, Error: in.Error,
			Cookie: door.Cookies.Read(in.request, browser.Link), Browser: door.Cookies.Read(in.request, browser.SignedIn),
		}, door.origin(in.request))
		if err != nil {
			return door.fail(ctx, callback, in.request, err, "")
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.AppendHeader("Set-Cookie", door.Cookies.Delete(browser.Link).String())
			if browser.Navigates(in.request) {
				show(ctx, door.Screens.Linked())
				return
			}
			ctx.SetHeader("Cache-Control", "no-store")
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_ = json.NewEncoder(ctx.BodyWriter()).Encode(providerLinkOf(link)) // the client may have disconnected
		}}, nil
	})
}
