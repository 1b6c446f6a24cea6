package kill_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms/kmstest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestKilledResealsLoseNoSecret kills the reseal of a key file that a KMS encrypts, before, during
// and after its passes. After each kill every secret opens. A reseal that is not killed then retires
// all former keys. No hash of a mask changes.
func TestKilledResealsLoseNoSecret(t *testing.T) {
	kmstest.Credentials(t)
	kms := kmstest.Start(t)
	k := &killed{Program: harness.NewProgram(t)}
	uri := kms.Key()
	k.Env = append(k.Env, "LAKEWARDEN_KEY_KMS_URI="+uri, "LAKEWARDEN_KEY_KMS_ENDPOINT="+kms.Endpoint,
		"LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true")
	boot := k.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	_, stderr, err := k.Run("keys", "rotate")
	require.NoError(t, err, "%s", stderr)
	key, err := awskms.New(t.Context(), uri, kms.Endpoint)
	require.NoError(t, err)
	file := secret.File{Path: filepath.Join(k.Dir, "data", "keys.json"), Service: key}
	open := func() *secret.Keyring {
		t.Helper()
		keys, err := file.Load(t.Context())
		require.NoError(t, err)
		return keys
	}
	mask, err := open().MaskKey("org", "table")
	require.NoError(t, err)

	// Many secrets, so that a pass can be interrupted.
	store, keys := k.OpenCatalog(t), open()
	const secrets = 400
	plain := map[string]string{}
	for i := range secrets {
		id := catalog.NewID[catalog.ConfigID]()
		org := catalog.OrgID(boot["organisation_id"].(string))
		text := fmt.Sprint("secret ", i)
		sealed, err := keys.Seal(secret.Binding{Kind: catalog.SealedStorageCredential, Org: org, Subject: string(id)}, []byte(text))
		require.NoError(t, err)
		_, err = store.CreateStorageConfig(t.Context(), catalog.NewStorageConfig{
			ID: id, Org: org, Name: fmt.Sprint("config", i), Kind: catalog.KindS3, Owner: catalog.UserID(boot["user_id"].(string)),
			Location: catalog.NewLocation("s3", "endpoint", fmt.Sprint("bucket", i)), Settings: json.RawMessage(`{}`),
			AuthMode: "access_key", SealedSecret: sealed,
		})
		require.NoError(t, err)
		plain[string(id)] = text
	}
	allOpen := func(keys *secret.Keyring) {
		t.Helper()
		found := 0
		for after := (catalog.SealedSecret{Kind: catalog.SealedStorageCredential}); ; {
			page, err := store.ListSealedSecrets(t.Context(), after, 100)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, s := range page {
				opened, err := keys.Open(secret.BindingOf(s), s.Sealed)
				require.NoError(t, err)
				require.Equal(t, plain[s.Subject], string(opened))
			}
			found, after = found+len(page), page[len(page)-1]
		}
		require.Equal(t, secrets, found)
		same, err := keys.MaskKey("org", "table")
		require.NoError(t, err)
		require.Equal(t, mask, same)
	}
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(file.Path)
		require.NoError(t, err)
		return string(text)
	}
	reseal := []string{"keys", "rotate", "--reseal", "--pause", "50ms"}
	interrupted := 0
	for n := 0; n < 8 || interrupted == 0; n++ {
		before := content()
		process := k.Begin(reseal...)
		require.Eventually(t, func() bool { return content() != before }, time.Minute, time.Millisecond, "the key is not added")
		harness.Pause(t.Context(), time.Duration(n%8)*15*time.Millisecond)
		if process.Process.Kill() == nil && process.Wait() != nil {
			interrupted++
		}
		allOpen(open())
		allOpen(keys)
	}
	stdout, stderr, err := k.Run(reseal...)
	require.NoError(t, err, "%s", stderr)
	require.Contains(t, stdout, "All secrets are sealed with one key.")
	allOpen(open())
	allOpen(keys)

	// The file has one key now, and no key in clear at any time.
	require.NotContains(t, content(), "AesGcmKey")
	_, stderr, err = k.Run("keys", "unwrap")
	require.NoError(t, err, "%s", stderr)
	var clear struct{ Keys struct{ Key []any } }
	require.NoError(t, json.Unmarshal([]byte(content()), &clear))
	require.Len(t, clear.Keys.Key, 1)
	_, stderr, err = k.Run("keys", "wrap")
	require.NoError(t, err, "%s", stderr)
	allOpen(open())
	require.NotContains(t, content(), "AesGcmKey")
	t.Logf("%d reseals were interrupted", interrupted)
}
