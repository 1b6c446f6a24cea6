package command_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
)

func TestOperatorsVerifyListedDomains(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	boot, err := command.Bootstrap(t.Context(), store, "Acme", "ada@acme.example")
	require.NoError(t, err)
	other, err := command.Bootstrap(t.Context(), store, "Other", "bob@other.example")
	require.NoError(t, err)
	for _, org := range []string{boot.OrganisationID, other.OrganisationID} {
		_, err = store.PutSSOConfig(t.Context(), catalog.OrgID(org), catalog.NewSSOConfig{Issuer: "https://id.example", ClientID: "c",
			SealedSecret: []byte("s"), DefaultRole: catalog.RoleViewer, MaxRole: catalog.RoleViewer, Domains: []string{"acme.example"}})
		require.NoError(t, err)
	}
	for _, domain := range []string{"unlisted.example", "com", "", "a@b.example"} {
		_, err = command.VerifyDomain(t.Context(), store, boot.OrganisationID, domain)
		require.Error(t, err, domain)
	}
	_, err = command.VerifyDomain(t.Context(), store, string(catalog.NewID[catalog.OrgID]()), "acme.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	verified, err := command.VerifyDomain(t.Context(), store, boot.OrganisationID, "ACME.example.")
	require.NoError(t, err)
	require.Equal(t, catalog.DomainByOperator, verified.Method)
	_, err = command.VerifyDomain(t.Context(), store, other.OrganisationID, "acme.example")
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
	entries, err := store.ListAudit(t.Context(), catalog.OrgID(boot.OrganisationID), catalog.AuditFilter{Action: "command.domain_verify"},
		catalog.Page{})
	require.NoError(t, err)
	require.Len(t, entries.Items, 1)
	require.Equal(t, "domain/acme.example", entries.Items[0].Resource)
}
