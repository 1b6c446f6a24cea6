package catalog

import (
	"errors"
	"fmt"
	"time"
)

// ErrOutlivesMaker is returned by [APIKeys.CreateAPIKey] for a key that would end later than
// what it is made with. The error is an [*OutlivesMakerError]. It becomes 422.
var ErrOutlivesMaker = errors.New("key would outlive its maker")

// OutlivesMakerError names the latest end that the key may have.
type OutlivesMakerError struct{ Ends time.Time }

// Error implements error.
func (e *OutlivesMakerError) Error() string {
	return fmt.Sprintf("key would outlive its maker, which ends at %s", e.Ends.Format(time.RFC3339))
}

// Is matches [ErrOutlivesMaker].
func (e *OutlivesMakerError) Is(target error) bool { return target == ErrOutlivesMaker }

// Maker identifies the credential with which another one is made. At most one of its fields
// is set. The zero value stands for the server itself and the command line.
//
// What an API key makes ends with the key: API keys, service accounts, OAuth clients, their
// secrets and tokens, and open invitations. So does what is made with the tokens of such a
// service account or client, in turn. For the same reason, the key and these tokens change a
// client or service account only if it ends with the key, too. What a person makes who has signed
// in is bound to nothing, and neither is what a key makes that the command line printed. People
// and the roles of members are no credentials: they stay.
type Maker struct {
	// Key is the API key in use.
	Key KeyID
	// Session is the id of the session of the token in use.
	Session string
}

// EndingKind is the kind of an [Ending].
type EndingKind string

// The kinds.
const (
	EndingKey            EndingKind = "api_key"
	EndingServiceAccount EndingKind = "service_account"
	EndingClient         EndingKind = "client"
	EndingClientSecret   EndingKind = "client_secret"
	EndingInvitation     EndingKind = "invitation"
)

// Ending is a credential that ends with an API key. Tokens of service accounts and clients
// end with these.
type Ending struct {
	Kind EndingKind
	// ID is the id of the user for a service account, and that of the client for a secret.
	ID string
	// Name is the name of the credential, or the e-mail address of an invitation.
	Name string
}

// MaxEndings is the largest number of credentials that [APIKeys.ListEndings] returns.
const MaxEndings = 1000

// UnboundCredentials are the usable credentials of an organisation that an earlier release
// made. Their makers are not known, so they end with no key.
type UnboundCredentials struct {
	Org                            OrgID
	Keys, ServiceAccounts, Clients int
}
