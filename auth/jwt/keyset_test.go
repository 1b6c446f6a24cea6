package jwt_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// publisher provides a changing key set document and a clock.
type publisher struct {
	mu    sync.Mutex
	at    time.Time
	keys  []jose.JSONWebKey
	err   error
	raw   string
	reads int
}

func (p *publisher) load(context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	if p.err != nil {
		return nil, p.err
	}
	if p.raw != "" {
		return []byte(p.raw), nil
	}
	return json.Marshal(jose.JSONWebKeySet{Keys: p.keys})
}

func (p *publisher) now() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.at }

func (p *publisher) wait(d time.Duration) { p.mu.Lock(); p.at = p.at.Add(d); p.mu.Unlock() }

func TestKeySetFollowsItsDocument(t *testing.T) {
	w := newWorld(t)
	key := func(id string) jose.JSONWebKey { return jose.JSONWebKey{KeyID: id, Key: w.ed.Public()} }
	p := &publisher{at: now, keys: []jose.JSONWebKey{key("a")}}
	set := jwt.NewKeySet(p.load, p.now)
	find := func(id string) error { _, err := set.Key(t.Context(), id); return err }

	require.NoError(t, find("a"))
	require.NoError(t, find("a"))
	require.Equal(t, 1, p.reads)

	// Made-up ids cause one read in a quarter of a minute, not one each.
	for range 100 {
		require.ErrorIs(t, find("made-up"), auth.ErrUnauthenticated)
	}
	require.Equal(t, 1, p.reads)

	// A new key is found as soon as a token names it.
	p.keys = append(p.keys, key("b"))
	p.wait(16 * time.Second)
	require.NoError(t, find("b"))
	require.Equal(t, 2, p.reads)

	// A withdrawn key stops within five minutes.
	p.keys = p.keys[1:]
	require.NoError(t, find("a"))
	p.wait(5 * time.Minute)
	require.ErrorIs(t, find("a"), auth.ErrUnauthenticated)
	require.NoError(t, find("b"))
	require.Equal(t, 3, p.reads)

	// During an outage known keys still work, and unknown ones are not refused but
	// unavailable.
	p.err = errors.New("connection refused")
	p.wait(6 * time.Minute)
	require.NoError(t, find("b"))
	require.ErrorIs(t, find("c"), auth.ErrUnavailable)
	require.NotErrorIs(t, find("c"), auth.ErrUnauthenticated)
	require.Equal(t, 4, p.reads)
	p.wait(time.Hour)
	require.ErrorIs(t, find("b"), auth.ErrUnavailable)

	// An invalid document counts as an outage too.
	p.err = nil
	for _, raw := range []string{"<html>", "{}", `{"keys":null}`, `{"keys":{}}`, "[]"} {
		p.raw = raw
		p.wait(16 * time.Second)
		require.ErrorIs(t, find("b"), auth.ErrUnavailable, raw)
	}
	p.raw = ""
	p.wait(16 * time.Second)
	require.NoError(t, find("b"))
}

func TestKeySetNeverServesPrivateOrSharedKeys(t *testing.T) {
	w := newWorld(t)
	p := &publisher{at: now, keys: []jose.JSONWebKey{
		{KeyID: "private", Key: w.rsa}, {KeyID: "shared", Key: []byte("0123456789abcdef0123456789abcdef")},
		{KeyID: "", Key: w.rsa.Public()}, {KeyID: "good", Key: w.rsa.Public()},
	}}
	set := jwt.NewKeySet(p.load, p.now)
	for _, id := range []string{"private", "shared", ""} {
		_, err := set.Key(t.Context(), id)
		require.ErrorIs(t, err, auth.ErrUnauthenticated, id)
	}
	_, err := set.Key(t.Context(), "good")
	require.NoError(t, err)
}

func TestManyCallersCauseOneRead(t *testing.T) {
	w := newWorld(t)
	p := &publisher{at: now, keys: []jose.JSONWebKey{{KeyID: "a", Key: w.ed.Public()}}}
	set := jwt.NewKeySet(p.load, p.now)
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			if _, err := set.Key(context.Background(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	require.Equal(t, 1, p.reads)
}

func TestAnImpatientCallerSpoilsNothing(t *testing.T) {
	w := newWorld(t)
	p := &publisher{at: now, keys: []jose.JSONWebKey{{KeyID: "a", Key: w.ed.Public()}}}
	set := jwt.NewKeySet(func(ctx context.Context) ([]byte, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return p.load(ctx)
	}, p.now)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := set.Key(ended, "a")
	require.ErrorIs(t, err, context.Canceled)
	_, err = set.Key(t.Context(), "a")
	require.NoError(t, err)
}

func TestFromURL(t *testing.T) {
	for _, address := range []string{"", "ftp://idp.example/jwks", "http://idp.example/jwks", "https://u:p@idp.example/", "/jwks",
		"https:///jwks", "http://localhost.evil.example/"} {
		_, err := jwt.FromURL(address, nil)
		require.ErrorIs(t, err, jwt.ErrConfig, address)
	}
	var followed bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write([]byte(`{"keys":[]}`))
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/elsewhere":
			followed = true
		case "/big":
			_, _ = w.Write([]byte(strings.Repeat("x", 1<<20+1)))
		default:
			http.Error(w, "no", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	read := func(path string) ([]byte, error) {
		load, err := jwt.FromURL(server.URL+path, server.Client())
		require.NoError(t, err)
		return load(t.Context())
	}
	data, err := read("/good")
	require.NoError(t, err)
	require.Equal(t, `{"keys":[]}`, string(data))
	for _, path := range []string{"/moved", "/big", "/broken"} {
		_, err = read(path)
		require.Error(t, err, path)
	}
	require.False(t, followed)
	server.CloseClientConnections()
}

func TestFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jwks.json")
	load := jwt.FromFile(path)
	_, err := load(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(`{"keys":[]}`), 0o600))
	data, err := load(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"keys":[]}`, string(data))
}
