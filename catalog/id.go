package catalog

import (
	"strings"

	"github.com/google/uuid"
)

// The identifiers of records. Each is a lower-case UUID with dashes. The types differ
// so that one cannot be used for another. The zero value means "none".
type (
	// OrgID identifies an [Organisation].
	OrgID string
	// UserID identifies a [User].
	UserID string
	// WorkspaceID identifies a [Workspace].
	WorkspaceID string
	// ConfigID identifies a [StorageConfig].
	ConfigID string
	// TableID identifies the registration of a table at one location, not the table
	// itself; see [DeltaID].
	TableID string
	// PolicyID identifies a [Policy].
	PolicyID string
	// KeyID identifies an [APIKey].
	KeyID string
	// OperationID identifies an [Operation].
	OperationID string
	// WriteLeaseID identifies the lease of a write; see [WriteLeases].
	WriteLeaseID string
	// InvitationID identifies an [Invitation].
	InvitationID string
	// AuditID identifies an [AuditEntry].
	AuditID string
	// DomainID identifies a [Domain].
	DomainID string
	// ValueID identifies a [DomainValue].
	ValueID string
	// ValueChangeID identifies a [ValueChange].
	ValueChangeID string
	// MoveID identifies a [Move].
	MoveID string
	// ClientID identifies a [Client].
	ClientID string
	// IdentityID identifies an [IdentityBinding].
	IdentityID string
)

// DeltaID is the metaData.id of a Delta table. It survives a rename or move, and
// everything that governs a table refers to it. Writers use UUIDs. The protocol allows
// any text, so it is compared byte for byte.
type DeltaID string

type rowID interface {
	OrgID | UserID | WorkspaceID | ConfigID | TableID | PolicyID | KeyID | OperationID | WriteLeaseID | AuditID |
		DomainID | ValueID | ValueChangeID | InvitationID | MoveID | ClientID | IdentityID
}

// NewID returns a random identifier.
func NewID[T rowID]() T { return T(uuid.NewString()) }

// ParseID parses a UUID in its 36-character form, in either case. It returns
// [ErrNotFound] for any other text, which cannot name a record.
func ParseID[T rowID](text string) (T, error) {
	if len(text) != 36 {
		return "", ErrNotFound
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return "", ErrNotFound
	}
	return T(id.String()), nil
}

// hexDigits returns the identifier without dashes.
func hexDigits[T rowID](id T) string { return strings.ReplaceAll(string(id), "-", "") }
