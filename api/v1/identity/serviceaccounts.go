package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/program"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/api/v1/organisations"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

const accountsBase = "/v1/organisations/{org_id}/service-accounts"

type serviceAccount struct {
	ID        string   `json:"id" format:"uuid" doc:"The user id, for the routes of roles, attributes and workspaces"`
	Name      string   `json:"name"`
	Role      string   `json:"role" enum:"viewer,editor,builder,admin"`
	ClientID  string   `json:"clientId" format:"uuid"`
	Scopes    []string `json:"scopes" nullable:"false" doc:"Granular scopes, which bound those of the account's tokens"`
	CreatedBy string   `json:"createdBy" format:"uuid"`
	Version   int64    `json:"version"`
	CreatedAt *string  `json:"createdAt"`
	UpdatedAt *string  `json:"updatedAt"`
	Ends
}

// Ends says when a client, or that of a service account, ends with the API key that made it.
type Ends struct {
	EndsAt       *string `json:"endsAt" doc:"When it ends with the API key that it was made with; null if it does not"`
	SecretEndsAt *string `json:"secretEndsAt" doc:"When its secret ends with the API key that the secret was made with; null if it does not"`
}

func accountOf(a catalog.ServiceAccount) serviceAccount {
	return serviceAccount{ID: string(a.ID), Name: a.Name, Role: string(a.Role), ClientID: string(a.Client), Scopes: a.Scopes,
		CreatedBy: string(a.CreatedBy), Version: a.Version, CreatedAt: v1.Timestamp(a.CreatedAt), UpdatedAt: v1.Timestamp(a.UpdatedAt),
		Ends: Ends{v1.Timestamp(a.EndsAt), v1.Timestamp(a.SecretEndsAt)}}
}

type accountReply struct {
	ServiceAccount serviceAccount `json:"serviceAccount"`
	ClientID       string         `json:"clientId" format:"uuid"`
	ClientSecret   string         `json:"clientSecret" doc:"Shown this once"`
}

func accountReplyOf(a catalog.ServiceAccount, secret string) accountReply {
	return accountReply{ServiceAccount: accountOf(a), ClientID: string(a.Client), ClientSecret: secret}
}

// AccountPath holds the path parameters of a service account.
type AccountPath struct {
	v1.OrgPath
	AccountID string `path:"account_id" format:"uuid"`
}

// IDs parses the path parameters.
func (in AccountPath) IDs() (catalog.OrgID, catalog.UserID, error) {
	org, err := v1.OrgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.UserID](in.AccountID)
	return org, id, err
}

type createAccountInput struct {
	v1.OrgPath
	Body struct {
		Name   string   `json:"name" minLength:"1" maxLength:"100"`
		Role   string   `json:"role" enum:"viewer,editor,builder,admin"`
		Scopes []string `json:"scopes,omitempty" nullable:"true" maxItems:"100" doc:"Presets read, write, admin, or granular scopes, no wider than the caller's. Default: those of the role."`
	}
}

type patchAccountInput struct {
	AccountPath
	Body struct {
		ExpectedVersion int64     `json:"expectedVersion,omitempty" minimum:"1" doc:"Refuse the change if the account has another version"`
		Name            *string   `json:"name,omitempty" nullable:"true" minLength:"1" maxLength:"100"`
		Scopes          *[]string `json:"scopes,omitempty" nullable:"true" minItems:"1" maxItems:"100" doc:"No wider than the caller's. If the account loses a scope, its tokens end."`
	}
}

type listAccountsInput struct {
	v1.OrgPath
	v1.Page
}

type accountList struct {
	ServiceAccounts []serviceAccount `json:"serviceAccounts" nullable:"false"`
	NextPageToken   string           `json:"nextPageToken,omitempty"`
}

type createAccountKeyInput struct {
	AccountPath
	Body organisations.NewKeyBody
}

