package storage_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
)

// cloud is a store with credentials for one root in it.
type cloud struct {
	kind     string
	settings object
	// Two credentials that the store accepts, and one that it rejects.
	first, second, rejected object
	// mode is the authMode of the credentials.
	mode string
	// malformed are credentials that are refused without asking the store, by the fields
	// that the refusal names.
	malformed map[string]object
	// secrets are parts of the credentials that may be seen nowhere.
	secrets []string
	// respelled is another spelling of the same root.
	respelled object
	// alias is the other name of the kind in the path of a rotation.
	alias string
}

type object = map[string]any

// with returns an object with the fields of several.
func with(objects ...object) object {
	all := object{}
	for _, o := range objects {
		maps.Copy(all, o)
	}
	return all
}

func azureCloud(t *testing.T) cloud {
	store := azuretest.Start(t)
	settings := object{"account": azuretest.Account, "container": store.Container(t), "endpoint": store.Endpoint}
	return cloud{
		kind: "azure", settings: settings, mode: "account_key", alias: "kind_b",
		first: object{"accountKey": azuretest.Key}, second: object{"accountKey": azuretest.SecondKey},
		rejected: object{"accountKey": "cGxhbnRlZC1zZWNyZXQ="},
		malformed: map[string]object{
			"accountKey sasToken servicePrincipal managedIdentity credential": {},
			"accountKey sasToken": {"accountKey": azuretest.Key, "sasToken": "sig=x"},
			"accountKey":          {"accountKey": "not base64"},
			"sasToken":            {"sasToken": "sv=1&sig=x&se=2020-01-01T00:00:00Z"},
			"endpoint":            {"managedIdentity": object{}}, // tokens need TLS
			"container":           {"accountKey": azuretest.Key, "container": "other"},
			"serviceAccountKey":   {"accountKey": azuretest.Key, "serviceAccountKey": "{}"},
		},
		secrets:   []string{azuretest.Key, azuretest.SecondKey, "cGxhbnRlZC1zZWNyZXQ="},
		respelled: with(settings, object{"endpoint": strings.ToUpper(store.Endpoint[:4]) + store.Endpoint[4:] + "/"}),
	}
}

func gcsCloud(t *testing.T) cloud {
	store := gcstest.Start(t)
	guard := store.Guard(t)
	settings := object{"bucket": store.Bucket(t), "endpoint": guard.Endpoint}
	first, second, rejected := guard.Key(t, "first"), guard.Key(t, "second"), guard.Key(t, "rejected")
	guard.Revoke("rejected")
	key := func(document string) object { return object{"serviceAccountKey": document} }
	return cloud{
		kind: "gcs", settings: settings, mode: "service_account_key", alias: "kind_a",
		first: key(first), second: key(second), rejected: key(rejected),
		malformed: map[string]object{
			"serviceAccountKey":           key("{}"),
			"serviceAccountKey.token_uri": key(rekeyed(t, first, "token_uri", "http://169.254.169.254/token")),
			"bucket":                      with(key(first), object{"bucket": "other"}),
			"accountKey":                  with(key(first), object{"accountKey": azuretest.Key}),
		},
		secrets:   []string{privateLine(t, first), privateLine(t, second), privateLine(t, rejected)},
		respelled: with(settings, object{"endpoint": strings.ToUpper(guard.Endpoint[:4]) + guard.Endpoint[4:] + "/"}),
	}
}

// keyFile decodes the key file of a service account.
func keyFile(t *testing.T, document string) map[string]string {
	t.Helper()
	var file map[string]string
	require.NoError(t, json.Unmarshal([]byte(document), &file))
	return file
}

// rekeyed returns a key file with another value of a field.
func rekeyed(t *testing.T, document, field, value string) string {
	t.Helper()
	file := keyFile(t, document)
	file[field] = value
	text, err := json.Marshal(file)
	require.NoError(t, err)
	return string(text)
}

// privateLine returns a line of the private key in a key file.
func privateLine(t *testing.T, document string) string {
	t.Helper()
	return strings.Split(keyFile(t, document)["private_key"], "\n")[5]
}

