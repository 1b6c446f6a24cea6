package catalog

import (
	"encoding/json"
	"time"
)

// ConfigKind is the kind of object storage.
type ConfigKind string

// The kinds of storage.
const (
	KindLocal     ConfigKind = "local"
	KindS3        ConfigKind = "s3"
	KindGCS       ConfigKind = "gcs"
	KindAzure     ConfigKind = "azure"
	KindDelegated ConfigKind = "delegated"
)

// Valid reports whether k is one of the kinds.
func (k ConfigKind) Valid() bool {
	switch k {
	case KindLocal, KindS3, KindGCS, KindAzure, KindDelegated:
		return true
	}
	return false
}

// StorageConfig describes the access to one root in object storage. Its secret is not
// part of the record.
type StorageConfig struct {
	ID   ConfigID
	Org  OrgID
	Name string
	// Slug is derived from Name; see [Slug].
	Slug string
	Kind ConfigKind
	// Workspace is empty for a personal configuration.
	Workspace WorkspaceID
	Owner     UserID
	// Location is the canonical form of the root; see [Location].
	Location Location
	// Settings is a JSON object of further settings that are not secret, such as the
	// root as it was entered, a region or endpoint flags.
	Settings json.RawMessage
	// AuthMode names the kind of credential in use; empty for local.
	AuthMode string
	// CredentialExpiresAt is zero if the expiry is unknown or the credential does not
	// expire.
	CredentialExpiresAt time.Time
	// DiscoveredAt is the end of the last complete discovery, or zero.
	DiscoveredAt time.Time
	// Sandbox reports that the server made the configuration: see [Sandboxes].
	Sandbox   bool
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Schema returns the SQL schema of the configuration.
func (c StorageConfig) Schema() string { return SchemaName(c.ID) }

// Personal reports whether only the owner sees the configuration.
func (c StorageConfig) Personal() bool { return c.Workspace == "" }

// NewStorageConfig is the input of [StorageConfigs.CreateStorageConfig]. An
// empty ID lets the store choose one.
type NewStorageConfig struct {
	ID                  ConfigID
	Org                 OrgID
	Name                string
	Kind                ConfigKind
	Workspace           WorkspaceID
	Owner               UserID
	Location            Location
	Settings            json.RawMessage
	AuthMode            string
	CredentialExpiresAt time.Time
	// SealedSecret is the credential, encrypted by the caller for this ID. It is empty
	// if the kind needs none.
	SealedSecret []byte
}

// Validate returns nil or [FieldErrors].
func (n NewStorageConfig) Validate() error {
	var e FieldErrors
	e.text("config_name", n.Name, 1, 100)
	if !n.Kind.Valid() {
		e.add("kind", "must be one of local, s3, gcs, azure, delegated")
	}
	if n.Owner == "" {
		e.add("owner_user_id", "must not be empty")
	}
	n.Location.check(&e, n.Kind)
	e.object("settings", n.Settings, maxSettingsBytes)
	e.text("auth_mode", n.AuthMode, 0, 50)
	if n.ID == "" && len(n.SealedSecret) > 0 {
		e.add("sealed_secret", "must be sealed for an id that is given")
	}
	checkSealed(&e, n.SealedSecret)
	return e.Err()
}

const (
	maxSettingsBytes = 64 << 10
	maxSealedBytes   = 64 << 10
)

func checkSealed(e *FieldErrors, sealed []byte) {
	if len(sealed) > maxSealedBytes {
		e.add("sealed_secret", "must not be longer than %d bytes", maxSealedBytes)
	}
}

// StorageSecret is the stored credential of a configuration. The store receives and
// returns it encrypted.
type StorageSecret struct {
	Sealed []byte
	// AuthMode names the kind of credential.
	AuthMode string
	// ExpiresAt is zero if the expiry is unknown or the credential does not expire.
	ExpiresAt time.Time
}

// Validate returns nil or [FieldErrors].
func (s StorageSecret) Validate() error {
	var e FieldErrors
	if len(s.Sealed) == 0 {
		e.add("sealed_secret", "must not be empty")
	}
	checkSealed(&e, s.Sealed)
	e.text("auth_mode", s.AuthMode, 1, 50)
	return e.Err()
}

// StorageConfigChange holds the fields to change; nil fields keep their value.
type StorageConfigChange struct {
	Name     *string
	Settings *json.RawMessage
}

// Validate returns nil or [FieldErrors].
func (c StorageConfigChange) Validate() error {
	var e FieldErrors
	if c.Name != nil {
		e.text("config_name", *c.Name, 1, 100)
	}
	if c.Settings != nil {
		e.object("settings", *c.Settings, maxSettingsBytes)
	}
	return e.Err()
}
