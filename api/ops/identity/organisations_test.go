package identity_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// TestDeletedOrganisationsArePurgedAfterThirtyDays checks the last moment of a restoration
// and the first of a purge.
func TestDeletedOrganisationsArePurgedAfterThirtyDays(t *testing.T) {
	p := newPeople(t)
	store := authz.New(p.raw)
	orgs := account.Organisations{Store: store, Audit: p.audit, Now: p.now}
	purge := account.Purge{Store: store, Audit: p.audit, Logger: slog.New(slog.DiscardHandler), Now: p.now}
	system := authz.System(context.Background(), "purge")
	owner := p.as(p.ada, auth.MethodJWT)
	nowhere := auth.WithPrincipal(context.Background(), auth.Principal{
		Granted: auth.AllScopes(), UserID: uuid.MustParse(string(p.ada)), Method: auth.MethodJWT})

	require.NoError(t, orgs.Delete(owner, p.org))
	p.advance(catalog.OrganisationRetention)
	purge.Run(system)
	_, err := orgs.Undelete(nowhere, p.org)
	require.NoError(t, err, "the last moment")
	require.Equal(t, []string{"organisation.restored allow"}, p.audit.actions())
	require.Equal(t, p.org, p.audit.entries[0].Org)
	p.audit.reset()

	require.NoError(t, orgs.Delete(owner, p.org))
	p.advance(catalog.OrganisationRetention + time.Microsecond)
	_, err = orgs.Undelete(nowhere, p.org)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	list, err := orgs.List(nowhere, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	purge.Run(system)
	list, err = orgs.List(nowhere, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	require.Equal(t, []string{"organisation.purged allow"}, p.audit.actions())
	require.Equal(t, p.org, p.audit.entries[0].Org)
	purge.Run(system)
	require.Len(t, p.audit.entries, 1)
}

func TestPeopleOwnFewOrganisations(t *testing.T) {
	p := newPeople(t)
	orgs := account.Organisations{Store: authz.New(p.raw), Audit: p.audit}
	owner := p.as(p.ada, auth.MethodJWT)
	for range catalog.MaxOwnedOrganisations - 1 {
		made, err := orgs.Create(owner, "Another")
		require.NoError(t, err)
		require.Equal(t, made.ID, p.audit.entries[len(p.audit.entries)-1].Org, "the new organisation's log begins with its creation")
	}
	_, err := orgs.Create(owner, "One more")
	require.ErrorIs(t, err, catalog.ErrTooManyOrganisations)
	require.NoError(t, orgs.Delete(owner, p.org))
	_, err = orgs.Create(owner, "One more")
	require.ErrorIs(t, err, catalog.ErrTooManyOrganisations, "a deleted organisation can be restored")
}

func TestTransferNamesItsField(t *testing.T) {
	p := newPeople(t)
	orgs := account.Organisations{Store: authz.New(p.raw)}
	_, err := orgs.Transfer(p.as(p.ada, auth.MethodJWT), p.org, p.user(nobody))
	require.Equal(t, catalog.FieldErrors{{Field: "user_id", Message: "must be a person who is an administrator of the organisation"}}, err)
}

func TestATransferExceedsNoLimit(t *testing.T) {
	p := newPeople(t)
	store := authz.New(p.raw)
	orgs := account.Organisations{Store: store, Audit: p.audit}
	heir := p.user("heir@acme.example")
	_, err := p.raw.AddMember(t.Context(), p.org, heir, catalog.RoleAdmin)
	require.NoError(t, err)
	owned := make([]catalog.Organisation, catalog.MaxOwnedOrganisations)
	for i := range owned {
		owned[i], err = orgs.Create(p.as(heir, auth.MethodJWT), "Own")
		require.NoError(t, err)
	}
	_, err = orgs.Transfer(p.as(p.ada, auth.MethodJWT), p.org, heir)
	require.ErrorIs(t, err, catalog.ErrTooManyOrganisations)
	_, err = orgs.Transfer(p.as(p.ada, auth.MethodAPIKey), p.org, p.ada)
	require.ErrorIs(t, err, catalog.ErrDenied, "a key of the owner")

	_, err = p.raw.AddMember(t.Context(), owned[0].ID, p.ada, catalog.RoleAdmin)
	require.NoError(t, err)
	_, err = p.raw.UpdateOrganisation(t.Context(), owned[0].ID, catalog.AnyVersion, catalog.OrganisationChange{Owner: &p.ada})
	require.NoError(t, err)
	_, err = orgs.Transfer(p.as(p.ada, auth.MethodJWT), p.org, heir)
	require.NoError(t, err)
	_, err = orgs.Transfer(p.as(heir, auth.MethodJWT), p.org, heir)
	require.NoError(t, err, "an owner of as many as are allowed keeps them")
}
