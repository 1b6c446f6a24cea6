package awskms_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms/kmstest"
)

var _ secret.KeyService = (*awskms.Key)(nil)

// disabled answers as for a disabled key, which moto does not.
func disabled(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write([]byte(`{"__type":"DisabledException","message":"the key is disabled"}`))
}

func TestKeyFileOfAKMS(t *testing.T) {
	kmstest.Credentials(t)
	server := kmstest.Start(t)
	uri := server.Key()
	proxy := server.Proxy()
	key, err := awskms.New(t.Context(), uri, proxy.Endpoint)
	require.NoError(t, err)
	require.Equal(t, uri, key.URI())
	sealed, err := key.Encrypt(t.Context(), []byte("plain"), []byte("context"))
	require.NoError(t, err)
	_, err = key.Decrypt(t.Context(), sealed, []byte("another"))
	require.Error(t, err)
	plain, err := key.Decrypt(t.Context(), sealed, []byte("context"))
	require.NoError(t, err)
	require.Equal(t, "plain", string(plain))

	var now time.Time
	file := secret.File{Path: filepath.Join(t.TempDir(), "keys.json"), Service: key, Now: func() time.Time { return now }}
	keys, err := file.Load(t.Context())
	require.NoError(t, err)
	for range 60 { // beyond the 4 KiB that the KMS encrypts
		require.NoError(t, file.Rotate(t.Context()))
	}
	content, err := os.ReadFile(file.Path)
	require.NoError(t, err)
	require.Greater(t, len(content), 4<<10)
	home := secret.Binding{Kind: catalog.SealedSSOSecret, Org: "org", Subject: "issuer"}
	sealed, err = keys.Seal(home, []byte("plain"))
	require.NoError(t, err)
	again, err := file.Load(t.Context())
	require.NoError(t, err)
	plain, err = again.Open(home, sealed)
	require.NoError(t, err)
	require.Equal(t, "plain", string(plain))

	proxy.Answer(disabled)
	require.ErrorIs(t, keys.Confirm(t.Context()), secret.ErrUnavailable)
	_, err = keys.Open(home, sealed)
	require.NoError(t, err)
	now = now.Add(secret.OpenedFor)
	_, err = keys.Open(home, sealed)
	require.ErrorIs(t, err, secret.ErrUnavailable)
	_, err = file.Load(t.Context())
	require.ErrorIs(t, err, secret.ErrUnavailable)
	require.ErrorContains(t, err, "Disabled")
	proxy.Answer(nil)
	require.NoError(t, keys.Confirm(t.Context()))
	_, err = keys.Open(home, sealed)
	require.NoError(t, err)
}

// TestErrorsNameTheCause checks that no error repeats a credential.
func TestErrorsNameTheCause(t *testing.T) {
	kmstest.Credentials(t)
	const uri = "aws-kms://arn:aws:kms:eu-central-1:123456789012:key/3d6a9a43-0000-4000-8000-0123456789ab"
	key, err := awskms.New(t.Context(), uri, "http://127.0.0.1:1")
	require.NoError(t, err)
	_, err = key.Encrypt(t.Context(), []byte("plain"), nil)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, uri)
	require.NotContains(t, err.Error(), kmstest.SecretAccessKey)

	server := kmstest.Start(t)
	key, err = awskms.New(t.Context(), uri, server.Endpoint)
	require.NoError(t, err)
	_, err = key.Encrypt(t.Context(), []byte("plain"), nil)
	require.ErrorContains(t, err, "the service answers NotFoundException")
	require.NotContains(t, err.Error(), kmstest.AccessKeyID)

	for _, wrong := range []string{"", "aws-kms://", "gcp-kms://key", "aws-kms://arn:aws:s3:eu-central-1:1:key/x", "arn:aws:kms:a:1:key/x"} {
		_, err := awskms.New(t.Context(), wrong, "")
		require.Error(t, err, wrong)
	}
}
