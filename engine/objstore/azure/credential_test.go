package azure_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// signature makes a SAS token for a container.
func signature(t *testing.T, container string, permissions sas.ContainerPermissions, until time.Time) string {
	t.Helper()
	key, err := blob.NewSharedKeyCredential(azuretest.Account, azuretest.Key)
	require.NoError(t, err)
	query, err := sas.BlobSignatureValues{
		Version: "2022-11-02", Protocol: sas.ProtocolHTTPSandHTTP, ContainerName: container, Permissions: permissions.String(),
		StartTime: time.Now().Add(-time.Hour), ExpiryTime: until,
	}.SignWithSharedKey(key)
	require.NoError(t, err)
	return query.Encode()
}

var works, refused = objstoretest.RequireWorks, objstoretest.RequireRefused

func TestKeys(t *testing.T) {
	server := azuretest.Start(t)
	o := options(server.Endpoint, server.Container(t))
	works(t, mustNew(t, o))
	o.Credential.AccountKey = azuretest.SecondKey
	works(t, mustNew(t, o))
	o.Credential.AccountKey = "d3Jvbmc="
	refused(t, mustNew(t, o), objstore.ErrCredential)
	o = options(server.Endpoint, "missing")
	refused(t, mustNew(t, o), objstore.ErrNoBucket)
}

func TestSharedAccessSignatures(t *testing.T) {
	server := azuretest.Start(t)
	name := server.Container(t)
	open := func(token string) *azure.Bucket {
		o := options(server.Endpoint, name)
		o.Credential = azure.Credential{SASToken: token}
		return mustNew(t, o)
	}
	all := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
	hour := time.Now().Add(time.Hour)
	works(t, open(signature(t, name, all, hour)))
	works(t, open("?"+signature(t, name, all, hour)))
	refused(t, open(signature(t, name, all, time.Now().Add(-time.Minute))), objstore.ErrCredential)
	refused(t, open("sv=2022-11-02&sr=c&sp=rwdl&se=2099-01-01&sig=d3Jvbmc%3D"), objstore.ErrCredential)

	reader := open(signature(t, name, sas.ContainerPermissions{Read: true, List: true}, hour))
	require.Empty(t, objstoretest.MustList(t, reader, ""))
	err := reader.PutIfAbsent(t.Context(), "o", nil)
	require.ErrorIs(t, err, objstore.ErrDenied)
	require.NotErrorIs(t, err, objstore.ErrCredential)
}

func TestServicePrincipal(t *testing.T) {
	server := azuretest.StartTLS(t)
	name := server.Container(t)
	authority := azuretest.NewAuthority(t, "first")
	open := func(secret string) *azure.Bucket {
		o := options(server.Endpoint, name)
		o.Credential = azure.Credential{ServicePrincipal: &azure.ServicePrincipal{
			TenantID: azuretest.TenantID, ClientID: azuretest.ClientID, ClientSecret: secret,
		}}
		o.Identity.Authority = authority.URL
		o.Limits = steady
		return mustNew(t, o)
	}
	bucket := open("first")
	works(t, bucket)
	require.Equal(t, 1, authority.Issued(), "the token is used again")
	refused(t, open("wrong"), objstore.ErrCredential)

	authority.SetSecret("second")
	works(t, bucket)
	works(t, open("second"))
	refused(t, open("first"), objstore.ErrCredential)

	// A token that the service refuses is replaced.
	authority.SetLifetime(-time.Minute)
	stale := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"not.a.token","expires_in":3600}`)
	}
	authority.Answer(stale)
	late := open("second")
	_, err := late.Stat(t.Context(), "o")
	require.ErrorIs(t, err, objstore.ErrCredential)
	authority.SetLifetime(time.Hour)
	authority.Answer(nil)
	works(t, late)

	for name, answer := range map[string]http.HandlerFunc{
		"503":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no token": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"token_type":"Bearer"}`) },
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `secret`) },
		"silence":  objstoretest.Hang,
		"two lines": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"access_token":"a\r\nX-Evil: 1","expires_in":60}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			authority.Answer(answer)
			defer authority.Answer(nil)
			start := time.Now()
			objstoretest.RequireUnsent(t, open("second"))
			require.Less(t, time.Since(start), time.Minute)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	authority.Answer(objstoretest.Hang)
	err = open("second").PutIfAbsent(ctx, "o", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, objstore.ErrUnknown)
}

