package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type ssoBody struct {
	Issuer          string            `json:"issuer" minLength:"1" maxLength:"2048" doc:"Exact issuer of the identity provider; its discovery document is read before anything is stored"`
	ClientID        string            `json:"clientId" minLength:"1" maxLength:"512"`
	ClientSecret    string            `json:"clientSecret,omitempty" maxLength:"4096" doc:"Never shown again. Required for a new issuer; otherwise the stored one remains."`
	Domains         []string          `json:"domains" maxItems:"100" doc:"E-mail domains of the organisation. People sign in here by their addresses once a domain is verified."`
	DefaultRole     string            `json:"defaultRole" enum:"viewer,editor,builder,admin" doc:"Role of new members whose claims name none"`
	MaxRole         string            `json:"maxRole,omitempty" enum:"viewer,editor,builder,admin" doc:"Strongest role that claims can give. Default: the default role."`
	RoleClaim       string            `json:"roleClaim,omitempty" maxLength:"128" doc:"Claim with a role or a list of roles. It sets the role at each sign-in; without a role in it, the default role counts."`
	AttributeClaims map[string]string `json:"attributeClaims,omitempty" doc:"Policy attributes and the claims that set them at each sign-in. Other attributes stay."`
	DryRun          bool              `json:"dry_run,omitempty" doc:"Check everything and store nothing"`
}

type putSSOInput struct {
	v1.OrgPath
	Body ssoBody
}

// SSO is the identity provider of an organisation.
type SSO struct {
	Issuer          string            `json:"issuer"`
	ClientID        string            `json:"clientId"`
	DefaultRole     string            `json:"defaultRole" enum:"viewer,editor,builder,admin"`
	MaxRole         string            `json:"maxRole" enum:"viewer,editor,builder,admin"`
	RoleClaim       *string           `json:"roleClaim"`
	AttributeClaims map[string]string `json:"attributeClaims"`
	Domains         []EmailDomain     `json:"domains"`
	CreatedAt       *string           `json:"createdAt"`
	UpdatedAt       *string           `json:"updatedAt"`
}

// EmailDomain is an e-mail domain of an organisation.
type EmailDomain struct {
	Domain     string        `json:"domain"`
	Verified   bool          `json:"verified"`
	Method     *string       `json:"method" doc:"How the domain was verified: dns or operator"`
	Record     *DomainRecord `json:"record,omitempty" doc:"The TXT record that verifies the domain; absent for a new domain in a dry run"`
	VerifiedAt *string       `json:"verifiedAt"`
	CheckedAt  *string       `json:"checkedAt" doc:"Last look-up of the record"`
	FailedAt   *string       `json:"failedAt" doc:"Since when the record has been missing. After seven days the domain is no longer verified."`
}

// DomainRecord is a TXT record.
type DomainRecord struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func ssoOf(s identity.SSOStatus) SSO {
	claims := s.AttributeClaims
	if claims == nil {
		claims = map[string]string{}
	}
	return SSO{
		Issuer: s.Issuer, ClientID: s.ClientID, DefaultRole: string(s.DefaultRole), MaxRole: string(s.MaxRole),
		RoleClaim: v1.Pointer(s.RoleClaim), AttributeClaims: claims, Domains: v1.Map(s.Domains, emailDomainOf),
		CreatedAt: v1.Timestamp(s.CreatedAt), UpdatedAt: v1.Timestamp(s.UpdatedAt),
	}
}

func emailDomainOf(d catalog.EmailDomain) EmailDomain {
	out := EmailDomain{
		Domain: d.Domain, Verified: d.Verified(), Method: v1.Pointer(d.Method), VerifiedAt: v1.Timestamp(d.VerifiedAt),
		CheckedAt: v1.Timestamp(d.CheckedAt), FailedAt: v1.Timestamp(d.FailedAt),
	}
	if d.Challenge != "" {
		name, value := identity.DomainRecord(d)
		out.Record = &DomainRecord{Name: name, Value: value}
	}
	return out
}

type domainInput struct {
	v1.OrgPath
	Domain string `path:"domain" maxLength:"253"`
}

// SSOSettingRoutes registers the routes of an organisation's identity provider and e-mail
// domains.
func SSOSettingRoutes(api huma.API, settings identity.SSOSettings) {
	const path = "/v1/organisations/{org_id}/sso"
	group := v1.Route{Tag: "Single sign-on", Scope: auth.ScopeOrgUpdate, Camel: true}
	v1.AddIn(api, group.With("PUT", path, "putSso", "Set up single sign-on").
		Describe("The roles must not exceed the caller's, and the credential needs every scope of the caller's role. Sign-ins by "+
			"another provider, by another client and by domains that are no longer listed end; any other change "+
			"ends none."),
		func(ctx context.Context, org catalog.OrgID, in *putSSOInput) (SSO, error) {
			status, err := settings.Put(ctx, org, identity.NewSSO{
				Issuer: in.Body.Issuer, ClientID: in.Body.ClientID, ClientSecret: in.Body.ClientSecret, Domains: in.Body.Domains,
				DefaultRole: catalog.Role(in.Body.DefaultRole), MaxRole: catalog.Role(in.Body.MaxRole), RoleClaim: in.Body.RoleClaim,
				AttributeClaims: in.Body.AttributeClaims, DryRun: in.Body.DryRun,
			})
			return ssoOf(status), err
		})
	v1.AddIn(api, group.With("GET", path, "getSso", "Get the single sign-on of an organisation").
		Describe("The client secret is not returned."),
		func(ctx context.Context, org catalog.OrgID, _ *v1.OrgPath) (SSO, error) {
			status, err := settings.Get(ctx, org)
			return ssoOf(status), err
		})
	v1.AddIn(api, group.With("DELETE", path, "deleteSso", "Remove the single sign-on of an organisation").
		Describe("Its sign-ins end, and its domains are free."),
		func(ctx context.Context, org catalog.OrgID, _ *v1.OrgPath) (v1.Empty, error) {
			return v1.Empty{}, settings.Delete(ctx, org)
		})
	v1.AddIn(api, group.With("POST", path+"/domains/{domain}/verify", "verifyDomain", "Verify an e-mail domain").
		Describe("Looks up the TXT record of the domain now. It is looked up again every day."),
		func(ctx context.Context, org catalog.OrgID, in *domainInput) (EmailDomain, error) {
			d, err := settings.VerifyDomain(ctx, org, in.Domain)
			return emailDomainOf(d), err
		})
}
