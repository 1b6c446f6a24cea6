package secret_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// memory is a catalog of sealed secrets. before, if not nil, is called before each call
// and may fail it.
type memory struct {
	mu      sync.Mutex
	secrets map[secret.Binding][]byte
	before  func() error
}

func (m *memory) put(b secret.Binding, sealed []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secrets == nil {
		m.secrets = map[secret.Binding][]byte{}
	}
	m.secrets[b] = sealed
}

func (m *memory) get(b secret.Binding) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.secrets[b]
}

func (m *memory) called() error {
	if m.before == nil {
		return nil
	}
	return m.before()
}

func (m *memory) HasSealedSecrets(context.Context) (bool, error) { return len(m.secrets) > 0, nil }

func (m *memory) ListSealedSecrets(_ context.Context, after catalog.SealedSecret, limit int) (page []catalog.SealedSecret, _ error) {
	if err := m.called(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	order := func(a, b catalog.SealedSecret) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Subject, b.Subject))
	}
	for b, sealed := range m.secrets {
		s := catalog.SealedSecret{Kind: b.Kind, Org: b.Org, Subject: b.Subject, Sealed: sealed}
		if s.Kind == after.Kind && order(s, after) > 0 {
			page = append(page, s)
		}
	}
	slices.SortFunc(page, order)
	return page[:min(limit, len(page))], nil
}

func (m *memory) ReplaceSealedSecret(_ context.Context, read catalog.SealedSecret, sealed []byte) (bool, error) {
	if err := m.called(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := secret.BindingOf(read); slices.Equal(m.secrets[b], read.Sealed) {
		m.secrets[b] = sealed
		return true, nil
	}
	return false, nil
}

func reseal(path string, store catalog.SealedSecrets) secret.Reseal {
	return secret.Reseal{File: secret.File{Path: path}, Store: store, Settle: time.Millisecond}
}

// fill seals n secrets of each kind.
func fill(t *testing.T, keys *secret.Keyring, store *memory, n int) []secret.Binding {
	t.Helper()
	var bindings []secret.Binding
	for _, kind := range catalog.SealedKinds() {
		for i := range n {
			b := secret.Binding{Kind: kind, Org: "org", Subject: fmt.Sprint("subject", i)}
			sealed, err := keys.Seal(b, []byte(b.Subject))
			require.NoError(t, err)
			store.put(b, sealed)
			bindings = append(bindings, b)
		}
	}
	return bindings
}

func requireAllOpen(t *testing.T, keys *secret.Keyring, store *memory, bindings []secret.Binding) {
	t.Helper()
	for _, b := range bindings {
		plain, err := keys.Open(b, store.get(b))
		require.NoError(t, err, "%v", b)
		require.Equal(t, b.Subject, string(plain))
	}
}

// keysIn returns the number of keys in a file that is not encrypted.
func keysIn(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var doc struct{ Keys struct{ Key []any } }
	require.NoError(t, json.Unmarshal(content, &doc))
	return len(doc.Keys.Key)
}

func TestResealRetiresOldKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	store, server := &memory{}, load(t, path)
	bindings := fill(t, server, store, 201) // pages of several sizes
	require.NoError(t, secret.File{Path: path}.Rotate(t.Context()))
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	mask := maskKey(t, path, "org", "table")
	before := store.get(bindings[0])

	var dry []secret.Progress
	r := reseal(path, store)
	r.Progress = func(p secret.Progress) { dry = append(dry, p) }
	require.NoError(t, r.Count(t.Context()))
	require.Equal(t, secret.Progress{Pass: 1, Kind: catalog.SealedStorageCredential, Total: 201, Resealed: 201}, dry[0])
	require.Len(t, dry, len(catalog.SealedKinds()))
	unchanged, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, old, unchanged)
	require.Equal(t, before, store.get(bindings[0]))

	removed, err := reseal(path, store).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.Equal(t, 1, keysIn(t, path))
	requireAllOpen(t, load(t, path), store, bindings)
	requireAllOpen(t, server, store, bindings)
	require.Equal(t, mask, maskKey(t, path, "org", "table"), "no hash changes")

	// The old file opens nothing that is stored now.
	former := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(former, old, 0o600))
	formerKeys := load(t, former)
	for _, b := range bindings {
		_, err := formerKeys.Open(b, store.get(b))
		require.ErrorIs(t, err, secret.ErrSealed)
	}
	// A server that has only the retired key in memory seals with the new one.
	sealed, err := server.Seal(home, []byte("late"))
	require.NoError(t, err)
	_, err = load(t, path).Open(home, sealed)
	require.NoError(t, err)
}

func TestResealKeepsThePrimaryKeyOnRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	store := &memory{}
	bindings := fill(t, load(t, path), store, 3)
	require.NoError(t, secret.File{Path: path}.Rotate(t.Context()))
	elsewhere := filepath.Join(t.TempDir(), "keys.json")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(elsewhere, content, 0o600))

	r := reseal(path, store)
	r.KeepPrimary = true
	removed, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	requireAllOpen(t, load(t, elsewhere), store, bindings)
	requireAllOpen(t, load(t, path), store, bindings)
}