func TestManagedIdentity(t *testing.T) {
	server := azuretest.StartTLS(t)
	name := server.Container(t)
	authority := azuretest.NewAuthority(t, "")
	open := func(client, header string) *azure.Bucket {
		o := options(server.Endpoint, name)
		o.Credential = azure.Credential{ManagedIdentity: &azure.ManagedIdentity{ClientID: client}}
		o.Identity.Endpoint, o.Identity.Header = authority.IdentityEndpoint, header
		dialed := o.Dial
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			require.NotContains(t, authority.URL, address, "the machine's endpoint is not an address of the user")
			if dialed != nil {
				return dialed(ctx, network, address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return mustNew(t, o)
	}
	works(t, open("", azuretest.IdentityHeader))
	works(t, open("", "")) // the instance metadata service
	works(t, open(azuretest.ClientID, azuretest.IdentityHeader))
	refused(t, open("other", azuretest.IdentityHeader), objstore.ErrCredential)
	refused(t, open("", "wrong-header"), objstore.ErrCredential)
}

// TestAmbientIdentity uses the identity of the workload, or else the managed one of the system. One that
// fails is not replaced by the other.
func TestAmbientIdentity(t *testing.T) {
	server := azuretest.StartTLS(t)
	name := server.Container(t)
	authority, other := azuretest.NewAuthority(t, ""), azuretest.NewAuthority(t, "")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(azuretest.WorkloadToken+"\n"), 0o600))
	open := func(w azure.WorkloadIdentity) *azure.Bucket {
		o := options(server.Endpoint, name)
		o.Credential, o.Limits = azure.Credential{Ambient: true}, steady
		o.Identity = azure.Identity{Authority: other.URL, Endpoint: other.IdentityEndpoint, Header: azuretest.IdentityHeader, Workload: w}
		return mustNew(t, o)
	}
	workload := azure.WorkloadIdentity{TenantID: azuretest.TenantID, ClientID: azuretest.ClientID, TokenFile: file, Authority: authority.URL}
	works(t, open(workload))
	require.Equal(t, 1, authority.Issued(), "the token is used again")
	require.NoError(t, os.WriteFile(file, []byte("secret"), 0o600))
	refused(t, open(workload), objstore.ErrCredential)
	workload.TokenFile += "-missing"
	refused(t, open(workload), objstore.ErrUnavailable)
	require.Zero(t, other.Issued())
	works(t, open(azure.WorkloadIdentity{}))
	require.Equal(t, 1, other.Issued())
}

