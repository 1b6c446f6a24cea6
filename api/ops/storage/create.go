package storage

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// NewConfig is the input of [Configs.Create].
type NewConfig struct {
	Name string
	Kind string
	// Workspace is empty for a personal configuration.
	Workspace string
	// Root is a directory of kind local: absolute, or relative to the first allowed one.
	Root string
	// Fields is a JSON object with the settings and the credential of another kind. It is
	// empty for kind local.
	Fields kind.Secret
	// ExpiresAt is the end of the credential. It is nil if it is unknown, or if the credential
	// does not expire.
	ExpiresAt *time.Time
}

// localSettings are the stored settings of a local configuration.
type localSettings struct {
	Root string `json:"root"`
}

// Create creates a configuration and discovers its tables. Local storage requires an
// administrator, because it names a directory of the server. Other storage is tested
// first.
func (o Configs) Create(ctx context.Context, in NewConfig) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	workspace, err := o.mayCreate(a, in)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	if workspace != "" {
		if err := feature.Require(ctx, o.Store, a.Org, catalog.FeatureSharing); err != nil {
			return catalog.StorageConfig{}, err
		}
	}
	n := catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: a.Org, Name: in.Name, Kind: catalog.ConfigKind(in.Kind), Workspace: workspace, Owner: a.User,
	}
	if n.Kind == catalog.KindLocal {
		return o.createLocal(ctx, a, n, in.Root)
	}
	return o.createRemote(ctx, a, n, in)
}

func (o Configs) mayCreate(a caller.Identity, in NewConfig) (catalog.WorkspaceID, error) {
	chosen := catalog.ConfigKind(in.Kind)
	_, remote := o.Kinds[in.Kind]
	switch {
	case !chosen.Valid():
		return "", fault.Invalid("kind", "must be one of local, s3, gcs, azure, delegated")
	case chosen != catalog.KindLocal && !remote:
		return "", fault.Invalid("kind", "is not supported by this version")
	case chosen == catalog.KindLocal && a.Role != auth.RoleAdmin:
		return "", &catalog.DeniedError{Reason: "local_storage_needs_admin"}
	case chosen == catalog.KindLocal && in.Root == "":
		return "", fault.Invalid("root", "is required for kind local")
	case chosen == catalog.KindLocal && in.ExpiresAt != nil:
		return "", fault.Invalid("expires_at", noSecretToExpire)
	case chosen == catalog.KindLocal && len(in.Fields) > 0:
		return "", fault.Invalid("kind", "is local, but there are fields of another kind")
	case remote && in.Root != "":
		return "", fault.Invalid("root", "is for kind local only")
	case in.Workspace == "":
		return "", nil
	}
	workspace, err := catalog.ParseID[catalog.WorkspaceID](in.Workspace)
	if err != nil {
		return "", fault.Invalid("workspace_id", "is not a workspace of the caller")
	}
	return workspace, nil
}

func (o Configs) createLocal(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, path string,
) (none catalog.StorageConfig, err error) {
	root, err := o.localRoot(ctx, a, path)
	if err != nil {
		return none, err
	}
	n.Location = catalog.NewLocation("file", root)
	if n.Settings, err = json.Marshal(localSettings{Root: path}); err != nil {
		return none, err
	}
	return o.create(ctx, a, n, "root", func() error {
		if err := os.MkdirAll(root, 0o750); err != nil {
			return fault.Invalid("root", "cannot be made")
		}
		return nil
	})
}

func (o Configs) localRoot(ctx context.Context, a caller.Identity, root string) (string, error) {
	allowed, err := o.LocalRoots(ctx, a.Org)
	if err != nil {
		return "", err
	}
	if len(allowed) == 0 {
		return "", fault.Invalid("root",
			"local storage is not available to this organisation: no folder of LAKEWARDEN_LOCAL_ROOTS has {org} in it")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(allowed[0], root)
	}
	resolved, err := storage.LocalRoots{Allowed: allowed}.Resolve(root, string(a.Org))
	if err != nil {
		return "", fault.Invalid("root", "must be a directory below one of the server's local roots")
	}
	return resolved, nil
}