// ServiceAccountRoutes registers the routes of service accounts.
func ServiceAccountRoutes(api huma.API, accounts program.ServiceAccounts) {
	group := v1.Route{Tag: "Service accounts", Scope: auth.ScopeUsersWrite, Camel: true}
	v1.AddIn(api, group.With("POST", accountsBase, "createServiceAccount", "Create a service account").As201().Describe(
		"A service account is a member for a program, which gets tokens by the OAuth grant client_credentials. Policies apply to it as to "+
			"every member."),
		func(ctx context.Context, org catalog.OrgID, in *createAccountInput) (accountReply, error) {
			created, secret, err := accounts.Create(ctx, org, program.NewServiceAccount{Name: in.Body.Name, Role: catalog.Role(in.Body.Role),
				Scopes: in.Body.Scopes})
			return accountReplyOf(created, secret), err
		})
	v1.AddIn(api, group.With("GET", accountsBase, "listServiceAccounts", "List service accounts"),
		func(ctx context.Context, org catalog.OrgID, in *listAccountsInput) (accountList, error) {
			list, err := accounts.List(ctx, org, in.Page.Catalog())
			return accountList{ServiceAccounts: v1.Map(list.Items, accountOf), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, group.With("GET", accountsBase+"/{account_id}", "getServiceAccount", "Get a service account"),
		func(ctx context.Context, org catalog.OrgID, id catalog.UserID, _ *AccountPath) (serviceAccount, error) {
			found, err := accounts.Get(ctx, org, id)
			return accountOf(found), err
		})
	v1.AddOne(api, group.With("PATCH", accountsBase+"/{account_id}", "updateServiceAccount", "Update a service account").Describe(
		"Its role, attributes and workspaces are changed by the routes of members."),
		func(ctx context.Context, org catalog.OrgID, id catalog.UserID, in *patchAccountInput) (serviceAccount, error) {
			updated, err := accounts.Update(ctx, org, id, in.Body.ExpectedVersion, in.Body.Name, in.Body.Scopes)
			return accountOf(updated), err
		})
	v1.AddOne(api, group.With("DELETE", accountsBase+"/{account_id}", "deleteServiceAccount", "Delete a service account").Describe(
		"Its tokens end and its keys are revoked, on every replica within a second."),
		func(ctx context.Context, org catalog.OrgID, id catalog.UserID, _ *AccountPath) (v1.Empty, error) {
			return v1.Empty{}, accounts.Delete(ctx, org, id)
		})
	v1.AddOne(api, group.With("POST", accountsBase+"/{account_id}/rotate-secret", "rotateServiceAccountSecret",
		"Replace the secret of a service account").Describe("The old secret stops working at once."),
		func(ctx context.Context, org catalog.OrgID, id catalog.UserID, in *rotateAccountInput) (accountReply, error) {
			changed, secret, err := accounts.RotateSecret(ctx, org, id, in.grace())
			return accountReplyOf(changed, secret), err
		})
	addAccountKeyRoute(api, accounts)
}

type rotateAccountInput struct {
	AccountPath
	rotation
}

func addAccountKeyRoute(api huma.API, accounts program.ServiceAccounts) {
	v1.AddOne(api, v1.Route{Method: "POST", Path: accountsBase + "/{account_id}/api-keys", ID: "createServiceAccountApiKey",
		Tag: "Service accounts", Scope: auth.ScopeUsersWrite, Created: true, Summary: "Create an API key of a service account",
		Description: "The key acts as the account. It has no more scopes than the caller and the account's role. The routes of API keys " +
			"list and revoke it."},
		func(ctx context.Context, org catalog.OrgID, id catalog.UserID, in *createAccountKeyInput) (organisations.KeyReply, error) {
			key, record, err := accounts.CreateKey(ctx, org, id, in.Body.New())
			if err != nil {
				return organisations.KeyReply{}, err
			}
			return organisations.KeyReplyOf(key.Reveal(), record), nil
		})
}
