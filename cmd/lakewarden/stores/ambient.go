package stores

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/objstore"
	azurestore "github.com/lakewarden/lakewarden/engine/objstore/azure"
	s3store "github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// ambientStorage decides where the server's own identity is used in place of a credential.
type ambientStorage struct {
	patterns kind.AmbientPatterns
	store    catalog.Organisations
}

// allows reports whether the operator allows a use of an organisation.
func (a ambientStorage) allows(ctx context.Context, org catalog.OrgID, use kind.AmbientUse) (bool, error) {
	if len(a.patterns) == 0 {
		return false, nil
	}
	first, err := a.store.FirstOrganisation(authz.System(ctx, "ambient storage"))
	return err == nil && a.patterns.Allow(use, string(org), first == org), err
}

// check refuses to open a configuration whose use the operator no longer allows.
func (a ambientStorage) check(ctx context.Context, config catalog.StorageConfig, access kind.Access) error {
	record, err := access.Record()
	if err != nil || record.Ambient == nil {
		return err
	}
	allowed, err := a.allows(ctx, config.Org, *record.Ambient)
	if err == nil && !allowed {
		err = fmt.Errorf("%w: ambient_storage does not allow configuration %s", objstore.ErrDenied, config.ID)
	}
	return err
}

// awsMachine returns the identity of this machine at AWS, which the platform describes in the
// environment.
func awsMachine() s3store.Machine {
	m := s3store.Machine{
		TokenFile: os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), RoleARN: os.Getenv("AWS_ROLE_ARN"), STS: os.Getenv("AWS_ENDPOINT_URL_STS"),
		ContainerURL:   os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		ContainerToken: os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN"), ContainerTokenFile: os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		Metadata: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
	}
	if path := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		m.ContainerURL = "http://169.254.170.2" + path
	}
	return m
}

// azureIdentity returns the hosts that issue tokens for Azure, given the operator's identity service.
// App Service and Kubernetes tell in the environment where they issue those of the machine; elsewhere
// the instance metadata service does.
func azureIdentity(authority string) azurestore.Identity {
	return azurestore.Identity{
		Authority: authority,
		Endpoint:  cmp.Or(os.Getenv("IDENTITY_ENDPOINT"), "http://169.254.169.254/metadata/identity/oauth2/token"),
		Header:    os.Getenv("IDENTITY_HEADER"),
		Workload: azurestore.WorkloadIdentity{
			TenantID: os.Getenv("AZURE_TENANT_ID"), ClientID: os.Getenv("AZURE_CLIENT_ID"), TokenFile: os.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
			Authority: os.Getenv("AZURE_AUTHORITY_HOST"),
		},
	}
}
