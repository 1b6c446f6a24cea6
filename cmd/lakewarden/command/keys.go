package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

const keysUsage = `lakewarden keys rotate [--reseal [--dry-run] [--keep-primary] [--ignore-unreadable] [--pause D]]
       lakewarden keys rotate-signing
       lakewarden keys wrap
       lakewarden keys unwrap`

const keysDetails = `

rotate          Add a key to the key file. Secrets are encrypted with it from now on; stored
                ones stay as they are.
rotate --reseal Add a key, encrypt every stored secret with it, and remove all other keys from
                the key file. It takes minutes, servers may run meanwhile, and it can be ended
                at any point and repeated.
rotate-signing  Add a key that signs access tokens.
wrap            Encrypt the key file with the key of AWS KMS that key_kms_uri names.
unwrap          Decrypt the key file that a key of AWS KMS encrypts.

"lakewarden keys <command> --help" lists the flags. Hashes of masked columns never change.`

// runKeys manages the key file and the keys that sign access tokens.
func runKeys(ctx context.Context, out io.Writer, args []string) error {
	run := map[string]func(context.Context, io.Writer, *flag.FlagSet, []string) error{
		"rotate": rotateKeys, "rotate-signing": rotateSigning, "wrap": wrapKeys, "unwrap": unwrapKeys,
	}
	if len(args) == 0 || run[args[0]] == nil {
		return subcommandUsage(out, args, keysUsage, keysDetails)
	}
	return run[args[0]](ctx, out, flag.NewFlagSet("keys "+args[0], flag.ContinueOnError), args[1:])
}

// KeyFile returns the key file of the settings. It sends no request to the KMS.
func KeyFile(ctx context.Context, settings config.Settings) (secret.File, error) {
	return keyFileBy(ctx, settings, settings.KeyKMSURI)
}

// keyFileBy returns the key file as encrypted by a KMS, or by none if uri is empty.
func keyFileBy(ctx context.Context, settings config.Settings, uri string) (secret.File, error) {
	file := secret.File{Path: settings.KeyFile}
	if uri == "" {
		return file, nil
	}
	key, err := awskms.New(ctx, uri, settings.KeyKMSEndpoint)
	if err != nil {
		return file, fmt.Errorf("key_kms_uri: %w", err)
	}
	file.Service = key
	return file, nil
}

// rotateKeys adds a key to the key file, and with --reseal seals all secrets with it and
// removes the others.
func rotateKeys(ctx context.Context, out io.Writer, fs *flag.FlagSet, args []string) error {
	reseal := fs.Bool("reseal", false, "seal every stored secret with the new key, then remove all other keys from the key file")
	dryRun := fs.Bool("dry-run", false, "with --reseal: count the secrets and change nothing")
	keep := fs.Bool("keep-primary", false,
		"with --reseal: seal with the newest key of the file instead of another one, which replicas with copies of the file lack")
	ignore := fs.Bool("ignore-unreadable", false, "with --reseal: remove the other keys even if a secret opens with no key")
	pause := fs.Duration("pause", secret.DefaultSettle,
		"with --reseal: the pause before every pass but the first; shorten it only while no server runs")
	settings, err := config.Load(fs, args)
	switch {
	case err != nil:
		return err
	case !*reseal && (*dryRun || *keep || *ignore || *pause != secret.DefaultSettle):
		return errors.New("--dry-run, --keep-primary, --ignore-unreadable and --pause need --reseal")
	case *pause <= 0:
		return errors.New("--pause must be positive")
	}
	file, err := KeyFile(ctx, settings)
	if err != nil {
		return err
	}
	if *reseal {
		return resealSecrets(ctx, out, settings, secret.Reseal{
			File: file, KeepPrimary: *keep, IgnoreUnreadable: *ignore, Settle: *pause,
		}, *dryRun)
	}
	if _, err = file.Load(ctx); err == nil {
		err = file.Rotate(ctx)
	}
	if err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	fmt.Fprintln(out, "A key was added. Secrets are sealed with it from now on; stored ones keep the key that sealed them.")
	return nil
}

