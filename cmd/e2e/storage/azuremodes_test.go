package storage_test

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
)

// TestAzureModes rotates one configuration through every mode of authentication.
func TestAzureModes(t *testing.T) {
	store := azuretest.StartTLS(t)
	const secret = "the-secret-of-the-service-principal"
	authority := azuretest.NewAuthority(t, secret)
	t.Setenv("IDENTITY_ENDPOINT", authority.IdentityEndpoint)
	t.Setenv("IDENTITY_HEADER", azuretest.IdentityHeader)
	name := store.Container(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints = true
		c.AzureAuthority = authority.URL
		c.AmbientStorage = []string{"az://" + azuretest.Account + "/" + name + "?endpoint=" + store.Endpoint}
	})
	l := cloudLife{Server: s, cloud: cloud{
		kind: "azure", settings: object{"account": azuretest.Account, "container": name, "endpoint": store.Endpoint},
	}}
	made := s.Admin.OK("POST", harness.ConfigsPath, l.body(object{"accountKey": azuretest.Key}))
	l.schema, l.path = made["schema"].(string), harness.ConfigsPath+"/"+made["configId"].(string)
	l.Admin.Call("POST", "/v1/tables", l.NewTable(l.schema, "orders", nil, harness.Col("id", "long"))).JSON(t)
	rotate := func(credential object) harness.Reply {
		return s.Admin.Call("PUT", l.path+"/credentials/azure", credential)
	}

	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	all := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
	signed := store.Signature(t, name, all, end)
	reading := store.Signature(t, name, sas.ContainerPermissions{Read: true, List: true}, end)
	principal := func(clientSecret string) object {
		return object{"servicePrincipal": object{
			"tenantId": azuretest.TenantID, "clientId": azuretest.ClientID, "clientSecret": clientSecret,
		}}
	}
	for i, step := range []struct {
		mode       string
		credential object
		expires    any
		rejected   object
	}{
		{"sas_token", object{"sasToken": "?" + signed}, end.Format(time.RFC3339), object{"sasToken": reading}},
		{"service_principal", principal(secret), nil, principal("another secret")},
		{"managed_identity", object{"managedIdentity": object{"clientId": azuretest.ClientID}}, nil,
			object{"managedIdentity": object{"clientId": azuretest.TenantID}}},
		{"managed_identity", object{"managedIdentity": object{}}, nil, object{"accountKey": "d3Jvbmc="}},
		{"account_key", object{"accountKey": azuretest.SecondKey}, nil, object{"sasToken": signed[:len(signed)-4] + "AAAA"}},
	} {
		r := rotate(step.rejected)
		code, fields := r.Problem(t, 422)
		require.Equal(t, "credential_rejected", code, step.mode)
		require.NotEmpty(t, fields)
		require.NotContains(t, string(r.Body), "secret of the authority")

		done := rotate(step.credential).JSON(t)
		require.Equal(t, []any{step.mode, step.expires}, []any{done["authMode"], done["credentialExpiresAt"]})
		l.Admin.Write("/v1/tables/lake/"+l.schema+"/orders/rows", harness.RowsOf(object{"id": i}))
		require.Equal(t, float64(i+1), l.Admin.Count(l.schema+".orders"), step.mode)
	}

	// The identity of the server is for the container that the operator named.
	other := l.body(object{"managedIdentity": object{}, "container": store.Container(t)})
	code, fields := s.Admin.Call("POST", harness.ConfigsPath, other).Problem(t, 422)
	require.Equal(t, "invalid_field", code)
	require.Equal(t, []string{"managedIdentity"}, fields)
	for _, text := range []string{secret, azuretest.SecondKey, azuretest.IdentityHeader, signed[len(signed)-20:]} {
		require.Empty(t, harness.Leaked(t, s, text))
	}
}
