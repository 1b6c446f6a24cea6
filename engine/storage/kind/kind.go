package kind

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Kind is one kind of remote storage. It is safe for concurrent use.
type Kind interface {
	// Name returns the name of the kind in requests and in the catalog, such as s3.
	Name() string
	// New reads the fields of a new configuration: its settings and its credential, in
	// one JSON object. Fields of other kinds are FieldErrors.
	New(fields Secret) (Access, error)
	// Access joins stored settings with a credential, which is the stored one or a new
	// one of the same form.
	Access(settings json.RawMessage, credential Secret) (Access, error)
	// Flags returns the names of the boolean settings that may change later. All other
	// settings decide the location.
	Flags() []string
}

// Owner is the member who owns a configuration.
type Owner struct{ Org, User string }

// Owned is a Kind whose roots are opened with the rights of their owner. A configuration has no
// credential of its own.
type Owned interface {
	Kind
	// OwnedBy returns the kind for the configurations of an owner.
	OwnedBy(owner Owner) Kind
}

// Access is a root in a store with a credential for it.
type Access interface {
	// Check checks the settings and the credential, and the addresses that they name,
	// without contacting the store: FieldErrors.
	Check(ctx context.Context) error
	// Record returns what the catalog stores in clear: FieldErrors.
	Record() (Record, error)
	// Secret returns the credential, to be stored encrypted; nil if there is none.
	Secret() (Secret, error)
	// Open opens the root. The caller closes the closer, which ends no running request.
	Open() (objstore.Bucket, io.Closer, error)
}

// Record is the part of a configuration that is stored in clear.
type Record struct {
	// Settings is a JSON object with the names of the fields of a request.
	Settings json.RawMessage
	Location Location
	// Container is the field of a request that names the bucket: bucket or container.
	Container string
	// Mode names the kind of credential, such as access_key.
	Mode string
	// ExpiresAt is the expiry that the credential itself states, or zero.
	ExpiresAt time.Time
	// Ambient is set if the root is opened with the server's own identity. The caller must check
	// that this is allowed before it opens the root.
	Ambient *AmbientUse
}

// Location identifies a root. Two roots overlap if one's scheme, store and container equal
// the other's and one's prefix contains the other's.
type Location struct {
	Scheme string
	// Store is the host of the store, or a fixed name for a store with many hosts.
	Store     string
	Container string
	Prefix    string
}

// Secret is a JSON object with a credential. It prints as "redacted".
type Secret []byte

// String implements fmt.Stringer.
func (Secret) String() string { return "redacted" }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return "redacted" }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue("redacted") }

// Redacted is embedded by values that hold a credential: they print as "redacted".
type Redacted struct{}

// String implements fmt.Stringer.
func (Redacted) String() string { return "redacted" }

// GoString implements fmt.GoStringer.
func (Redacted) GoString() string { return "redacted" }

// LogValue implements slog.LogValuer.
func (Redacted) LogValue() slog.Value { return slog.StringValue("redacted") }

// Set holds the kinds that a server supports, by name.
type Set map[string]Kind

// For returns the named kind for the configurations of an owner.
func (s Set) For(name string, owner Owner) (Kind, bool) {
	k, ok := s[name]
	if owned, its := k.(Owned); its {
		return owned.OwnedBy(owner), ok
	}
	return k, ok
}

// NewSet returns a set of kinds.
func NewSet(kinds ...Kind) Set {
	set := Set{}
	for _, k := range kinds {
		set[k.Name()] = k
	}
	return set
}
