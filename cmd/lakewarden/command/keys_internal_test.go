package command

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestSigningKeysAreRotated runs the command while a server has the catalog open.
func TestSigningKeysAreRotated(t *testing.T) {
	flags := []string{"--data-dir", t.TempDir()}
	settings, err := config.Load(flag.NewFlagSet("test", flag.ContinueOnError), flags)
	require.NoError(t, err)
	store, err := openCatalog(t.Context(), settings)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	keyring, err := secret.File{Path: settings.KeyFile}.Load(t.Context())
	require.NoError(t, err)
	keys := signin.NewSigningKeys(store.DB(), secret.SigningKeys{Keyring: keyring})
	require.NoError(t, keys.Ensure(t.Context()))
	before, err := keys.PublicKeys(t.Context())
	require.NoError(t, err)

	var out bytes.Buffer
	require.NoError(t, Program{}.Run(t.Context(), &out, append([]string{"keys", "rotate-signing"}, flags...)))
	require.Contains(t, out.String(), "A signing key was added.")
	fresh := signin.NewSigningKeys(store.DB(), secret.SigningKeys{Keyring: keyring})
	after, err := fresh.PublicKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, after, 2)
	require.Equal(t, before[0].KeyID, after[1].KeyID, "the newest is first")
	require.Error(t, Program{}.Run(t.Context(), &out, []string{"keys", "remove"}))
}

// TestSecretsAreResealed runs the commands of keys without a running server. The reseal
// itself is tested in package secret.
func TestSecretsAreResealed(t *testing.T) {
	flags := []string{"--data-dir", t.TempDir()}
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := Program{}.Run(t.Context(), &out, append(append([]string{"keys"}, args...), flags...))
		return out.String(), err
	}
	_, err := run("unwrap")
	require.ErrorContains(t, err, "key_file")
	text, err := run("rotate")
	require.NoError(t, err)
	require.Contains(t, text, "A key was added.")
	text, err = run("rotate", "--reseal", "--dry-run")
	require.NoError(t, err)
	require.Contains(t, text, "storage credential: 0")
	require.Contains(t, text, "Nothing was changed.")
	_, err = run("rotate", "--dry-run")
	require.ErrorContains(t, err, "--reseal")
	_, err = run("rotate", "--reseal", "--pause", "0s")
	require.ErrorContains(t, err, "--pause")
	text, err = run("--help")
	require.NoError(t, err)
	for _, name := range []string{"rotate", "rotate --reseal", "rotate-signing", "wrap", "unwrap"} {
		require.Regexp(t, "(?m)^"+name+" +[A-Z]", text)
	}
	_, err = run("wrap")
	require.ErrorContains(t, err, "key_kms_uri")
	text, err = run("unwrap")
	require.NoError(t, err)
	require.Contains(t, text, "in clear")
	t.Setenv("LAKEWARDEN_KEY_KMS_URI", "aws-kms://arn:aws:kms:eu-central-1:123456789012:key/x")
	_, err = run("rotate")
	require.ErrorContains(t, err, "keys wrap")
}
