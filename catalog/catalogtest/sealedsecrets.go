package catalogtest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func sealedSecrets(t *testing.T, w *world) {
	has := func() bool {
		found, err := w.HasSealedSecrets(w.ctx)
		require.NoError(t, err)
		return found
	}
	org, owner := w.org()
	w.config(org, owner, "", "local")
	require.False(t, has())
	w.app(org, catalog.ProviderOne, "client")
	require.True(t, has())
	require.NoError(t, w.DeleteProviderApp(w.ctx, org, catalog.ProviderOne))
	require.False(t, has())
	_, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: org, Owner: owner, Name: "n", Kind: catalog.KindS3, Location: "s3://e/b/",
		AuthMode: "access_key", SealedSecret: []byte("sealed"),
	})
	require.NoError(t, err)
	require.True(t, has())
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	require.True(t, has(), "a deleted organisation can be restored")
}

func sealedSecretsReplaced(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	config, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: org, Owner: owner, Name: "n", Kind: catalog.KindS3, Location: "s3://e/b/",
		Settings: json.RawMessage(`{}`), AuthMode: "access_key", SealedSecret: []byte("of the configuration"),
	})
	require.NoError(t, err)
	sso, err := w.PutSSOConfig(w.ctx, org, newSSOConfig("a.example"))
	require.NoError(t, err)
	app := w.app(org, catalog.ProviderOne, "client")
	w.app(org, catalog.ProviderThree, "client")
	w.app(other, catalog.ProviderOne, "client")
	link := w.link(app, owner)
	w.provide(org, catalog.FamilyB, "key")

	for _, kind := range catalog.SealedKinds() {
		var found []catalog.SealedSecret
		for after := (catalog.SealedSecret{Kind: kind}); ; {
			page, err := w.ListSealedSecrets(w.ctx, after, 1)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			require.Len(t, page, 1)
			found, after = append(found, page[0]), page[0]
		}
		switch kind {
		case catalog.SealedStorageCredential:
			w.same([]catalog.SealedSecret{
				{Kind: kind, Org: org, Subject: string(config.ID), Sealed: []byte("of the configuration")},
			}, found)
		case catalog.SealedSSOSecret:
			require.Len(t, found, 1)
			require.Equal(t, sso.Issuer, found[0].Subject)
		case catalog.SealedProviderAppSecret:
			require.Len(t, found, 3)
		case catalog.SealedProviderLinkTokens:
			w.same([]catalog.SealedSecret{{Kind: kind, Org: org, Subject: catalog.LinkSubject(link.ProviderLinkKey), Sealed: []byte("sealed token")}}, found)
		case catalog.SealedAnalysisKey:
			w.same([]catalog.SealedSecret{{Kind: kind, Org: org, Subject: "familyB", Sealed: []byte("\x00sealed key")}}, found)
		case catalog.SealedSigningKey: // another store creates them
			require.Empty(t, found)
		default:
			t.Fatalf("no record of kind %s", kind)
		}
		for _, secret := range found {
			before, err := w.Epoch(w.ctx)
			require.NoError(t, err)
			wrong := secret
			wrong.Sealed = []byte("changed since")
			replaced, err := w.ReplaceSealedSecret(w.ctx, wrong, []byte("anew"))
			require.NoError(t, err)
			require.False(t, replaced)
			wrong = secret
			wrong.Org = "another"
			replaced, err = w.ReplaceSealedSecret(w.ctx, wrong, []byte("anew"))
			require.NoError(t, err)
			require.False(t, replaced)
			replaced, err = w.ReplaceSealedSecret(w.ctx, secret, []byte("\x00anew "+string(secret.Org)+secret.Subject))
			require.NoError(t, err)
			require.True(t, replaced)
			after, err := w.Epoch(w.ctx)
			require.NoError(t, err)
			require.Equal(t, before, after)
		}
		again, err := w.ListSealedSecrets(w.ctx, catalog.SealedSecret{Kind: kind}, 10)
		require.NoError(t, err)
		for i := range again {
			require.Equal(t, "\x00anew "+string(again[i].Org)+again[i].Subject, string(again[i].Sealed))
		}
		require.Len(t, again, len(found))
	}
	stored, err := w.StorageConfig(w.ctx, catalog.SystemViewer(org), config.ID)
	require.NoError(t, err)
	require.Equal(t, config.Version, stored.Version)

	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	left, err := w.ListSealedSecrets(w.ctx, catalog.SealedSecret{Kind: catalog.SealedStorageCredential}, 10)
	require.NoError(t, err)
	require.Len(t, left, 1, "a deleted organisation can be restored")
	_, err = w.ListSealedSecrets(w.ctx, catalog.SealedSecret{Kind: "other"}, 1)
	require.ErrorIs(t, err, catalog.ErrInvalid)
	_, err = w.ReplaceSealedSecret(w.ctx, catalog.SealedSecret{Kind: "other"}, nil)
	require.ErrorIs(t, err, catalog.ErrInvalid)
}
