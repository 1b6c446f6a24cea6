package oauth2

import (
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
)

// metadata describes the authorization server: RFC 8414, and OpenID Connect Discovery 1.0.
type metadata struct {
	Issuer                   string   `json:"issuer"`
	AuthorizationEndpoint    string   `json:"authorization_endpoint"`
	TokenEndpoint            string   `json:"token_endpoint"`
	JWKSURI                  string   `json:"jwks_uri"`
	RegistrationEndpoint     string   `json:"registration_endpoint"`
	RevocationEndpoint       string   `json:"revocation_endpoint"`
	IntrospectionEndpoint    string   `json:"introspection_endpoint"`
	UserInfoEndpoint         string   `json:"userinfo_endpoint"`
	ScopesSupported          []string `json:"scopes_supported"`
	ResponseTypesSupported   []string `json:"response_types_supported"`
	ResponseModesSupported   []string `json:"response_modes_supported"`
	GrantTypesSupported      []string `json:"grant_types_supported"`
	TokenAuthMethods         []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods    []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectionAuthMethods []string `json:"introspection_endpoint_auth_methods_supported"`
	ChallengeMethods         []string `json:"code_challenge_methods_supported"`
	SubjectTypes             []string `json:"subject_types_supported"`
	SigningAlgorithms        []string `json:"id_token_signing_alg_values_supported"`
	ClaimTypes               []string `json:"claim_types_supported"`
	Claims                   []string `json:"claims_supported"`
	PromptValues             []string `json:"prompt_values_supported"`
	IssParameter             bool     `json:"authorization_response_iss_parameter_supported"`
	RequestParameter         bool     `json:"request_parameter_supported"`
	RequestURIParameter      bool     `json:"request_uri_parameter_supported"`
	ClaimsParameter          bool     `json:"claims_parameter_supported"`
	ClientDocuments          bool     `json:"client_id_metadata_document_supported,omitempty"`
}

func (s Server) metadata() metadata {
	secrets := []string{"client_secret_basic", "client_secret_post"}
	orNone := append(secrets, "none")
	return metadata{
		Issuer: s.Issuer, AuthorizationEndpoint: s.Issuer + identity.AuthorizePath, TokenEndpoint: s.Issuer + tokenPath,
		JWKSURI: s.Issuer + keysPath, RegistrationEndpoint: s.Issuer + registerPath, RevocationEndpoint: s.Issuer + revokePath,
		IntrospectionEndpoint: s.Issuer + introspectPath, UserInfoEndpoint: s.Issuer + userInfoPath,
		ScopesSupported:        append([]string{oauth.ScopeOpenID}, auth.AllScopes().Strings()...),
		ResponseTypesSupported: []string{"code"}, ResponseModesSupported: []string{"query"},
		GrantTypesSupported: []string{"authorization_code", "refresh_token", "client_credentials"},
		TokenAuthMethods:    orNone, RevocationAuthMethods: orNone, IntrospectionAuthMethods: secrets,
		ChallengeMethods: []string{"S256"}, SubjectTypes: []string{"public"}, SigningAlgorithms: []string{"ES256"},
		ClaimTypes: []string{"normal"}, Claims: oauth.Claims(),
		PromptValues: oauth.Prompts(), IssParameter: true, ClientDocuments: s.Registration.Open != nil,
	}
}

// resource describes the server as a protected resource (RFC 9728).
type resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

func (s Server) resource() resource {
	return resource{Resource: s.Issuer, AuthorizationServers: []string{s.Issuer}, ScopesSupported: auth.AllScopes().Strings(),
		BearerMethods: []string{"header"}, Name: "Lakewarden"}
}