func TestOptions(t *testing.T) {
	principal := func(change func(*azure.ServicePrincipal)) func(*azure.Options) {
		return func(o *azure.Options) {
			o.Endpoint = ""
			p := azure.ServicePrincipal{TenantID: "tenant", ClientID: "client", ClientSecret: "s"}
			change(&p)
			o.Credential = azure.Credential{ServicePrincipal: &p}
		}
	}
	for name, test := range map[string]struct {
		option string
		change func(*azure.Options)
	}{
		"no account":          {"account", func(o *azure.Options) { o.Account = "" }},
		"account as a host":   {"account", func(o *azure.Options) { o.Account = "evil.example/" }},
		"no container":        {"container", func(o *azure.Options) { o.Container = "" }},
		"a path":              {"container", func(o *azure.Options) { o.Container = "a/b" }},
		"hyphens":             {"container", func(o *azure.Options) { o.Container = "a--b" }},
		"long container":      {"container", func(o *azure.Options) { o.Container = fmt.Sprintf("a%063d", 0) }},
		"endpoint: scheme":    {"endpoint", func(o *azure.Options) { o.Endpoint = "file:///etc/passwd" }},
		"endpoint: user":      {"endpoint", func(o *azure.Options) { o.Endpoint = "https://u:p@store.example" }},
		"endpoint: path":      {"endpoint", func(o *azure.Options) { o.Endpoint = "https://store.example/other" }},
		"endpoint: query":     {"endpoint", func(o *azure.Options) { o.Endpoint = "https://store.example?x=1" }},
		"endpoint: no host":   {"endpoint", func(o *azure.Options) { o.Endpoint = "https://:80" }},
		"no credential":       {"credential", func(o *azure.Options) { o.Credential = azure.Credential{} }},
		"two credentials":     {"credential", func(o *azure.Options) { o.Credential.SASToken = "sig=evil" }},
		"account key":         {"account_key", func(o *azure.Options) { o.Credential.AccountKey = "evil!" }},
		"SAS of no signature": {"sas_token", func(o *azure.Options) { o.Credential = azure.Credential{SASToken: "sv=evil"} }},
		"SAS with a request":  {"sas_token", func(o *azure.Options) { o.Credential = azure.Credential{SASToken: "sig=evil&comp=list"} }},
		"tenant":              {"tenant_id", principal(func(p *azure.ServicePrincipal) { p.TenantID = "a/../evil" })},
		"client":              {"client_id", principal(func(p *azure.ServicePrincipal) { p.ClientID = "" })},
		"client secret":       {"client_secret", principal(func(p *azure.ServicePrincipal) { p.ClientSecret = "" })},
		"tokens without TLS": {"endpoint", func(o *azure.Options) {
			principal(func(*azure.ServicePrincipal) {})(o)
			o.Endpoint = "http://store.example"
		}},
		"authority": {"authority", func(o *azure.Options) { o.Identity.Authority = "https://evil.example/path" }},
		"no managed identities": {"identity_endpoint", func(o *azure.Options) {
			o.Endpoint, o.Credential = "", azure.Credential{ManagedIdentity: &azure.ManagedIdentity{}}
		}},
	} {
		o := options("http://127.0.0.1:1", "bucket")
		test.change(&o)
		_, err := azure.New(o)
		var wrong *azure.OptionError
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, test.option, wrong.Option, name)
		require.NotContains(t, err.Error(), "evil")
	}
	c := azure.Credential{
		AccountKey: "AK-secret", SASToken: "ST-secret", ServicePrincipal: &azure.ServicePrincipal{ClientSecret: "CS-secret"},
	}
	o := azure.Options{Credential: c, Identity: azure.Identity{Header: "IH-secret"}}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v", o), fmt.Sprintf("%#v", o),
		fmt.Sprintf("%v %#v %+v", *c.ServicePrincipal, *c.ServicePrincipal, c.ServicePrincipal), c.LogValue().String()} {
		require.NotContains(t, text, "secret")
	}
}

func TestLocate(t *testing.T) {
	public := options("", "lake")
	public.Account = "acct"
	local := options("http://127.0.0.1:1/"+azuretest.Account, "lake")
	for _, c := range []struct {
		o                        azure.Options
		scheme, host, path, want string
	}{
		{public, "abfss", "lake@acct.dfs.core.windows.net", "/prefix/table/x.parquet", "x.parquet"},
		{public, "wasbs", "lake@acct.blob.core.windows.net", "/prefix/table/p=1/x y.parquet", "p=1/x y.parquet"},
		{public, "az", "lake", "/prefix/table/x.parquet", "x.parquet"},
		{public, "abfss", "lake@other.dfs.core.windows.net", "/prefix/table/x.parquet", ""},
		{public, "abfss", "lake@acct.dfs.core.chinacloudapi.cn", "/prefix/table/x.parquet", ""},
		{public, "abfss", "lake2@acct.dfs.core.windows.net", "/prefix/table/x.parquet", ""},
		{public, "abfss", "lake@acct.dfs.core.windows.net", "/prefix/table/../x.parquet", ""},
		{public, "s3", "lake", "/prefix/table/x.parquet", ""},
		{public, "az", "", "/prefix/table/x.parquet", ""},
		{public, "az", "lake", "/prefix/other/x.parquet", ""},
		{local, "az", "lake", "/prefix/table/x.parquet", "x.parquet"},
		{local, "abfss", "lake@" + azuretest.Account + ".dfs.core.windows.net", "/prefix/table/x.parquet", ""},
	} {
		table := objstore.Prefix(mustNew(t, c.o), "prefix/table")
		name, ok := objstore.Locate(table, objstore.Reference{Scheme: c.scheme, Host: c.host, Path: c.path})
		require.Equal(t, c.want != "", ok, "%v", c)
		if ok {
			require.Equal(t, c.want, name, "%v", c)
		}
	}
}
