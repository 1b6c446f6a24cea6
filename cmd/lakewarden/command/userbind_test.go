package command_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
)

func TestOperatorsBindMembers(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	boot, err := command.Bootstrap(t.Context(), store, "Acme", "ada@acme.example")
	require.NoError(t, err)
	_, err = command.AddUser(t.Context(), store, boot.OrganisationID, "bob@acme.example", "viewer")
	require.NoError(t, err)
	_, err = command.Bootstrap(t.Context(), store, "Other", "eve@other.example")
	require.NoError(t, err)
	const issuer = "https://id.example"
	for range 2 {
		bound, err := command.BindUser(t.Context(), store, boot.OrganisationID, "ADA@acme.example", issuer, "s-ada")
		require.NoError(t, err)
		require.Equal(t, command.BoundUser{UserID: boot.UserID, Issuer: issuer, Subject: "s-ada"}, bound)
	}
	found, err := store.IdentityBinding(t.Context(), catalog.OrgID(boot.OrganisationID), issuer, "s-ada")
	require.NoError(t, err)
	require.Equal(t, []any{catalog.UserID(boot.UserID), catalog.BoundByOperator}, []any{found.User, found.Method})
	for _, email := range []string{"eve@other.example", "nobody@acme.example"} {
		_, err = command.BindUser(t.Context(), store, boot.OrganisationID, email, issuer, "x")
		require.ErrorContains(t, err, "not a member")
	}
	_, err = command.BindUser(t.Context(), store, boot.OrganisationID, "bob@acme.example", issuer, "s-ada")
	require.ErrorContains(t, err, "another member")
	entries, err := store.ListAudit(t.Context(), catalog.OrgID(boot.OrganisationID), catalog.AuditFilter{Action: catalog.ActionIdentityBound},
		catalog.Page{})
	require.NoError(t, err)
	require.Equal(t, "user/"+boot.UserID, entries.Items[0].Resource)
}
