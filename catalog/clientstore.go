package catalog

import (
	"context"
	"time"
)

// Clients stores the OAuth clients of organisations. The sessions of a client end with it,
// and when it loses a scope. A client that has ended with the API key that made it is still
// listed until it is deleted.
type Clients interface {
	// CreateClient creates an application.
	CreateClient(ctx context.Context, client NewClient) (Client, error)
	// Client returns an application.
	Client(ctx context.Context, org OrgID, client ClientID) (Client, error)
	// ClientByID returns a client of any kind, and of any organisation or none, for the server
	// itself. A service account that is no longer a member has no client.
	ClientByID(ctx context.Context, client ClientID) (Client, error)
	// ListClients lists applications, oldest first.
	ListClients(ctx context.Context, org OrgID, page Page) (List[Client], error)
	// UpdateClient changes an application.
	UpdateClient(ctx context.Context, org OrgID, client ClientID, expectedVersion int64, change ClientChange) (Client, error)
	// ReplaceClientSecret replaces the secret of a client of an organisation. The client's sessions
	// end after grace. The new secret ends with its maker. It returns [FieldErrors] for a public client,
	// and [ErrRevoked] for a client that has ended.
	ReplaceClientSecret(ctx context.Context, org OrgID, client ClientID, hash []byte, grace time.Duration, maker Maker) error
	// DeleteClient removes an application.
	DeleteClient(ctx context.Context, org OrgID, client ClientID) error
}

// ServiceAccounts stores service accounts. Their roles, attributes and workspaces are
// those of members; see [Memberships], which also removes them.
type ServiceAccounts interface {
	// CreateServiceAccount creates a user, its membership and its client.
	CreateServiceAccount(ctx context.Context, account NewServiceAccount) (ServiceAccount, error)
	// ServiceAccount returns an account.
	ServiceAccount(ctx context.Context, org OrgID, account UserID) (ServiceAccount, error)
	// ListServiceAccounts lists accounts, oldest first.
	ListServiceAccounts(ctx context.Context, org OrgID, page Page) (List[ServiceAccount], error)
	// UpdateServiceAccount changes the name and the scopes of an account.
	UpdateServiceAccount(ctx context.Context, org OrgID, account UserID, expectedVersion int64, change ServiceAccountChange) (ServiceAccount,
		error)
}