// TestCloudStorage takes a configuration of every kind of cloud storage through its life.
func TestCloudStorage(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) cloud{"azure": azureCloud, "gcs": gcsCloud} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			s := harness.StartS3Server(t)
			l := cloudLife{Server: s, cloud: c}
			l.refusals(t)
			l.create(t)
			l.rows(t)
			l.rotations(t)
			s.Restart()
			require.Equal(t, 4.0, s.Admin.Count(l.schema+".orders"), "the key file opens the credential after a start")
			for _, secret := range c.secrets {
				require.Empty(t, harness.Leaked(t, s, secret))
			}
		})
	}
}

// cloudLife is one configuration on a server.
type cloudLife struct {
	*harness.Server
	cloud
	path, schema string
}

func (l *cloudLife) body(objects ...object) object {
	return with(append([]object{{"configName": "cloud", "kind": l.kind, "workspaceId": l.Boot.WorkspaceID}, l.settings}, objects...)...)
}

// secretless checks that a reply reveals nothing of a credential or an address.
func (l *cloudLife) secretless(t *testing.T, r harness.Reply) {
	t.Helper()
	for _, secret := range l.secrets {
		require.NotContains(t, string(r.Body), secret)
	}
}

// refusals creates configurations that are refused. None stays.
func (l *cloudLife) refusals(t *testing.T) {
	before := len(l.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any))
	for name, test := range map[string]struct {
		change object
		code   string
		fields []string
	}{
		"rejected": {l.rejected, "credential_rejected", []string{"list", "put", "get", "put_if_absent", "delete"}},
		"s3":       {with(l.first, object{"region": "x"}), "invalid_field", []string{"region"}},
		"prefix":   {with(l.first, object{"prefix": "a/../b"}), "invalid_field", []string{"prefix"}},
		"endpoint": {with(l.first, object{"endpoint": "http://169.254.169.254"}), "invalid_field", []string{"endpoint"}},
		"a root":   {with(l.first, object{"root": "x"}), "invalid_field", []string{"root"}},
	} {
		r := l.Admin.Call("POST", harness.ConfigsPath, l.body(test.change))
		code, fields := r.Problem(t, 422)
		require.Equal(t, test.code, code, name)
		require.Equal(t, test.fields, fields, name)
		l.secretless(t, r)
	}
	require.Len(t, l.Admin.OK("GET", harness.ConfigsPath, nil)["configs"], before)
}

func (l *cloudLife) create(t *testing.T) {
	made := l.Admin.OK("POST", harness.ConfigsPath, l.body(l.first, object{"prefix": "/below/"}))
	l.schema, l.path = made["schema"].(string), harness.ConfigsPath+"/"+made["configId"].(string)
	require.Equal(t, []any{l.kind, l.mode, nil, nil},
		[]any{made["kind"], made["authMode"], made["credentialExpiresAt"], made["credentialState"]})
	for name, value := range with(l.settings, object{"prefix": "below"}) {
		require.Equal(t, value, made[name], name)
		require.Equal(t, value, made["settings"].(object)[name], name)
	}
	require.Equal(t, true, l.Admin.OK("POST", l.path+"/validate", nil)["valid"])

	// Another spelling of the root is the same root.
	other, _ := l.Organisation("other-" + l.kind)
	for _, prefix := range []string{"/below/", "below/deeper", ""} {
		body := with(l.body(l.first), l.respelled, object{"prefix": prefix, "workspaceId": nil})
		code, _ := other.Call("POST", harness.ConfigsPath, body).Problem(t, 409)
		require.Equal(t, "location_taken", code)
	}
	other.Call("PUT", l.path+"/credentials/"+l.kind, l.second).Problem(t, 404)
	code, _ := l.Admin.Call("PATCH", l.path, object{"pathStyle": true}).Problem(t, 422)
	require.Equal(t, "wrong_kind", code)
}

