package storages

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/storage"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

// rotateInput is a rotation with a body of one kind.
type rotateInput[B credentialBody] struct {
	ConfigPath
	DryRun bool `query:"dry_run" doc:"Try the credential out and change nothing; also in the body"`
	Body   *B   // optional, so that the reply names the missing fields
}

// credentialBody is the body of a rotation.
type credentialBody interface {
	// parts returns the credential and the other fields.
	parts() (credential any, terms RotationTerms)
}

// RotationTerms are the fields of a rotation that every kind has.
type RotationTerms struct {
	ExpiresAt *v1.Instant `json:"expiresAt,omitempty" doc:"When the credential ends, for the record"`
	DryRun    bool        `json:"dry_run,omitempty"`
}

type s3Rotation struct {
	S3Secret
	AmbientSecret
	RotationTerms
}

func (b s3Rotation) parts() (any, RotationTerms) {
	return struct {
		S3Secret
		AmbientSecret
	}{b.S3Secret, b.AmbientSecret}, b.RotationTerms
}

type gcsRotation struct {
	GCSSecret
	AmbientSecret
	RotationTerms
}

func (b gcsRotation) parts() (any, RotationTerms) {
	return struct {
		GCSSecret
		AmbientSecret
	}{b.GCSSecret, b.AmbientSecret}, b.RotationTerms
}

type azureRotation struct {
	AzureSecret
	AmbientSecret
	RotationTerms
}

func (b azureRotation) parts() (any, RotationTerms) {
	return struct {
		AzureSecret
		AmbientSecret
	}{b.AzureSecret, b.AmbientSecret}, b.RotationTerms
}

func (in *rotateInput[B]) rotation(kind string) (storage.Rotation, error) {
	r := storage.Rotation{Kind: kind, DryRun: in.DryRun}
	if in.Body == nil {
		return r, nil
	}
	credential, terms := (*in.Body).parts()
	var err error
	r.Credential, err = fieldsOf(credential)
	r.ExpiresAt, r.DryRun = terms.ExpiresAt.Pointer(), r.DryRun || terms.DryRun
	return r, err
}

type rotated struct {
	ConfigID            string         `json:"configId" format:"uuid"`
	ConfigName          string         `json:"configName"`
	Message             string         `json:"message"`
	AuthMode            *string        `json:"authMode"`
	CredentialExpiresAt *string        `json:"credentialExpiresAt"`
	Valid               bool           `json:"valid"`
	Checks              []storageCheck `json:"checks"`
}

// CredentialRoutes registers the rotation of stored credentials.
func CredentialRoutes(api huma.API, configs storage.Configs) {
	addRotation[s3Rotation](api, configs, "s3", "s3", "rotateS3Credential", "an s3")
	addRotation[gcsRotation](api, configs, "gcs", "gcs", "rotateGCSCredential", "a gcs")
	addRotation[azureRotation](api, configs, "azure", "azure", "rotateAzureCredential", "an azure")
	// The paths by which the two kinds are known elsewhere.
	addRotation[gcsRotation](api, configs, "kind_a", "gcs", "rotateKindACredential", "a gcs")
	addRotation[azureRotation](api, configs, "kind_b", "azure", "rotateKindBCredential", "an azure")
}

// addRotation registers the rotation of one kind below the last segment of a path.
func addRotation[B credentialBody](api huma.API, configs storage.Configs, segment, kind, id, article string) {
	rotate := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageConfigure, Camel: true, Local: true}
	v1.Add(api, rotate.With("PUT", "/v1/storages/configs/{config_id}/credentials/"+segment, id,
		"Rotate the credential of "+article+" configuration").
		Describe("The new credential is tried out first, as by validate; one that the store refuses changes nothing. "+
			"Location and settings stay. In a workspace it also needs storage_configs:share."),
		func(ctx context.Context, in *rotateInput[B]) (rotated, error) {
			id, err := in.id()
			if err != nil {
				return rotated{}, err
			}
			rotation, err := in.rotation(kind)
			if err != nil {
				return rotated{}, err
			}
			config, report, err := configs.Rotate(ctx, id, rotation)
			if err != nil {
				return rotated{}, err
			}
			message := "The new credential is in use."
			switch {
			case rotation.DryRun && report.OK():
				message = "The credential was accepted; nothing was changed."
			case rotation.DryRun:
				message = "The credential does not pass every check; nothing was changed."
			}
			tried := validationOf(report)
			return rotated{
				ConfigID: string(config.ID), ConfigName: config.Name, Message: message, AuthMode: v1.Pointer(config.AuthMode),
				CredentialExpiresAt: v1.Timestamp(config.CredentialExpiresAt), Valid: tried.Valid, Checks: tried.Checks,
			}, nil
		})
}