// TestResealCanBeEndedAnywhere ends a reseal at each of its calls of the catalog. After
// each end all secrets open, and a repetition completes.
func TestResealCanBeEndedAnywhere(t *testing.T) {
	killed := errors.New("killed")
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "keys.json")
		store, server := &memory{}, load(t, path)
		bindings := fill(t, server, store, 2)
		mask := maskKey(t, path, "org", "table")
		calls := 0
		store.before = func() error {
			if calls++; calls == at {
				return killed
			}
			return nil
		}
		_, err := reseal(path, store).Run(t.Context())
		requireAllOpen(t, load(t, path), store, bindings)
		requireAllOpen(t, server, store, bindings)
		if err == nil {
			require.Greater(t, at, 15)
			return
		}
		require.ErrorIs(t, err, killed)
		require.Equal(t, 2, keysIn(t, path), "no key is removed before the end")
		store.before = nil
		_, err = reseal(path, store).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, keysIn(t, path))
		requireAllOpen(t, load(t, path), store, bindings)
		require.Equal(t, mask, maskKey(t, path, "org", "table"))
	}
}

// TestResealNextToServers lets servers seal, store and open secrets during reseals.
func TestResealNextToServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	store := &memory{}
	bindings := fill(t, load(t, path), store, 5)
	ctx, stop := context.WithCancel(t.Context())
	errs := make([]error, 4)
	var servers sync.WaitGroup
	for i := range errs {
		server := load(t, path)
		servers.Go(func() {
			for n := i; ctx.Err() == nil && errs[i] == nil; n++ {
				b := bindings[n%len(bindings)]
				if _, errs[i] = server.Open(b, store.get(b)); errs[i] != nil || n%7 != 0 {
					continue
				}
				var sealed []byte
				if sealed, errs[i] = server.Seal(b, []byte(b.Subject)); errs[i] == nil {
					store.put(b, sealed)
				}
			}
		})
	}
	for range 3 {
		r := reseal(path, store)
		r.Settle = 200 * time.Millisecond
		_, err := r.Run(t.Context())
		require.NoError(t, err)
	}
	stop()
	servers.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, keysIn(t, path))
	requireAllOpen(t, load(t, path), store, bindings)
}

// TestResealFindsWhatWasSealedMeanwhile stores a secret that was sealed with the old key
// after the first pass has read its kind.
func TestResealFindsWhatWasSealedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	store, server := &memory{}, load(t, path)
	bindings := fill(t, server, store, 1)
	late := secret.Binding{Kind: catalog.SealedStorageCredential, Org: "org", Subject: "late"}
	sealed, err := server.Seal(late, []byte("late"))
	require.NoError(t, err)
	r := reseal(path, store)
	var passes int
	r.Progress = func(p secret.Progress) {
		if passes = p.Pass; p.Pass == 1 && p.Kind == catalog.SealedSigningKey {
			store.put(late, sealed)
		}
	}
	_, err = r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, passes, "the second one found a secret")
	requireAllOpen(t, load(t, path), store, append(bindings, late))
}

func TestResealKeepsKeysWhileSecretsAreUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	store := &memory{}
	bindings := fill(t, load(t, path), store, 2)
	foreign, err := load(t, filepath.Join(t.TempDir(), "keys.json")).Seal(home, []byte("lost"))
	require.NoError(t, err)
	store.put(home, foreign)
	_, err = reseal(path, store).Run(t.Context())
	require.ErrorIs(t, err, secret.ErrUnreadable)
	require.Equal(t, 2, keysIn(t, path))
	requireAllOpen(t, load(t, path), store, bindings)

	r := reseal(path, store)
	r.IgnoreUnreadable = true
	removed, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.Equal(t, foreign, store.get(home))
	requireAllOpen(t, load(t, path), store, bindings)
}

// TestResealNoticesAnotherChange replaces the file while the lock is not obeyed, as on
// file systems without locks.
func TestResealNoticesAnotherChange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.json")
	store := &memory{}
	bindings := fill(t, load(t, path), store, 1)
	r := reseal(path, store)
	r.Progress = func(p secret.Progress) {
		if p.Pass == 2 && p.Kind == catalog.SealedSigningKey {
			other := filepath.Join(t.TempDir(), "keys.json")
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(other, content, 0o600))
			require.NoError(t, secret.File{Path: other}.Rotate(t.Context()))
			content, err = os.ReadFile(other)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
	}
	_, err := r.Run(t.Context())
	require.ErrorIs(t, err, secret.ErrKeyFile)
	require.Equal(t, 3, keysIn(t, path))
	requireAllOpen(t, load(t, path), store, bindings)
}
