package gcs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

var works, refused = objstoretest.RequireWorks, objstoretest.RequireRefused

func TestKeys(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	name := server.Bucket(t)
	with := func(key string) *gcs.Bucket {
		o := options(guard.Endpoint, name, key)
		o.Limits = steady
		return mustNew(t, o)
	}
	first, second := with(guard.Key(t, "first")), with(guard.Key(t, "second"))
	works(t, first)
	works(t, second)
	require.Equal(t, 2, guard.Issued(), "tokens are used again")
	other := server.Guard(t)
	refused(t, with(other.Key(t, "other")), objstore.ErrCredential)

	guard.Revoke("first")
	_, err := first.Stat(t.Context(), "o")
	require.ErrorIs(t, err, objstore.ErrCredential)
	refused(t, first, objstore.ErrCredential)
	works(t, second)

	// A token that the store refuses is replaced.
	guard.RevokeTokens()
	_, err = second.Stat(t.Context(), "o")
	require.ErrorIs(t, err, objstore.ErrCredential)
	works(t, second)

	o := options(guard.Endpoint, "no-such-bucket", guard.Key(t, "second"))
	refused(t, mustNew(t, o), objstore.ErrNoBucket)

	for kind, answer := range map[string]http.HandlerFunc{
		"503":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"no token": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"token_type":"Bearer"}`) },
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `secret`) },
		"silence":  objstoretest.Hang,
	} {
		t.Run(kind, func(t *testing.T) {
			guard.Answer(answer)
			defer guard.Answer(nil)
			objstoretest.RequireUnsent(t, with(guard.Key(t, "third")))
		})
	}
}

func TestOptions(t *testing.T) {
	guard := gcstest.Server{Endpoint: "http://127.0.0.1:1"}.Guard(t)
	key := func(change func(map[string]string)) func(*gcs.Options) {
		return func(o *gcs.Options) {
			var document map[string]string
			require.NoError(t, json.Unmarshal([]byte(guard.Key(t, "one")), &document))
			change(document)
			text, err := json.Marshal(document)
			require.NoError(t, err)
			o.Credential.ServiceAccountKey = string(text)
		}
	}
	for name, test := range map[string]struct {
		option string
		change func(*gcs.Options)
	}{
		"no bucket":          {"bucket", func(o *gcs.Options) { o.Bucket = "" }},
		"a path":             {"bucket", func(o *gcs.Options) { o.Bucket = "a/b" }},
		"dots":               {"bucket", func(o *gcs.Options) { o.Bucket = "a..b" }},
		"endpoint: scheme":   {"endpoint", func(o *gcs.Options) { o.Endpoint = "file:///etc/passwd" }},
		"endpoint: user":     {"endpoint", func(o *gcs.Options) { o.Endpoint = "https://u:p@evil.example" }},
		"endpoint: path":     {"endpoint", func(o *gcs.Options) { o.Endpoint = "https://evil.example/x" }},
		"endpoint: query":    {"endpoint", func(o *gcs.Options) { o.Endpoint = "https://evil.example?x=1" }},
		"no key":             {"service_account_key", func(o *gcs.Options) { o.Credential.ServiceAccountKey = "" }},
		"no JSON":            {"service_account_key", func(o *gcs.Options) { o.Credential.ServiceAccountKey = "evil" }},
		"no object":          {"service_account_key", func(o *gcs.Options) { o.Credential.ServiceAccountKey = `["evil"]` }},
		"a long document":    {"service_account_key", func(o *gcs.Options) { o.Credential.ServiceAccountKey += strings.Repeat(" ", 40<<10) }},
		"another type":       {"service_account_key", key(func(d map[string]string) { d["type"] = "authorized_user" })},
		"no e-mail":          {"service_account_key", key(func(d map[string]string) { delete(d, "client_email") })},
		"no private key":     {"service_account_key", key(func(d map[string]string) { d["private_key"] = "evil" })},
		"token URI: file":    {"service_account_key", key(func(d map[string]string) { d["token_uri"] = "file:///evil" })},
		"token URI: user":    {"service_account_key", key(func(d map[string]string) { d["token_uri"] = "https://u:evil@x" })},
		"token URI: nothing": {"service_account_key", key(func(d map[string]string) { delete(d, "token_uri") })},
	} {
		o := options("http://127.0.0.1:1", "bucket", guard.Key(t, "one"))
		test.change(&o)
		_, err := gcs.New(o)
		var wrong *gcs.OptionError
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, test.option, wrong.Option, name)
		require.NotContains(t, err.Error(), "evil")
	}
	c := gcs.Credential{ServiceAccountKey: guard.Key(t, "one")}
	require.Equal(t, guard.TokenURI, c.TokenURI())
	require.Empty(t, gcs.Credential{}.TokenURI())
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v", gcs.Options{Credential: c}),
		c.LogValue().String()} {
		require.NotContains(t, text, "PRIVATE KEY")
	}
}

func TestLocate(t *testing.T) {
	guard := gcstest.Server{Endpoint: "http://127.0.0.1:1"}.Guard(t)
	table := objstore.Prefix(mustNew(t, options("", "lake", guard.Key(t, "one"))), "prefix/table")
	for _, c := range []struct{ scheme, host, path, want string }{
		{"gs", "lake", "/prefix/table/x.parquet", "x.parquet"},
		{"gcs", "lake", "/prefix/table/p=1/x y.parquet", "p=1/x y.parquet"},
		{"gs", "lake", "/prefix/table2/x.parquet", ""},
		{"gs", "lake", "/prefix/table/../other/x.parquet", ""},
		{"gs", "lake2", "/prefix/table/x.parquet", ""},
		{"s3", "lake", "/prefix/table/x.parquet", ""},
		{"gs", "", "/prefix/table/x.parquet", ""},
	} {
		name, ok := objstore.Locate(table, objstore.Reference{Scheme: c.scheme, Host: c.host, Path: c.path})
		require.Equal(t, c.want != "", ok, "%v", c)
		if ok {
			require.Equal(t, c.want, name, "%v", c)
		}
	}
}
