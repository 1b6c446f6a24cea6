package program

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/clientdocument"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// WaitError is returned for a person for whom too many documents of clients were read.
type WaitError struct{ Wait time.Duration }

// Error implements error.
func (e *WaitError) Error() string { return "too many documents of clients were read" }

// OpenClients admits clients for which nobody vouches: they register themselves, or their id is the
// URL of a document that describes them. They are public, and their scopes are bounded by
// [auth.OpenClientScopes].
type OpenClients struct {
	Store     catalog.OpenClients
	Documents *clientdocument.Reader
	// Wait counts a document that is read for a person, and returns how long the person has to wait, or
	// 0. A refused one does not count.
	Wait func(person string) time.Duration
}

// NewOpenClient is what a client says about itself.
type NewOpenClient struct {
	// Name may be empty.
	Name         string
	RedirectURIs []string
	// Scopes are granular. Empty means the viewer's scopes. Those that an open client cannot have are
	// left out.
	Scopes []string
}

// NamelessClient is the name of a client that has none.
const NamelessClient = "Client without a name"

// record returns the record of the client. It returns [catalog.FieldErrors] and
// [auth.ErrUnknownScope].
func (n NewOpenClient) record() (catalog.NewOpenClient, error) {
	scopes, err := auth.ExpandScopes(n.Scopes)
	if err != nil {
		return catalog.NewOpenClient{}, err
	}
	out := catalog.NewOpenClient{Name: n.Name, RedirectURIs: n.RedirectURIs, Scopes: scopes.Intersect(auth.OpenClientScopes()).Strings()}
	if out.Name == "" {
		out.Name = NamelessClient
	}
	return out, out.Validate()
}

// Register stores a client that nobody has vouched for.
func (o OpenClients) Register(ctx context.Context, n NewOpenClient) (catalog.Client, error) {
	record, err := n.record()
	if err != nil {
		return catalog.Client{}, err
	}
	return o.Store.CreateOpenClient(authz.System(ctx, "open registration"), record)
}

// Expire removes the clients that nobody uses.
func (o OpenClients) Expire(ctx context.Context) error {
	return o.Store.ExpireOpenClients(authz.System(ctx, "open registration"), time.Now().Add(-catalog.OpenClientLife))
}

// Describe returns what the document of a client says, and the host of its URL. The document is read
// for a person. Errors are a [*WaitError], and those of [clientdocument.Reader.Read]; a document
// that breaks a rule of the catalog is a [*clientdocument.InvalidError], too.
func (o OpenClients) Describe(ctx context.Context, id string, person uuid.UUID) (catalog.NewOpenClient, string, error) {
	d, known := o.Documents.Cached(id)
	if !known {
		_, err := clientdocument.Host(id)
		if err == nil {
			if wait := o.Wait(person.String()); wait > 0 {
				err = &WaitError{wait}
			}
		}
		if err != nil {
			return catalog.NewOpenClient{}, "", err
		}
		if d, err = o.Documents.Read(ctx, id); err != nil {
			return catalog.NewOpenClient{}, "", err
		}
	}
	names := slices.DeleteFunc(strings.Fields(d.Scope), func(s string) bool { return !auth.AllScopes().Has(auth.Scope(s)) })
	record, err := NewOpenClient{Name: d.Name, RedirectURIs: d.RedirectURIs, Scopes: names}.record()
	var fields catalog.FieldErrors
	if errors.As(err, &fields) {
		err = &clientdocument.InvalidError{Reason: fields[0].Field + " " + fields[0].Message}
	}
	return record, d.Host, err
}
