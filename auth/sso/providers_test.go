package sso_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
	"github.com/lakewarden/lakewarden/engine/storage"
)

func TestIssuersMustBePlainHTTPSURLs(t *testing.T) {
	strict := sso.New(&http.Client{}, sso.Options{})
	for _, issuer := range []string{
		"", "id.example", "http://id.example", "https://", "https://user@id.example", "https://id.example#x", "https://id.example#",
		"https://id.example?x", "ftp://id.example", "file:///etc/passwd", "https://id.example/ö", "https://id.example/ x",
		"https://" + strings.Repeat("x", 2048) + ".example", "javascript:alert(1)",
	} {
		require.ErrorIs(t, strict.Check(t.Context(), issuer), sso.ErrIssuer, "%q", issuer)
	}
}

func TestHostileIssuersAreRefused(t *testing.T) {
	internal := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an internal address was reached") }))
	t.Cleanup(internal.Close)
	discovery := "/.well-known/openid-configuration"
	for name, prepare := range map[string]func(*ssotest.Provider){
		"another issuer": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["issuer"] = "https://accounts.example" }
		},
		"a final slash": func(p *ssotest.Provider) { p.Document = func(d map[string]any) { d["issuer"] = p.Issuer() + "/" } },
		"no token endpoint": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { delete(d, "token_endpoint") }
		},
		"an endpoint that is no URL of the web": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }
		},
		"keys in a file": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["jwks_uri"] = "file:///etc/passwd" }
		},
		"HS256 only": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["id_token_signing_alg_values_supported"] = []string{"HS256", "none"} }
		},
		"no code flow": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["response_types_supported"] = []string{"id_token"} }
		},
		"clients with keys only": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"} }
		},
		"a huge document": func(p *ssotest.Provider) {
			p.Document = func(d map[string]any) { d["padding"] = strings.Repeat("x", 2<<20) }
		},
		"an endless document": func(p *ssotest.Provider) {
			p.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
						break
					}
				}
				return true
			}
		},
		"a redirect": func(p *ssotest.Provider) {
			p.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, internal.URL+r.URL.Path, http.StatusFound)
				return true
			}
		},
		"keys behind a redirect": func(p *ssotest.Provider) {
			p.Handler = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == discovery {
					return false
				}
				http.Redirect(w, r, internal.URL, http.StatusFound)
				return true
			}
		},
		"no JSON": func(p *ssotest.Provider) {
			p.Handler = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>canary")); return true }
		},
		"an error": func(p *ssotest.Provider) {
			p.Handler = func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "canary", http.StatusBadGateway)
				return true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := ssotest.New(t)
			prepare(p)
			err := providers(t).Check(t.Context(), p.Issuer())
			require.ErrorIs(t, err, sso.ErrIssuer)
			require.NotContains(t, err.Error(), "canary")
		})
	}
	good := ssotest.New(t)
	require.NoError(t, providers(t).Check(t.Context(), good.Issuer()))
}

func TestEveryRequestGoesThroughTheGivenClient(t *testing.T) {
	p := ssotest.New(t)
	egress := storage.Egress{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	guarded := sso.New(&http.Client{Transport: &http.Transport{DialContext: egress.DialContext}}, sso.Options{AllowInsecure: true})
	require.ErrorIs(t, guarded.Check(t.Context(), p.Issuer()), sso.ErrIssuer)
	require.Zero(t, p.Hits("/.well-known/openid-configuration"), "the address was not reached")
}

func TestSlowIssuersAreGivenUp(t *testing.T) {
	p := ssotest.New(t)
	release := make(chan struct{})
	p.Handler = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-release:
		}
		return true
	}
	t.Cleanup(func() { close(release) })
	impatient := sso.New(&http.Client{Timeout: 50 * time.Millisecond, Transport: &http.Transport{}}, sso.Options{AllowInsecure: true})
	require.ErrorIs(t, impatient.Check(t.Context(), p.Issuer()), sso.ErrIssuer)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := providers(t).Provider(ctx, p.Issuer())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestProvidersAreCached(t *testing.T) {
	p := ssotest.New(t)
	var mu sync.Mutex
	now, broken := time.Now(), false
	p.Handler = func(w http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			w.WriteHeader(http.StatusBadGateway)
		}
		return broken
	}
	set := func(advance time.Duration, breaks bool) {
		mu.Lock()
		defer mu.Unlock()
		now, broken = now.Add(advance), breaks
	}
	cache := sso.New(&http.Client{Transport: &http.Transport{}}, sso.Options{AllowInsecure: true, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	reads := func() int { return p.Hits("/.well-known/openid-configuration") }
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			_, err := cache.Provider(t.Context(), p.Issuer())
			require.NoError(t, err)
		})
	}
	wait.Wait()
	require.Equal(t, 1, reads(), "one read for all")
	set(time.Hour, true)
	for range 5 {
		_, err := cache.Provider(t.Context(), p.Issuer())
		require.NoError(t, err, "an old document is better than none")
	}
	require.Equal(t, 2, reads(), "not one for each caller")
	set(24*time.Hour, true)
	_, err := cache.Provider(t.Context(), p.Issuer())
	require.ErrorIs(t, err, sso.ErrUnavailable)
	_, err = cache.Provider(t.Context(), p.Issuer())
	require.ErrorIs(t, err, sso.ErrUnavailable)
	require.Equal(t, 3, reads())
	set(15*time.Second, false)
	_, err = cache.Provider(t.Context(), p.Issuer())
	require.NoError(t, err)
}
