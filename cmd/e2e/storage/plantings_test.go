package storage_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// planting sends credentials to a server.
type planting struct {
	*harness.Server
	secrets harness.Canaries
	// control is no secret: every place is shown to hold it.
	control string
	replies bytes.Buffer
	stores  []plantedStore
	// links are those of the owner of a delegated configuration.
	links     delegatedStore
	upstream  *providertest.Server
	people    harness.Signer
	authority *azuretest.Authority
	// issued return tokens that servers have issued.
	issued []func() []string
}

// plantedStore is a root in a store, with credentials that the store accepts and others.
type plantedStore struct {
	kind      string
	settings  object
	good, bad []object
	// answer replaces the answers of the store; nil restores them.
	answer func(http.HandlerFunc)
}

// newPlanting starts the stores and a server.
func newPlanting(t *testing.T, database string) *planting {
	p := &planting{
		secrets: harness.Canaries{}, control: "control-" + uuid.NewString(), links: delegatedGoogle(t),
		upstream: providertest.New(t), people: harness.NewSigner(t),
	}
	p.upstream.Mint = p.links.mint
	p.issued = append(p.issued, p.upstream.Issued)
	p.stores = []plantedStore{p.s3(t), p.azure(t), p.azureOverTLS(t), p.gcs(t)}
	p.Server = harness.Start(t, func(c *harness.Settings) {
		p.people.Trust(c)
		c.AllowPrivateEndpoints, c.LogLevel, c.DatabaseURL = true, "debug", database
		c.AzureAuthority = p.authority.URL
		c.Providers = map[string]config.Provider{p.links.provider: {
			Issuer: p.upstream.URL, Permissions: []string{"storage"}, Scopes: []string{"openid", "offline_access"}, StorageURL: p.links.store,
		}}
	})
	return p
}

// plant makes a text a canary, in every form that a dump may give it.
func (p *planting) plant(what, secret string) string {
	for form, text := range formsOf(secret) {
		p.secrets.Text(what+form, text)
	}
	return secret
}

// formsOf returns the forms in which a text may appear inside a longer one, by their names.
func formsOf(text string) map[string]string {
	forms := map[string]string{"": text, " in hexadecimal": hex.EncodeToString([]byte(text))}
	if escaped := url.QueryEscape(text); escaped != text {
		forms[" in a query"] = escaped
	}
	if escaped := url.PathEscape(text); escaped != text {
		forms[" in a path"] = escaped
	}
	if quoted, err := json.Marshal(text); err == nil && string(quoted) != `"`+text+`"` {
		forms[" in JSON"] = string(quoted[1 : len(quoted)-1])
	}
	for name, encoding := range map[string]*base64.Encoding{" in base64": base64.RawStdEncoding, " in base64url": base64.RawURLEncoding} {
		for before := range 3 { // bytes that share a group of three with the first byte of the text
			encoded := encoding.EncodeToString(append(make([]byte, before), text...))
			whole := (before + len(text)) / 3 * 4
			forms[name+strings.Repeat("+", before)] = encoded[(before+2)/3*4 : whole]
		}
	}
	return forms
}

// formsAreFound checks that the search finds a canary in every form and alignment.
func (p *planting) formsAreFound(t *testing.T) {
	t.Helper()
	require.Greater(t, len(p.secrets), 200)
	const text = `a"b/c+d?e f&<g` + "\n"
	canaries := harness.Canaries{}
	for form, text := range formsOf(text) {
		canaries.Text(form, text)
	}
	quoted, err := json.Marshal(object{"key": text})
	require.NoError(t, err)
	for before := range 3 {
		padded := []byte(strings.Repeat("x", before) + text + "xxxx")
		for _, dump := range []string{
			string(padded), hex.EncodeToString(padded), base64.StdEncoding.EncodeToString(padded), base64.URLEncoding.EncodeToString(padded),
			url.QueryEscape(string(padded)), url.PathEscape(string(padded)), string(quoted),
		} {
			require.NotEmpty(t, canaries.In([]byte(dump)), dump)
		}
	}
}

