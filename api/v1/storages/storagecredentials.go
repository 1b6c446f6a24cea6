package storages

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

type rotateS3Input struct {
	ConfigPath
	DryRun bool `query:"dry_run" doc:"Try the credential out and change nothing; also in the body"`
	Body   *struct {
		S3Secret
		ExpiresAt *v1.Instant `json:"expiresAt,omitempty" doc:"When the credential ends, for the record"`
		DryRun    bool        `json:"dry_run,omitempty"`
	} // optional, so that the reply names the missing fields
}

func (in *rotateS3Input) rotation() admin.S3Rotation {
	r := admin.S3Rotation{DryRun: in.DryRun}
	if in.Body != nil {
		r.Credential, r.ExpiresAt = in.Body.credential(), in.Body.ExpiresAt.Pointer()
		r.DryRun = r.DryRun || in.Body.DryRun
	}
	return r
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
func CredentialRoutes(api huma.API, configs admin.StorageConfigs) {
	rotate := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageConfigure, Camel: true, Local: true}
	v1.Add(api, rotate.With("PUT", "/v1/storages/configs/{config_id}/credentials/s3", "rotateS3Credential",
		"Rotate the credential of an s3 configuration").
		Describe("The new credential is tried out first, as by validate; one that the store refuses changes nothing. "+
			"Location and settings stay. In a workspace it also needs storage_configs:share."),
		func(ctx context.Context, in *rotateS3Input) (rotated, error) {
			id, err := in.id()
			if err != nil {
				return rotated{}, err
			}
			rotation := in.rotation()
			config, report, err := configs.RotateS3(ctx, id, rotation)
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
