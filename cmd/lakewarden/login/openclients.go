package login

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/program"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/clientdocument"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
)

// documentRate is the rate at which documents of clients are read for one person.
var documentRate = middleware.Rate{PerMinute: 6, Burst: 20}

// addOpenClients adds the clients that nobody vouches for, if the operator allows them, and starts the
// removal of those that nobody uses. One that registered before the operator closed the registration
// remains stored until then.
func (l *Login) addOpenClients(background context.Context, o Options) {
	reads := middleware.NewLimiter(documentRate, nil)
	client := stores.EgressClient(o.Remote.Egress)
	o.Parts.OnClose(func(context.Context) error { client.CloseIdleConnections(); return nil })
	open := program.OpenClients{
		Store: o.Store, Documents: clientdocument.New(client, nil),
		Wait: func(person string) time.Duration { return reads.Take(person).RetryAfter },
	}
	o.Parts.Repeat(background, expireEvery, func(ctx context.Context) {
		if err := open.Expire(ctx); err != nil && ctx.Err() == nil {
			o.Logger.Warn("unused open clients", "error", err)
		}
	})
	if o.Settings.OpenRegistration {
		l.OpenClients = &open
	}
}

// Registration returns the registration of clients.
func (l *Login) Registration(clients program.Clients, audit *caller.Auditor) oauth2.Registration {
	g := oauth2.Registration{Clients: clients, Audit: audit, Arrivals: middleware.NewLimiter(oauth2.ArrivalRate, nil)}
	if l.OpenClients != nil {
		g.Open = *l.OpenClients
	}
	return g
}

// documents adapts the clients with documents to the authorization server.
type documents struct{ clients program.OpenClients }

// Describe implements oauth.Documents.
func (d documents) Describe(ctx context.Context, id string, person uuid.UUID) (oauth.Client, error) {
	found, host, err := d.clients.Describe(ctx, id, person)
	var invalid *clientdocument.InvalidError
	var waits *program.WaitError
	switch {
	case errors.As(err, &invalid):
		return oauth.Client{}, &oauth.DocumentError{Reason: invalid.Reason}
	case errors.As(err, &waits):
		return oauth.Client{}, &oauth.DocumentError{Reason: waits.Error(), Wait: waits.Wait}
	case errors.Is(err, clientdocument.ErrUnreadable):
		return oauth.Client{}, &oauth.DocumentError{Reason: "it cannot be read"}
	case err != nil:
		return oauth.Client{}, err
	}
	return oauth.Client{ID: id, Name: found.Name, RedirectURIs: found.RedirectURIs, Scopes: auth.StoredScopes(found.Scopes), Open: true,
		Publisher: host}, nil
}