// Expectations of send.
const (
	anyFailure = -iota - 1
	anyStatus
)

// send sends a request that has the control in its header, and stores the reply. The status may be
// anyFailure or anyStatus.
func (p *planting) send(t *testing.T, method, path string, body any, status int) map[string]any {
	t.Helper()
	r := p.Admin.Call(method, path, body, "X-Request-Id", p.control)
	switch status {
	case anyStatus:
	case anyFailure:
		require.GreaterOrEqual(t, r.Status, 400, "%s %s: %s", method, path, r.Body)
	default:
		require.Equal(t, status, r.Status, "%s %s %v: %s", method, path, body, r.Body)
	}
	p.replies.Write(r.Body)
	require.NoError(t, r.Header.Write(&p.replies))
	var reply map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &reply))
	return reply
}

// life creates a configuration, uses it, and rotates its credential to each of the good ones. The bad
// ones are refused at every step. Then the store fails, and at last a table is moved.
func (p *planting) life(t *testing.T, store plantedStore) {
	t.Helper()
	name := p.control + uuid.NewString()[:4]
	body := with(object{"configName": name, "kind": store.kind, "workspaceId": p.Boot.WorkspaceID}, store.settings)
	for _, credential := range store.bad {
		p.send(t, "POST", harness.ConfigsPath, with(body, credential), http.StatusUnprocessableEntity)
	}
	made := p.send(t, "POST", harness.ConfigsPath, with(body, store.good[0]), http.StatusCreated)
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	credentials := path + "/credentials/" + store.kind
	for _, credential := range store.bad {
		p.send(t, "PUT", credentials, credential, http.StatusUnprocessableEntity)
	}
	table := made["schema"].(string) + ".t"
	p.send(t, "POST", "/v1/tables", p.NewTable(made["schema"].(string), "t", nil, harness.Col("id", "long")), http.StatusCreated)
	for _, credential := range store.good {
		p.send(t, "PUT", credentials+"?dry_run=true", credential, http.StatusOK)
		p.send(t, "PUT", credentials, credential, http.StatusOK)
		p.use(t, table, http.StatusOK)
		p.send(t, "POST", path+"/validate", nil, http.StatusOK)
	}
	p.send(t, "GET", path, nil, http.StatusOK)
	for _, sql := range []string{"SELECT * FROM duckdb_secrets()", "SELECT * FROM duckdb_settings()"} {
		p.send(t, "POST", "/v1/query", object{"sql": sql}, http.StatusBadRequest)
	}
	if last := store.good[len(store.good)-1]; store.answer != nil {
		for _, failure := range []http.HandlerFunc{repeatRequest, cutConnection} {
			store.answer(failure)
			p.send(t, "POST", harness.ConfigsPath, with(body, last, object{"configName": name + "2", "prefix": "other"}), anyFailure)
			p.send(t, "PUT", credentials, last, anyFailure)
			p.use(t, table, anyStatus) // tokens are reused
		}
		store.answer(nil)
	}
	p.move(t, made, name)
}

// use writes to a table and reads it.
func (p *planting) use(t *testing.T, table string, status int) {
	t.Helper()
	p.send(t, "POST", "/v1/tables/lake/"+strings.Replace(table, ".", "/", 1)+"/rows", harness.RowsOf(object{"id": 1}), status)
	sql := `SELECT count(*) AS "` + uuid.NewString() + `" FROM ` + table
	p.send(t, "POST", "/v1/query", object{"sql": sql, "max_staleness_ms": 0}, status)
}

// move moves the table t of a configuration to the server's own directory.
func (p *planting) move(t *testing.T, from map[string]any, to string) {
	t.Helper()
	for _, config := range p.send(t, "GET", harness.ConfigsPath, nil, http.StatusOK)["configs"].([]any) {
		if own := config.(map[string]any); own["schema"] == p.Schema {
			p.send(t, "POST", movePath, object{
				"sourceConfigId": from["configId"], "sourcePath": "t", "destinationConfigId": own["configId"], "destinationPath": to,
			}, http.StatusOK)
			return
		}
	}
	require.Fail(t, "no configuration of the server's own")
}

