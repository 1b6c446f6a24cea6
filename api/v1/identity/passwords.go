package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type recoverMemberInput struct {
	v1.OrgPath
	Body struct {
		Email string `json:"email" maxLength:"254" doc:"Address of a member"`
	}
}

type recoverInput struct {
	Incoming
	Body struct {
		Email string `json:"email" maxLength:"254" doc:"Address of an account"`
	}
}

type changePasswordInput struct {
	Body struct {
		Current string `json:"current" maxLength:"1024"`
		New     string `json:"new" maxLength:"1024" doc:"At least 12 characters and at most 256 bytes; not the e-mail address, and not a common password"`
	}
}

// PasswordRoutes registers the routes of passwords and their recovery.
func PasswordRoutes(api huma.API, recovery identity.Recovery, passwords identity.Passwords, door Door) {
	v1.AddIn(api, v1.Route{Method: "POST", Path: "/v1/organisations/{org_id}/recover", ID: "recoverUser", Tag: "Users",
		Scope: auth.ScopeUsersWrite, Camel: true, Summary: "Send a member a link to set a new password",
		Description: "The reply is the same for every address. The e-mail follows if the address is that of a member " +
			"to whom a password is of use."},
		func(ctx context.Context, org catalog.OrgID, in *recoverMemberInput) (v1.Empty, error) {
			return v1.Empty{}, recovery.RequestFor(ctx, org, in.Body.Email)
		})
	v1.Add(api, v1.Route{Method: "POST", Path: "/v1/auth/recover", ID: "recover", Tag: "Sign-in", Open: true, Camel: true,
		Summary: "Send a link to set a new password",
		Description: "The reply is the same for every address. The e-mail follows if the address is that of an account " +
			"to which a password is of use."},
		func(ctx context.Context, in *recoverInput) (v1.Empty, error) {
			return v1.Empty{}, recovery.Request(ctx, in.Body.Email, door.origin(in.request))
		})
	v1.Add(api, v1.Route{Method: "PUT", Path: "/v1/me/password", ID: "changeMyPassword", Tag: "Users", Orgless: true, Camel: true,
		Summary:     "Change the caller's own password",
		Description: "For signed-in people. All other sessions of the person end."},
		func(ctx context.Context, in *changePasswordInput) (v1.Empty, error) {
			return v1.Empty{}, passwords.Change(ctx, in.Body.Current, in.Body.New)
		})
}
