package catalog

import (
	"slices"
	"strings"
	"time"
)

// APIKey gives a program the rights of its owner, narrowed by scopes.
type APIKey struct {
	ID   KeyID
	Org  OrgID
	User UserID
	Name string
	// Prefix is the visible start of the key and finds it.
	Prefix string
	// Hash is the SHA-256 of the whole key. The key itself is not stored.
	Hash [32]byte
	// Scopes are granular, sorted and free of duplicates.
	Scopes []string
	// Workspace is the workspace that the key reaches in addition to the default
	// workspace, or empty.
	Workspace WorkspaceID
	// AllWorkspaces reports that the key reaches every workspace of its owner.
	// Workspace is then the default workspace.
	AllWorkspaces bool
	ExpiresAt     time.Time
	// LastUsedAt is zero for a key that was never used. It may lag behind the last use.
	LastUsedAt time.Time
	CreatedAt  time.Time
	// RevokedAt is zero for a key that was not revoked.
	RevokedAt time.Time
	// Successor is the key that replaced this one in a rotation, or empty.
	Successor KeyID
	// CommandLine reports that the command line printed the key, which then stands for a
	// person: what it makes does not end with it.
	CommandLine bool
}

// Revoked reports whether the key was revoked.
func (k APIKey) Revoked() bool { return !k.RevokedAt.IsZero() }

// Usable reports whether the key is neither revoked nor expired at the given time. A
// rotated key expires at the end of its grace period at the latest.
func (k APIKey) Usable(at time.Time) bool { return !k.Revoked() && at.Before(k.ExpiresAt) }

// MaxKeyLife is the longest life of a key. A client may request half of it.
// MaxRotationGrace is the longest grace period after a rotation.
const (
	MaxKeyLife       = 2 * 366 * 24 * time.Hour
	MaxRotationGrace = 7 * 24 * time.Hour
)

// keyClockSlack allows for the time between the caller's computation of an
// expiry and the store's check of it.
const keyClockSlack = time.Minute

// NewAPIKey is the input of [APIKeys.CreateAPIKey] and
// [APIKeys.RotateAPIKey]. An empty ID lets the store choose one.
type NewAPIKey struct {
	ID        KeyID
	Org       OrgID
	User      UserID
	Name      string
	Prefix    string
	Hash      [32]byte
	Scopes    []string
	Workspace WorkspaceID
	// AllWorkspaces requires that Workspace is empty or the default workspace. The
	// store fills in the default workspace.
	AllWorkspaces bool
	ExpiresAt     time.Time
	// Shorten lets the store choose an earlier end than ExpiresAt: that of the maker, or of
	// the service account that the key is for. A rotation always does.
	Shorten bool
	// CommandLine marks a key that the command line prints. A rotation ignores it.
	CommandLine bool
	// Maker is what the key is made with.
	Maker Maker
}

// Validate returns nil or [FieldErrors]. It does not check whether the scopes exist;
// package auth does.
func (n NewAPIKey) Validate(now time.Time) error {
	var e FieldErrors
	e.text("name", n.Name, 1, 100)
	if len(n.Prefix) < 8 || len(n.Prefix) > 32 || !asciiWord(n.Prefix) {
		e.add("key_prefix", "must be 8 to 32 letters, digits or '_'")
	}
	if n.Hash == [32]byte{} {
		e.add("hash", "must not be empty")
	}
	if len(n.Scopes) == 0 || len(n.Scopes) > 100 {
		e.add("scopes", "must have 1 to 100 entries")
	}
	for _, s := range n.Scopes {
		if s == "" || len(s) > 100 || strings.ContainsAny(s, " \t\r\n\x00") {
			e.add("scopes", "must be non-empty words")
			break
		}
	}
	// The minimum life applies to requested expiries. A key that expires with its
	// creator may have a shorter life.
	if life := n.ExpiresAt.Sub(now); life <= 0 || life > MaxKeyLife+keyClockSlack {
		e.add("expires_at", "must be in the future, by at most 732 days")
	}
	return e.Err()
}

// NormaliseScopes returns the scopes sorted and without duplicates. It does not change
// its input.
func NormaliseScopes(scopes []string) []string {
	sorted := slices.Clone(scopes)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// APIKeyFilter narrows [APIKeys.ListAPIKeys].
type APIKeyFilter struct {
	// User selects the keys of one owner; empty means all.
	User UserID
}

func asciiWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