// rows writes a table through the service and reads it through the gateway.
func (l *cloudLife) rows(t *testing.T) {
	l.Admin.Call("POST", "/v1/tables",
		l.NewTable(l.schema, "orders", nil, harness.Col("id", "long"), harness.Col("region", "string"))).JSON(t)
	table := "/v1/tables/lake/" + l.schema + "/orders"
	l.Admin.Write(table+"/rows", harness.RowsOf(object{"id": 1, "region": "eu"}, object{"id": 2, "region": "us"}))
	require.Equal(t, []any{[]any{1.0, "eu"}, []any{2.0, "us"}}, l.Admin.Rows("SELECT * FROM "+l.schema+".orders ORDER BY id"))
	l.Admin.Write(table+"/rows", harness.RowsOf(object{"id": 3, "region": "eu"}))
	require.Equal(t, 3.0, l.Admin.Count(l.schema+".orders"))
	require.Equal(t, 1.0, l.Admin.OK("POST", l.path+"/discover", nil)["tablesFound"])
}

// rotations tries credentials that are refused, which leave the old one in use, and
// others without storing them.
func (l *cloudLife) rotations(t *testing.T) {
	rotate, made := l.path+"/credentials/"+l.kind, l.Admin.OK("GET", l.path, nil)
	r := l.Admin.Call("PUT", rotate, l.rejected)
	code, fields := r.Problem(t, 422)
	require.Equal(t, "credential_rejected", code)
	require.Equal(t, []string{"list", "put", "get", "put_if_absent", "delete"}, fields)
	l.secretless(t, r)
	for fields, credential := range l.malformed {
		r := l.Admin.Call("PUT", rotate, credential)
		code, found := r.Problem(t, 422)
		require.Equal(t, "invalid_field", code, fields)
		require.Equal(t, strings.Fields(fields), found)
		l.secretless(t, r)
	}
	_, fields = l.Admin.Call("PUT", rotate, nil).Problem(t, 422)
	require.NotEmpty(t, fields)
	_, fields = l.Admin.Call("PUT", rotate, with(l.second, object{"expiresAt": "2020-01-01T00:00:00Z"})).Problem(t, 422)
	require.Equal(t, []string{"expiresAt"}, fields)
	for _, other := range []string{"s3", "gcs", "azure", "kind_a", "kind_b"} {
		if other == l.kind || other == l.alias {
			continue
		}
		code, _ := l.Admin.Call("PUT", l.path+"/credentials/"+other, nil).Problem(t, 422)
		require.Equal(t, "wrong_kind", code, other)
	}
	without := harness.ConfigsPath + "/" + string(delegated(l.Server, "delegated-"+l.kind)) + "/credentials/" + l.kind
	code, _ = l.Admin.Call("PUT", without, l.second).Problem(t, 422)
	require.Equal(t, "oauth_config_has_no_secret", code)
	require.Equal(t, true, l.Admin.OK("PUT", rotate+"?dry_run=true", l.second)["valid"])
	require.Equal(t, false, l.Admin.OK("PUT", rotate, with(l.rejected, object{"dry_run": true}))["valid"])
	require.Equal(t, made, l.Admin.OK("GET", l.path, nil), "nothing has changed")
	require.Equal(t, 3.0, l.Admin.Count(l.schema+".orders"))

	end := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	done := l.Admin.OK("PUT", l.path+"/credentials/"+l.alias, with(l.second, object{"expiresAt": end}))
	require.Equal(t, []any{"cloud", l.mode, end, true},
		[]any{done["configName"], done["authMode"], done["credentialExpiresAt"], done["valid"]})
	now := l.Admin.OK("GET", l.path, nil)
	require.Equal(t, []any{end, "expiring"}, []any{now["credentialExpiresAt"], now["credentialState"]})
	table := "/v1/tables/lake/" + l.schema + "/orders"
	l.Admin.Write(table+"/rows", harness.RowsOf(object{"id": 4, "region": "eu"}))
	require.Equal(t, 4.0, l.Admin.Count(l.schema+".orders"))
}
