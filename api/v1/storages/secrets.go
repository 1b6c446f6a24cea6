package storages

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// AmbientSecret is the server's own identity in place of a credential.
type AmbientSecret struct {
	Credential string `json:"credential,omitempty" enum:"ambient" doc:"The server's own identity, where the operator allows it"`
}

// S3Secret is an S3 credential. It occurs in requests only, as do the other credentials.
type S3Secret struct {
	AccessKeyID     string `json:"accessKeyId,omitempty" maxLength:"256" doc:"kind s3"`
	SecretAccessKey string `json:"secretAccessKey,omitempty" maxLength:"1024" writeOnly:"true" doc:"kind s3; never returned"`
	SessionToken    string `json:"sessionToken,omitempty" maxLength:"16384" writeOnly:"true" doc:"kind s3: of a temporary key; never returned"`
	RoleARN         string `json:"roleArn,omitempty" maxLength:"1024" doc:"kind s3: a role to assume with the key"`
}

// GCSSecret is a credential of Google Cloud Storage.
type GCSSecret struct {
	ServiceAccountKey string `json:"serviceAccountKey,omitempty" maxLength:"16384" writeOnly:"true" doc:"kind gcs: a JSON key file"`
}

// AzureSecret is a credential of Azure Blob Storage: exactly one of its fields.
type AzureSecret struct {
	AccountKey       string            `json:"accountKey,omitempty" maxLength:"1024" writeOnly:"true" doc:"kind azure: an access key"`
	SASToken         string            `json:"sasToken,omitempty" maxLength:"4096" writeOnly:"true" doc:"kind azure"`
	ServicePrincipal *ServicePrincipal `json:"servicePrincipal,omitempty" writeOnly:"true" doc:"kind azure"`
	ManagedIdentity  *ManagedIdentity  `json:"managedIdentity,omitempty" doc:"kind azure: where the operator allows it"`
}

// ServicePrincipal is an application of Microsoft Entra ID.
type ServicePrincipal struct {
	TenantID     string `json:"tenantId,omitempty" maxLength:"253"`
	ClientID     string `json:"clientId,omitempty" maxLength:"64"`
	ClientSecret string `json:"clientSecret,omitempty" maxLength:"1024" writeOnly:"true"`
}

// Schema implements huma.SchemaProvider. The schema has no name of its own, because a member
// that may be null cannot refer to a named one.
func (ServicePrincipal) Schema(r huma.Registry) *huma.Schema {
	type fields ServicePrincipal
	return huma.SchemaFromType(r, reflect.TypeFor[fields]())
}

// ManagedIdentity is an identity of the machine on which the server runs.
type ManagedIdentity struct {
	ClientID string `json:"clientId,omitempty" maxLength:"64" doc:"Chooses one of several identities"`
}

// Schema implements huma.SchemaProvider, as that of ServicePrincipal does.
func (ManagedIdentity) Schema(r huma.Registry) *huma.Schema {
	type fields ManagedIdentity
	return huma.SchemaFromType(r, reflect.TypeFor[fields]())
}