func (p *planting) s3(t *testing.T) plantedStore {
	server := s3test.Start(t)
	g := newSessionGate(t, server)
	bucket := server.Bucket(t)
	user := func(what string) object {
		key := "key" + uuid.NewString()[:8]
		return object{"accessKeyId": key, "secretAccessKey": p.plant(what, server.User(t, key, s3test.RoleAdmin))}
	}
	session := user("s3: with a session")
	session["sessionToken"] = p.plant("s3: session token", g.begin(session["accessKeyId"].(string), session["secretAccessKey"].(string)))
	role := with(user("s3: for a role"), object{"roleArn": s3test.PlatformRole})
	p.issued = append(p.issued, g.granted)
	good := []object{user("s3: replaced"), session, role, user("s3: in use")}
	canary := func(what string) string { return p.plant(what, "canary-"+rand.Text()) }
	return plantedStore{
		kind: "s3", settings: object{"bucket": bucket, "region": s3test.Region, "endpoint": g.URL}, good: good, answer: g.Answer,
		bad: []object{
			with(good[0], object{"secretAccessKey": canary("s3: rejected")}),
			with(session, object{"sessionToken": canary("s3: rejected token")}),
			with(good[0], object{"secretAccessKey": canary("s3: of a bad role"), "roleArn": "x"}),
			with(good[0], object{"sessionToken": canary("s3: unknown token"), "secretAccessKey": []string{canary("s3: in a list")}}),
			with(good[0], object{"unknown": canary("s3: unknown field")}),
		},
	}
}

// azureRoot is an empty container, and signatures for it.
func (p *planting) azureRoot(t *testing.T, server azuretest.Server) (settings object, signed func(what string, end time.Duration) string) {
	name := server.Container(t)
	all := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
	return object{"account": azuretest.Account, "container": name, "endpoint": server.Endpoint},
		func(what string, end time.Duration) string {
			query := server.Signature(t, name, all, time.Now().Add(end))
			_, signature, _ := strings.Cut(query, "sig=")
			signature, _, _ = strings.Cut(signature, "&")
			plain, err := url.QueryUnescape(signature)
			require.NoError(t, err)
			p.plant(what+": signature", plain)
			return p.plant(what, query)
		}
}

func (p *planting) azure(t *testing.T) plantedStore {
	server := azuretest.Start(t)
	g := newGate(t, server.Endpoint[:len(server.Endpoint)-len("/"+azuretest.Account)], nil)
	settings, signed := p.azureRoot(t, server)
	settings["endpoint"] = server.Through(strings.TrimPrefix(g.URL, "http://")).Endpoint
	secret := func(what string) string {
		return p.plant(what, base64.StdEncoding.EncodeToString([]byte("canary-"+rand.Text())))
	}
	principal := object{"tenantId": azuretest.TenantID, "clientId": azuretest.ClientID, "clientSecret": secret("azure: a client's")}
	return plantedStore{
		kind: "azure", settings: settings, answer: g.Answer,
		good: []object{
			{"accountKey": p.plant("azure: key", azuretest.Key)}, {"sasToken": signed("azure: replaced", time.Hour)},
			{"accountKey": p.plant("azure: second key", azuretest.SecondKey)}, {"sasToken": signed("azure: in use", 2*time.Hour)},
		},
		bad: []object{
			{"accountKey": secret("azure: rejected")},
			{"accountKey": secret("azure: one of two modes"), "sasToken": signed("azure: the other of two modes", 3*time.Hour)},
			{"accountKey": "!" + secret("azure: malformed")},
			{"sasToken": signed("azure: expired", -time.Hour)},
			{"servicePrincipal": principal}, // tokens need TLS
			{"servicePrincipal": with(principal, object{"tenantId": "/"})},
			{"accountKey": azuretest.Key, "secretAccessKey": secret("azure: of another kind")},
		},
	}
}

