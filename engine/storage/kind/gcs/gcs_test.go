package gcs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/gcs"
)

var local = gcs.Kind{Egress: storage.Egress{AllowPrivate: true}}

// pemOf returns a private key in PEM.
func pemOf(t *testing.T, private any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// keyFile returns the key file of a service account with other fields.
func keyFile(t *testing.T, change map[string]any) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := map[string]any{
		"type": "service_account", "private_key_id": "planted", "private_key": pemOf(t, private),
		"client_email": "a@b.example", "token_uri": "http://127.0.0.1:1/token",
	}
	for name, value := range change {
		file[name] = value
	}
	text, err := json.Marshal(file)
	require.NoError(t, err)
	return string(text)
}

func open(t *testing.T, k gcs.Kind, fields map[string]any) kind.Access {
	t.Helper()
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	access, err := k.New(text)
	require.NoError(t, err)
	return access
}

func TestLocationsAreCanonical(t *testing.T) {
	for endpoint, store := range map[string]string{
		"":                               "storage.googleapis.com",
		"https://Storage.googleapis.com": "storage.googleapis.com",
		"https://storage.me-central2.rep.googleapis.com:443/": "storage.googleapis.com",
		"https://storage-lake.p.googleapis.com":               "storage.googleapis.com",
		"http://Store.Example.:4443":                          "store.example:4443",
	} {
		r, err := open(t, local, map[string]any{"bucket": "b", "prefix": "/p/", "endpoint": endpoint}).Record()
		require.NoError(t, err)
		require.Equal(t, kind.Location{Scheme: "gs", Store: store, Container: "b", Prefix: "p"}, r.Location, endpoint)
	}
	for _, fields := range []map[string]any{
		{"bucket": "b", "endpoint": "https://b.storage.googleapis.com"}, {"bucket": "b", "endpoint": "x"}, {"bucket": "b", "prefix": "a//b"},
	} {
		_, err := open(t, local, fields).Record()
		require.ErrorAs(t, err, new(kind.FieldErrors), "%v", fields)
	}
}

func TestKeysAreCheckedBeforeTheyAreUsed(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		key, field string
	}{
		"none":        {"", "serviceAccountKey"},
		"not JSON":    {"planted", "serviceAccountKey"},
		"other type":  {keyFile(t, map[string]any{"type": "external_account"}), "serviceAccountKey"},
		"no e-mail":   {keyFile(t, map[string]any{"client_email": ""}), "serviceAccountKey"},
		"no key":      {keyFile(t, map[string]any{"private_key": "planted"}), "serviceAccountKey"},
		"another key": {keyFile(t, map[string]any{"private_key": pemOf(t, curve)}), "serviceAccountKey"},
		"metadata":    {keyFile(t, map[string]any{"token_uri": "http://169.254.169.254/token"}), "serviceAccountKey.token_uri"},
		"no URL":      {keyFile(t, map[string]any{"token_uri": "/token"}), "serviceAccountKey"},
	} {
		var fields kind.FieldErrors
		fieldsOf := map[string]any{"bucket": "bucket", "endpoint": "http://127.0.0.1:1", "serviceAccountKey": test.key}
		err := open(t, local, fieldsOf).Check(t.Context())
		require.True(t, errors.As(err, &fields), "%s: %v", name, err)
		require.Equal(t, test.field, fields[0].Field, name)
		require.NotContains(t, err.Error(), "planted", name)
	}
	good := map[string]any{"bucket": "bucket", "endpoint": "http://127.0.0.1:1", "serviceAccountKey": keyFile(t, nil)}
	access := open(t, local, good)
	require.NoError(t, access.Check(t.Context()))
	r, err := access.Record()
	require.NoError(t, err)
	require.Equal(t, "service_account_key", r.Mode)
	require.NotContains(t, string(r.Settings)+fmt.Sprintf("%v %+v %#v", access, access, access), "planted")

	delete(good, "endpoint")
	err = open(t, gcs.Kind{}, good).Check(t.Context())
	require.ErrorContains(t, err, "serviceAccountKey.token_uri", "addresses inside a key are judged like endpoints")
}
