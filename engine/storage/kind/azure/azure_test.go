package azure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	provider "github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/azure"
)

// local is a kind that may reach loopback, on a machine with an identity.
var local = azure.Kind{
	Egress:   storage.Egress{AllowPrivate: true},
	Identity: provider.Identity{Endpoint: "http://127.0.0.1:1/token"},
}

func open(t *testing.T, k azure.Kind, fields map[string]any) kind.Access {
	t.Helper()
	all := map[string]any{"account": "lakeone", "container": "raw-1"}
	for name, value := range fields {
		all[name] = value
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	access, err := k.New(text)
	require.NoError(t, err)
	return access
}

// fieldsOf returns the fields that an error names.
func fieldsOf(t *testing.T, err error) (names []string) {
	t.Helper()
	var fields kind.FieldErrors
	require.True(t, errors.As(err, &fields), "%v", err)
	for _, f := range fields {
		names = append(names, f.Field)
		require.NotContains(t, f.Message, "planted")
	}
	return names
}

const (
	key    = "cGxhbnRlZA==" // planted
	client = "00000000-0000-0000-0000-000000000001"
)

func TestLocationsAreCanonical(t *testing.T) {
	for endpoint, store := range map[string]string{
		"":                                      "core.windows.net/lakeone",
		"https://lakeone.blob.core.windows.net": "core.windows.net/lakeone",
		"https://LakeOne.Blob.core.windows.net.:443/":              "core.windows.net/lakeone",
		"https://lakeone-secondary.blob.core.windows.net":          "core.windows.net/lakeone",
		"https://lakeone.dfs.core.windows.net":                     "core.windows.net/lakeone",
		"https://lakeone.privatelink.blob.core.windows.net":        "core.windows.net/lakeone",
		"https://lakeone.z12.blob.storage.azure.net":               "core.windows.net/lakeone",
		"https://lakeone.blob.core.usgovcloudapi.net":              "core.usgovcloudapi.net/lakeone",
		"https://Store.Example":                                    "store.example",
		"http://127.0.0.1:10000/lakeone/":                          "127.0.0.1:10000/lakeone",
		"http://[::ffff:127.0.0.1]:10000/lakeone":                  "127.0.0.1:10000/lakeone",
		"http://127.0.0.1:80/lakeone?":                             "127.0.0.1/lakeone",
		"https://lakeone.blob.core.windows.net.evil.example:10443": "lakeone.blob.core.windows.net.evil.example:10443",
	} {
		r, err := open(t, local, map[string]any{"endpoint": endpoint, "prefix": "/p/q/"}).Record()
		require.NoError(t, err, endpoint)
		require.Equal(t, kind.Location{Scheme: "az", Store: store, Container: "raw-1", Prefix: "p/q"}, r.Location, endpoint)
	}
	for _, endpoint := range []string{
		"https://other.blob.core.windows.net", "https://lakeone.blob.core.windows.net/lakeone", "https://lakeone.web.core.windows.net",
		"https://x.azure.net", "nonsense",
	} {
		_, err := open(t, local, map[string]any{"endpoint": endpoint}).Record()
		require.Equal(t, []string{"endpoint"}, fieldsOf(t, err), endpoint)
	}
	for _, prefix := range []string{"a/../b", "a./b", "a/b...", `a\b`} {
		_, err := open(t, local, map[string]any{"prefix": prefix}).Record()
		require.Equal(t, []string{"prefix"}, fieldsOf(t, err), prefix)
	}
}

func TestInvalidFieldsAreNamed(t *testing.T) {
	principal := func(change map[string]any) map[string]any {
		p := map[string]any{"tenantId": "tenant.example", "clientId": client, "clientSecret": "planted"}
		for name, value := range change {
			p[name] = value
		}
		return map[string]any{"servicePrincipal": p}
	}
	for name, test := range map[string]struct {
		fields map[string]any
		want   []string
	}{
		"no mode": {nil, []string{"accountKey", "sasToken", "servicePrincipal", "managedIdentity", "credential"}},
		"two modes": {map[string]any{"accountKey": key, "sasToken": "sig=planted"},
			[]string{"accountKey", "sasToken"}},
		"mode and identity": {map[string]any{"accountKey": key, "managedIdentity": map[string]any{}},
			[]string{"accountKey", "managedIdentity"}},
		"account":           {map[string]any{"accountKey": key, "account": "No"}, []string{"account"}},
		"container":         {map[string]any{"accountKey": key, "container": "a--b"}, []string{"container"}},
		"key":               {map[string]any{"accountKey": "planted!"}, []string{"accountKey"}},
		"signature":         {map[string]any{"sasToken": "sv=planted"}, []string{"sasToken"}},
		"expired signature": {map[string]any{"sasToken": "?sv=1&se=2020-01-01T00:00Z&sig=planted"}, []string{"sasToken"}},
		"tenant":            {principal(map[string]any{"tenantId": "a/b"}), []string{"servicePrincipal.tenantId"}},
		"client":            {principal(map[string]any{"clientId": "a b"}), []string{"servicePrincipal.clientId"}},
		"secret":            {principal(map[string]any{"clientSecret": ""}), []string{"servicePrincipal.clientSecret"}},
		"identity":          {map[string]any{"managedIdentity": map[string]any{"clientId": "a b"}}, []string{"managedIdentity.clientId"}},
		"ambient and a key": {map[string]any{"accountKey": key, "credential": "ambient"}, []string{"accountKey", "credential"}},
		"another source":    {map[string]any{"credential": "planted"}, []string{"credential"}},
		"endpoint":          {map[string]any{"accountKey": key, "endpoint": "http://127.0.0.1/other"}, []string{"endpoint"}},
	} {
		err := open(t, local, test.fields).Check(t.Context())
		require.Equal(t, test.want, fieldsOf(t, err), name)
	}

	inside := open(t, azure.Kind{}, map[string]any{"accountKey": key, "endpoint": "https://127.0.0.1/lakeone"})
	require.Equal(t, []string{"endpoint"}, fieldsOf(t, inside.Check(t.Context())), "a private address")
	none := local
	none.Identity.Endpoint = ""
	access := open(t, none, map[string]any{"managedIdentity": map[string]any{}})
	require.Equal(t, []string{"managedIdentity"}, fieldsOf(t, access.Check(t.Context())))
	access = open(t, none, map[string]any{"credential": "ambient"})
	require.Equal(t, []string{"credential"}, fieldsOf(t, access.Check(t.Context())))
}

func TestModesAndExpiry(t *testing.T) {
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for mode, fields := range map[string]map[string]any{
		"account_key":       {"accountKey": key},
		"sas_token":         {"sasToken": "?sv=1&sp=rwdl&sig=planted&se=" + end.Format(time.RFC3339)},
		"service_principal": {"servicePrincipal": map[string]any{"tenantId": "t", "clientId": client, "clientSecret": "planted"}},
		"managed_identity":  {"managedIdentity": map[string]any{}},
		"ambient":           {"credential": "ambient"},
	} {
		access := open(t, local, fields)
		require.NoError(t, access.Check(t.Context()), mode)
		r, err := access.Record()
		require.NoError(t, err)
		require.Equal(t, mode, r.Mode)
		require.Equal(t, mode == "sas_token", r.ExpiresAt.Equal(end), mode)
		var use *kind.AmbientUse
		if field := map[string]string{"managed_identity": "managedIdentity", "ambient": "credential"}[mode]; field != "" {
			use = &kind.AmbientUse{Field: field, Root: "az://lakeone/raw-1"}
		}
		require.Equal(t, use, r.Ambient, mode)
		require.NotContains(t, string(r.Settings)+fmt.Sprintf("%v %+v %#v", access, access, access), "planted")

		secret, err := access.Secret()
		require.NoError(t, err)
		again, err := local.Access(r.Settings, secret)
		require.NoError(t, err)
		require.NoError(t, again.Check(t.Context()), "as stored")
		_, closer, err := again.Open()
		require.NoError(t, err)
		require.NoError(t, closer.Close())
	}
}
