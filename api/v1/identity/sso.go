package identity

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/api/problem"
	v1 "github.com/lakewarden/lakewarden/api/v1"
)

type loginInput struct {
	Body struct {
		Email string `json:"email" minLength:"1" maxLength:"254"`
	}
}

type loginBody struct {
	AuthorizationURL string `json:"authorizationUrl" doc:"Where the person signs in: at the provider of the address's domain, or at the server's own page"`
}

type loginReply struct {
	SetCookie string `header:"Set-Cookie" doc:"Binds the sign-in to the browser, which must send it to the callback"`
	Body      loginBody
}

type callbackInput struct {
	Incoming
	State string `query:"state" maxLength:"256"`
	Code  string `query:"code" maxLength:"4096"`
	Iss   string `query:"iss" maxLength:"1024"`
	Error string `query:"error" maxLength:"256"`
}

// Tokens is the reply that holds [identity.SSOSignIn.Tokens].
type Tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in" doc:"Life of the access token in seconds"`
	Scope        string `json:"scope" doc:"Scopes of the access token, separated by spaces"`
}

type logoutReply struct {
	LogoutURL string `json:"logoutUrl,omitempty" doc:"Where the person also ends the session at the identity provider"`
}

// SSORoutes registers the routes of sign-ins by single sign-on.
func SSORoutes(api huma.API, sso identity.SSO, logout identity.SSOLogout, door Door) {
	group := v1.Route{Tag: "Single sign-on", Camel: true}
	open := group
	open.Open = true
	login := open.With("POST", "/v1/auth/sso/login", "ssoLogin", "Begin a sign-in").
		Describe("Needs no credential. The reply does not depend on whether the address is known.")
	huma.Register(api, login.Operation(api), func(ctx context.Context, in *loginInput) (*loginReply, error) {
		authorizationURL, err := sso.Begin(ctx, in.Body.Email)
		if err != nil {
			return nil, login.Fail(ctx, err)
		}
		bound := door.Cookies.New(browser.State, identity.StateOf(authorizationURL), identity.StateLife)
		return &loginReply{SetCookie: bound.String(), Body: loginBody{authorizationURL}}, nil
	})
	registerCallback(api, open.With("GET", identity.SSOCallbackPath, "ssoCallback", "End a sign-in").
		Describe("The identity provider, or the server's own sign-in page, leads the browser here. Redirects (303) to the authorization "+
			"request that started the sign-in, or to the page where the member with the address confirms it, or returns tokens. Browsers get "+
			"refusals as pages."),
		sso, door)
	registerBackchannel(api, open.With("POST", "/v1/auth/sso/backchannel-logout", "ssoBackchannelLogout",
		"End sessions at the request of a provider").Describe("OpenID Connect Back-Channel Logout: a form with logout_token."), logout, door)
	group.Orgless = true
	v1.Add(api, group.With("POST", "/v1/auth/logout", "logout", "Sign out").
		Describe("Ends the session that the access token belongs to."),
		func(ctx context.Context, _ *v1.NoInput) (logoutReply, error) {
			logoutURL, err := logout.SignOut(ctx)
			return logoutReply{LogoutURL: logoutURL}, err
		})
}

func registerCallback(api huma.API, rt v1.Route, sso identity.SSO, door Door) {
	op := rt.Operation(api)
	op.SkipValidateParams = true // providers add parameters of their own
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Tokens](), true, "Tokens")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *callbackInput) (*huma.StreamResponse, error) {
		done, err := sso.Finish(ctx, identity.Callback{
			State: in.State, Cookie: door.Cookies.Read(in.request, browser.State), Code: in.Code, Issuer: in.Iss, Error: in.Error,
			Browser: door.Cookies.Read(in.request, browser.SignedIn),
		}, door.origin(in.request))
		var unconfirmed *identity.ConfirmationError
		if errors.As(err, &unconfirmed) {
			return &huma.StreamResponse{Body: func(ctx huma.Context) {
				ctx.AppendHeader("Set-Cookie", door.Cookies.Delete(browser.State).String())
				ctx.AppendHeader("Set-Cookie", door.Cookies.New(browser.Proposal, unconfirmed.Proposal, binding.ProposalLife).String())
				ctx.SetHeader("Cache-Control", "no-store")
				ctx.SetHeader("Location", identity.ConfirmPath)
				ctx.SetStatus(http.StatusSeeOther)
			}}, nil
		}
		if err == nil && done.ReturnTo != "" {
			err = sso.Began(ctx, door.Cookies.Read(in.request, browser.SignedIn), done.Session)
		}
		if err != nil {
			return door.fail(ctx, rt, in.request, err, identity.SignInPath)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.AppendHeader("Set-Cookie", door.Cookies.Delete(browser.State).String())
			ctx.SetHeader("Cache-Control", "no-store")
			if done.ReturnTo != "" {
				ctx.AppendHeader("Set-Cookie", door.Cookies.New(browser.SignedIn, done.Browser, 0).String())
				ctx.SetHeader("Location", done.ReturnTo)
				ctx.SetStatus(http.StatusSeeOther)
				return
			}
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_ = json.NewEncoder(ctx.BodyWriter()).Encode(Tokens(done.Tokens)) // the client may have disconnected
		}}, nil
	})
}

// maxLogoutForm bounds the form of a logout.
const maxLogoutForm = 64 << 10

type backchannelInput struct{ Incoming }

func registerBackchannel(api huma.API, rt v1.Route, logout identity.SSOLogout, door Door) {
	op := rt.Operation(api)
	huma.Register(api, op, func(ctx context.Context, in *backchannelInput) (*v1.Reply[v1.Empty], error) {
		token, err := logoutToken(in.request)
		if err == nil {
			err = logout.Backchannel(ctx, token, door.origin(in.request))
		}
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &v1.Reply[v1.Empty]{}, nil
	})
	// Set after registration: the framework reads bodies that are described.
	api.OpenAPI().Paths[op.Path].Post.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{formMedia: {
		Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"logout_token"},
			Properties: map[string]*huma.Schema{"logout_token": {Type: huma.TypeString}}}}}}
}

const formMedia = "application/x-www-form-urlencoded"

// logoutToken reads the one logout token of a form.
func logoutToken(r *http.Request) (string, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != formMedia {
		return "", &problem.Refusal{Code: "unsupported_media_type", Details: []problem.Detail{
			{Field: "Content-Type", Message: "must be " + formMedia}}}
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxLogoutForm))
	form, parseErr := url.ParseQuery(string(text))
	if err != nil || parseErr != nil || len(form["logout_token"]) != 1 {
		return "", &problem.Refusal{Code: "invalid_body", Details: []problem.Detail{{Field: "logout_token", Message: "must be given once"}}}
	}
	return form.Get("logout_token"), nil
}