func (o Configs) createRemote(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, in NewConfig,
) (none catalog.StorageConfig, err error) {
	owned, _ := o.Kinds.For(string(n.Kind), kind.Owner{Org: string(n.Org), User: string(n.Owner)})
	access, err := owned.New(in.Fields)
	if err != nil {
		return none, err
	}
	checked, secret, err := o.checked(ctx, access, n.Org, n.ID, in.ExpiresAt)
	if err != nil {
		return none, err
	}
	at := checked.Location
	n.Location, n.Settings = catalog.NewLocation(at.Scheme, at.Store, at.Container, at.Prefix), checked.Settings
	n.SealedSecret, n.AuthMode, n.CredentialExpiresAt = secret.Sealed, secret.AuthMode, secret.ExpiresAt
	field := checked.Container
	if at.Prefix != "" {
		field = "prefix"
	}
	// The store is tested before the catalog has the configuration, so that a server that is
	// killed in between leaves none that was not tested.
	report, err := probe(ctx, access)
	if err == nil {
		err = probeError(report, checked.Container)
	}
	if err != nil {
		return none, err
	}
	return o.create(ctx, a, n, field, func() error { return nil })
}

// noSecretToExpire is the message about an end of a credential without a secret.
const noSecretToExpire = "is for credentials with a secret only"

// checked checks an access without contacting the store. It returns the record of the
// access, and the credential encrypted for a configuration. expires is the end of the
// credential that a client sent, or nil.
func (o Configs) checked(
	ctx context.Context, access kind.Access, org catalog.OrgID, id catalog.ConfigID, expires *time.Time,
) (record kind.Record, secret catalog.StorageSecret, err error) {
	if err := access.Check(ctx); err != nil {
		return record, secret, err
	}
	if record, err = access.Record(); err != nil {
		return record, secret, err
	}
	if err := o.mayBeAmbient(ctx, org, record); err != nil {
		return record, secret, err
	}
	plain, err := access.Secret()
	if err != nil {
		return record, secret, err
	}
	secret.AuthMode, secret.ExpiresAt = record.Mode, record.ExpiresAt
	switch {
	case expires == nil:
	case record.Ambient != nil, len(plain) == 0:
		return record, secret, fault.Invalid("expires_at", noSecretToExpire)
	case !expires.After(o.Now()):
		return record, secret, fault.Invalid("expires_at", "must be in the future")
	default:
		secret.ExpiresAt = expires.UTC()
	}
	if len(plain) > 0 {
		secret.Sealed, err = o.Seal(org, id, plain)
	}
	return record, secret, err
}

// mayBeAmbient refuses the server's own identity where the operator does not allow it.
func (o Configs) mayBeAmbient(ctx context.Context, org catalog.OrgID, record kind.Record) error {
	if record.Ambient == nil {
		return nil
	}
	refused := kind.Refuse(record.Ambient.Field, "is not allowed by the operator for this "+record.Container)
	if o.Ambient == nil {
		return refused
	}
	allowed, err := o.Ambient(ctx, org, *record.Ambient)
	if err == nil && !allowed {
		err = refused
	}
	return err
}

// create stores a configuration, calls ensure for its location, and discovers its tables.
// If that fails, it removes the configuration. at is the field of the request with the
// location.
func (o Configs) create(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, at string, ensure func() error,
) (catalog.StorageConfig, error) {
	config, err := o.Store.CreateStorageConfig(ctx, n)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return config, fault.Invalid("workspace_id", "is not a workspace of the caller")
	case errors.Is(err, catalog.ErrLocationTaken):
		return config, &locationTakenError{field: at, err: err}
	}
	if err != nil {
		return config, err
	}
	if err = ensure(); err == nil {
		// A table that cannot be read does not prevent the configuration: POST …/discover
		// reports it. A root that cannot be listed does.
		_, err = o.Discovery.discover(ctx, a.Viewer, config, false, nil)
	}
	if err == nil {
		// The discovery has changed the record.
		config, err = o.Store.StorageConfig(ctx, a.Viewer, config.ID)
	}
	if err != nil {
		undo := context.WithoutCancel(ctx)
		return config, errors.Join(err, o.Store.DeleteStorageConfig(undo, a.Viewer, n.ID, catalog.AnyVersion))
	}
	return config, nil
}

// locationTakenError names the field of a request whose location is used by another
// configuration.
type locationTakenError struct {
	field string
	err   error
}

// Error implements error.
func (e *locationTakenError) Error() string { return e.field + ": " + e.err.Error() }

// Unwrap returns catalog.ErrLocationTaken.
func (e *locationTakenError) Unwrap() error { return e.err }

// FieldProblems yields the field.
func (e *locationTakenError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(e.field, "overlaps another storage configuration") }
}
