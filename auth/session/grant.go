package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// GrantKind is the kind of a [Grant].
type GrantKind string

// The kinds.
const (
	GrantCode    GrantKind = "code"
	GrantRefresh GrantKind = "refresh"
)

// Grant is an authorization code or a refresh token. It can be exchanged once.
type Grant struct {
	Kind    GrantKind
	Session uuid.UUID
	// Client is the OAuth client that the grant was issued to.
	Client string
	// Request is a JSON document of the authorization server, which stores only it.
	Request   json.RawMessage
	CreatedAt time.Time
	ExpiresAt time.Time
	// UsedAt is zero for a grant that was not exchanged.
	UsedAt time.Time
}

// Grants stores grants by the [Hash] of their secret. Implementations are safe for
// concurrent use.
type Grants interface {
	// CreateGrant stores a grant and sets CreatedAt. It returns [ErrNotFound] if its
	// session does not exist. A session that gets very many grants ends, which returns
	// [ErrNotFound], too.
	CreateGrant(ctx context.Context, hash []byte, g Grant) error
	// Grant returns a grant and its session. It returns [ErrNotFound] if the grant has
	// expired or is of another kind, or if the session is not live. For a grant that was
	// exchanged it revokes the session and returns both with [ErrReused].
	Grant(ctx context.Context, kind GrantKind, hash []byte) (Grant, Session, error)
	// ExchangeGrant marks a grant as used and stores its successor, both or neither. Of
	// several calls for one grant, one succeeds. The others revoke the session and return
	// [ErrReused]. Errors are those of CreateGrant, too.
	ExchangeGrant(ctx context.Context, kind GrantKind, hash, successorHash []byte, successor Grant) error
}