func resealSecrets(ctx context.Context, out io.Writer, settings config.Settings, r secret.Reseal, dryRun bool) error {
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	r.Store = store
	if dryRun {
		r.Progress = func(p secret.Progress) {
			fmt.Fprintf(out, "%s: %d, of which %d are sealed with the newest key, %d with others, %d open with no key\n",
				kindName(p), p.Total, p.Current, p.Resealed, p.Unreadable)
		}
		if err := r.Count(ctx); err != nil {
			return fmt.Errorf("key_file: %w", err)
		}
		fmt.Fprintln(out, "Nothing was changed.")
		return nil
	}
	r.Progress = func(p secret.Progress) {
		fmt.Fprintf(out, "pass %d, %s: %d, of which %d were sealed anew, %d changed meanwhile, %d open with no key\n",
			p.Pass, kindName(p), p.Total, p.Resealed, p.Changed, p.Unreadable)
	}
	fmt.Fprintf(out, "Every pass but the first begins after a pause of %s, so that writes of running servers end.\n", r.Settle)
	removed, err := r.Run(ctx)
	if err != nil {
		return fmt.Errorf("the reseal is incomplete; every secret still opens, and the command can be repeated: %w", err)
	}
	fmt.Fprintf(out, "All secrets are sealed with one key. Keys removed from the key file: %d.\n", removed)
	return nil
}

func kindName(p secret.Progress) string { return strings.ReplaceAll(string(p.Kind), "_", " ") }

// wrapKeys encrypts the key file with the KMS of the settings.
func wrapKeys(ctx context.Context, out io.Writer, fs *flag.FlagSet, args []string) error {
	settings, err := config.Load(fs, args)
	if err != nil {
		return err
	}
	if settings.KeyKMSURI == "" {
		return errors.New("keys wrap needs the setting key_kms_uri")
	}
	if err := rewrap(ctx, settings, settings.KeyKMSURI); err != nil {
		return err
	}
	fmt.Fprintf(out, "The key file is encrypted by %s. Restart the servers with this setting.\n", settings.KeyKMSURI)
	fmt.Fprintln(out, "If the file was not encrypted before, run `lakewarden keys rotate --reseal` then: "+
		"copies of the former file open nothing after it.")
	return nil
}

// unwrapKeys stores the keys of the key file in clear.
func unwrapKeys(ctx context.Context, out io.Writer, fs *flag.FlagSet, args []string) error {
	settings, err := config.Load(fs, args)
	if err != nil {
		return err
	}
	if err := rewrap(ctx, settings, ""); err != nil {
		return err
	}
	fmt.Fprintln(out, "The key file holds its keys in clear. Restart the servers without the setting key_kms_uri.")
	return nil
}

func rewrap(ctx context.Context, settings config.Settings, uri string) error {
	from, err := secret.File{Path: settings.KeyFile}.EncryptedBy()
	if err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	source, err := keyFileBy(ctx, settings, from)
	if err != nil {
		return err
	}
	target, err := keyFileBy(ctx, settings, uri)
	if err != nil {
		return err
	}
	if err := source.Rewrap(ctx, target); err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	return nil
}

// rotateSigning adds a key for access tokens. Running servers use it without a restart.
func rotateSigning(ctx context.Context, out io.Writer, fs *flag.FlagSet, args []string) error {
	settings, err := config.Load(fs, args)
	if err != nil {
		return err
	}
	file, err := KeyFile(ctx, settings)
	if err != nil {
		return err
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	keys, err := file.LoadFor(ctx, store)
	if err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	signsAt, err := signin.NewSigningKeys(store.DB(), secret.SigningKeys{Keyring: keys}).Rotate(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A signing key was added. It is published now, and signs access tokens from %s on.\n", signsAt.Format(time.RFC3339))
	return nil
}