// azureOverTLS uses tokens.
func (p *planting) azureOverTLS(t *testing.T) plantedStore {
	settings, signed := p.azureRoot(t, azuretest.StartTLS(t))
	principal := func(secret string) object {
		return object{"servicePrincipal": object{
			"tenantId": azuretest.TenantID, "clientId": azuretest.ClientID, "clientSecret": secret,
		}}
	}
	secret := p.plant("azure: service principal", "canary-"+rand.Text())
	p.authority = azuretest.NewAuthority(t, secret)
	p.issued = append(p.issued, p.authority.Tokens)
	return plantedStore{
		kind: "azure", settings: settings, answer: p.authority.Answer,
		good: []object{{"sasToken": signed("azure: over TLS", time.Hour)}, principal(secret)},
		bad:  []object{principal(p.plant("azure: rejected service principal", "canary-"+rand.Text()))},
	}
}

func (p *planting) gcs(t *testing.T) plantedStore {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	g := newGate(t, guard.Endpoint, nil)
	key := func(what string) string {
		document := guard.Key(t, what)
		p.plant("gcs: "+what, privateLine(t, document))
		return document
	}
	file := func(document string) object { return object{"serviceAccountKey": document} }
	rejected := file(key("rejected"))
	guard.Revoke("rejected")
	p.issued = append(p.issued, guard.Tokens)
	return plantedStore{
		kind: "gcs", settings: object{"bucket": server.Bucket(t), "endpoint": g.URL}, answer: g.Answer,
		good: []object{file(key("replaced")), file(key("in use"))},
		bad: []object{
			rejected,
			file(key("cut") + "}"),
			file(rekeyed(t, key("of another type"), "type", "external_account")),
			file(rekeyed(t, key("with an address inside"), "token_uri", "http://169.254.169.254/"+p.plant("gcs: address", rand.Text()))),
		},
	}
}

// invited is the address of an e-mail.
func (p *planting) invited() string { return "invited-" + p.control + "@acme.example" }

// delegatedLife creates and uses a configuration that is opened with the link of its owner, whose
// tokens are renewed, and ends the link.
func (p *planting) delegatedLife(t *testing.T) {
	t.Helper()
	p.plant("delegated: client secret", providertest.ClientSecret)
	org := "/v1/organisations/" + p.Boot.OrganisationID
	app := org + "/provider-apps/" + p.links.provider
	p.send(t, "POST", app, object{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret}, http.StatusOK)
	p.upstream.Life = 61 // shorter than a token is reused for
	p.Link(p.people.Person(p.Server, p.Boot.UserID, p.Boot.OrganisationID), app, p.upstream)
	name := p.control + "-delegated"
	body := with(object{"configName": name, "kind": "delegated", "provider": p.links.provider}, p.links.settings)
	made := p.send(t, "POST", harness.ConfigsPath, body, http.StatusCreated)
	path, schema := harness.ConfigsPath+"/"+made["configId"].(string), made["schema"].(string)
	p.send(t, "POST", "/v1/tables", p.NewTable(schema, "t", nil, harness.Col("id", "long")), http.StatusCreated)
	require.Eventually(t, func() bool {
		p.use(t, schema+".t", http.StatusOK)
		return p.upstream.Refreshes() > 0
	}, time.Minute, 100*time.Millisecond)
	p.send(t, "PUT", path+"/credentials/gcs", object{"serviceAccountKey": p.plant("delegated: rotated", rand.Text())}, 422)
	p.send(t, "POST", path+"/validate", nil, http.StatusOK)
	p.move(t, made, name)
	p.send(t, "POST", org+"/invite", object{"email": p.invited(), "role": "viewer"}, http.StatusOK)
	p.upstream.RevokeAll()
	require.Eventually(t, func() bool {
		p.replies.Write(p.Admin.Call("POST", path+"/validate", nil).Body)
		return p.Admin.Call("POST", path+"/discover", nil).Status >= 400
	}, time.Minute, 100*time.Millisecond)
	for _, issued := range p.issued {
		tokens := issued()
		require.NotEmpty(t, tokens)
		for _, token := range tokens {
			p.plant("token "+token, token)
		}
	}
}
