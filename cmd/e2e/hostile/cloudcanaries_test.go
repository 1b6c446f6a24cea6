package hostile_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
)

// cloudCanaries are roots in Azure and in Google Cloud Storage with credentials of every mode, which
// are used one after the other. Some are opened with tokens of a link to a provider.
type cloudCanaries struct {
	secrets   harness.Canaries
	authority *azuretest.Authority
	guard     *gcstest.Guard
	// provider issues tokens that both stores accept.
	provider *providertest.Server
	// providers are the settings of that provider, under its names.
	providers map[string]config.Provider
	roots     []cloudRoot
	// inUse are the canaries that the server itself needs at the end.
	inUse []string
}

// cloudRoot is one root; a configuration begins with the first credential.
type cloudRoot struct {
	kind        string
	settings    object
	credentials []object
}

func newCloudCanaries(t *testing.T, secrets harness.Canaries) *cloudCanaries {
	c := &cloudCanaries{secrets: secrets}
	clientSecret := "canary-" + rand.Text()
	c.authority = azuretest.NewAuthority(t, clientSecret)
	secrets.Text("the secret of a service principal", clientSecret)
	secrets.Text("the header of managed identities", azuretest.IdentityHeader)
	for _, key := range []string{azuretest.Key, azuretest.SecondKey} {
		raw, err := base64.StdEncoding.DecodeString(key)
		require.NoError(t, err)
		secrets.Text("the key of an account "+key, key)
		secrets["the key of an account, decoded "+key] = raw
	}
	t.Setenv("IDENTITY_ENDPOINT", c.authority.IdentityEndpoint)
	t.Setenv("IDENTITY_HEADER", azuretest.IdentityHeader)
	azure := azuretest.StartTLS(t)
	name := azure.Container(t)
	all := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
	signed := azure.Signature(t, name, all, time.Now().Add(time.Hour))
	_, signature, _ := strings.Cut(signed, "sig=")
	secrets.Text("a shared access signature", signature)
	c.roots = append(c.roots, cloudRoot{
		"azure", object{"account": azuretest.Account, "container": name, "endpoint": azure.Endpoint},
		[]object{
			{"accountKey": azuretest.Key}, {"sasToken": signed}, {"managedIdentity": object{}}, {"accountKey": azuretest.SecondKey},
			{"servicePrincipal": object{"tenantId": azuretest.TenantID, "clientId": azuretest.ClientID, "clientSecret": clientSecret}},
		},
	})

	gcs := gcstest.Start(t)
	c.guard = gcs.Guard(t)
	key := c.guard.Key(t, "canary")
	var file struct {
		PrivateKey string `json:"private_key"`
	}
	require.NoError(t, json.Unmarshal([]byte(key), &file))
	line := strings.Split(file.PrivateKey, "\n")[5]
	raw, err := base64.StdEncoding.DecodeString(line)
	require.NoError(t, err)
	secrets.Text("the key of a service account", line)
	secrets["the key of a service account, decoded"] = raw
	c.roots = append(c.roots, cloudRoot{
		"gcs", object{"bucket": gcs.Bucket(t), "endpoint": c.guard.Endpoint},
		[]object{{"serviceAccountKey": key}, {"serviceAccountKey": key}},
	})

	c.provider = providertest.New(t)
	c.provider.Life = 63 // so that tokens are renewed
	c.provider.Mint = func() string {
		token := azuretest.Token(time.Hour, rand.Text())
		c.guard.Accept(token, "link")
		return token
	}
	secrets.Text("the secret of a provider's application", providertest.ClientSecret)
	c.providers = map[string]config.Provider{}
	for name, store := range map[string]string{"provider_one": c.guard.Endpoint, "provider_three": "https://" + azure.Address + "/{account}"} {
		c.providers[name] = config.Provider{
			Issuer: c.provider.URL, Permissions: []string{"storage"}, Scopes: []string{"openid", "offline_access"}, StorageURL: store,
		}
	}
	c.roots = append(c.roots,
		cloudRoot{"delegated", object{"provider": "provider_one", "bucket": gcs.Bucket(t)}, []object{{}}},
		cloudRoot{"delegated", object{"provider": "provider_three", "account": azuretest.Account, "container": azure.Container(t)}, []object{{}}})
	c.inUse = []string{"the secret of a service principal", "the key of a service account"}
	return c
}

// settings lets a server use the roots.
func (c *cloudCanaries) settings(s *harness.Settings) {
	s.AzureAuthority, s.Providers = c.authority.URL, c.providers
	azure := c.roots[0].settings
	s.AmbientStorage = []string{"az://" + azuretest.Account + "/" + azure["container"].(string) + "?endpoint=" + azure["endpoint"].(string)}
}

// work writes to a table in each root with each credential. A writer and a reader, each with a row
// filter, read it. It returns the tables, and plants the tokens that were issued.
func (c *cloudCanaries) work(t *testing.T, s *harness.Server, admin, writer, reader *harness.Client) (tables []string) {
	t.Helper()
	for provider := range c.providers {
		application := "/v1/organisations/" + s.Boot.OrganisationID + "/provider-apps/" + provider
		body := object{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret}
		if provider == "provider_three" {
			body["tenant"] = "tenant"
		}
		s.Admin.OK("POST", application, body)
		s.Link(admin, application, c.provider)
	}
	for i, root := range c.roots {
		body := object{"configName": fmt.Sprint(root.kind, i), "kind": root.kind, "workspaceId": s.Boot.WorkspaceID}
		for _, fields := range []object{root.settings, root.credentials[0]} {
			for field, value := range fields {
				body[field] = value
			}
		}
		made := s.Admin.OK("POST", harness.ConfigsPath, body)
		schema := made["schema"].(string)
		table := schema + ".t"
		s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "t", nil, harness.Col("id", "long"))).JSON(t)
		s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
			"kind": "rls", "tableFqn": "lake." + table, "columnName": "id",
			"definition": json.RawMessage(`{"effect":"permit","subject":{"attribute":"most","op":"lte"},"condition":null}`),
		})
		for i, credential := range root.credentials {
			if i > 0 {
				s.Admin.OK("PUT", harness.ConfigsPath+"/"+made["configId"].(string)+"/credentials/"+root.kind, credential)
			}
			writer.Write("/v1/tables/lake/"+schema+"/t/rows", harness.RowsOf(object{"id": i}))
			require.Equal(t, float64(i+1), writer.Count(table))
			require.Equal(t, float64(min(i, 1)+1), reader.Count(table))
		}
		tables = append(tables, table)
	}
	for i, token := range slices.Concat(c.authority.Tokens(), c.guard.Tokens(), c.provider.Issued()) {
		c.secrets.Text(fmt.Sprint("token ", i), token)
	}
	return tables
}
