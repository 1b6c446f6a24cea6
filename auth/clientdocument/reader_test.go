package clientdocument_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/clientdocument"
)

type object = map[string]any

// publisher is a server of documents.
type publisher struct {
	*httptest.Server
	reply http.HandlerFunc
	asked int
}

func newPublisher(t *testing.T) *publisher {
	p := &publisher{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked++
		p.reply(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// publish has the server send a document of the client at a path with changed members.
func (p *publisher) publish(path string, change object) string {
	address := p.URL + path
	document := object{"client_id": address, "client_name": "App", "redirect_uris": []string{"https://app.example/cb"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_method": "none", "scope": "tables:read",
		"logo_uri": "ignored"}
	for name, value := range change {
		document[name] = value
	}
	text, _ := json.Marshal(document)
	p.reply = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(text)
	}
	return address
}

func TestDocuments(t *testing.T) {
	p := newPublisher(t)
	now := time.Now()
	r := clientdocument.New(p.Client(), func() time.Time { return now })
	address := p.publish("/client.json", nil)
	_, known := r.Cached(address)
	require.False(t, known)
	d, err := r.Read(t.Context(), address)
	require.NoError(t, err)
	require.Equal(t, clientdocument.Document{Host: strings.TrimPrefix(p.URL, "https://"), Name: "App",
		RedirectURIs: []string{"https://app.example/cb"}, Scope: "tables:read"}, d)
	cached, known := r.Cached(address)
	require.True(t, known)
	require.Equal(t, d, cached)
	now = now.Add(5 * time.Minute)
	_, known = r.Cached(address)
	require.False(t, known)
}

func TestWrongDocumentsAreRefused(t *testing.T) {
	p := newPublisher(t)
	r := clientdocument.New(p.Client(), nil)
	for name, change := range map[string]object{
		"another client":        {"client_id": "https://other.example/client.json"},
		"another spelling":      {"client_id": p.URL + "/client.json/"},
		"a secret":              {"client_secret": "x"},
		"an empty secret":       {"client_secret_expires_at": 0},
		"a method with secrets": {"token_endpoint_auth_method": "client_secret_basic"},
		"a method with keys":    {"token_endpoint_auth_method": "private_key_jwt"},
		"no codes":              {"grant_types": []string{"client_credentials"}},
		"tokens from a page":    {"response_types": []string{"token"}},
		"another type":          {"redirect_uris": "https://app.example/cb"},
		"a large document":      {"client_uri": strings.Repeat("x", 17<<10)},
	} {
		address := p.publish("/client.json", change)
		_, err := r.Read(t.Context(), address)
		var invalid *clientdocument.InvalidError
		require.ErrorAs(t, err, &invalid, name)
		_, known := r.Cached(address)
		require.False(t, known, name)
	}
}

func TestUnreadableDocuments(t *testing.T) {
	p := newPublisher(t)
	r := clientdocument.New(p.Client(), nil)
	address := p.publish("/client.json", nil)
	good := p.reply
	for name, reply := range map[string]http.HandlerFunc{
		"missing":        http.NotFound,
		"a redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other.json", http.StatusFound) },
		"a page":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"another status": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted); good(w, r) },
		"a cut reply": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000")
			good(w, r)
		},
	} {
		p.reply = reply
		_, err := r.Read(t.Context(), address)
		require.ErrorIs(t, err, clientdocument.ErrUnreadable, name)
	}
	p.reply = good
	_, err := r.Read(t.Context(), address)
	require.NoError(t, err, "errors are not remembered")
}

func TestWrongAddressesAreNotRequested(t *testing.T) {
	p := newPublisher(t)
	r := clientdocument.New(p.Client(), nil)
	host := strings.TrimPrefix(p.URL, "https://")
	p.publish("/", nil)
	for _, address := range []string{
		p.URL, p.URL + "/", "http://" + host + "/client.json", "https://user@" + host + "/client.json", p.URL + "/a/../client.json",
		p.URL + "/./client.json", p.URL + "/client.json#x", p.URL + "/client.json?x=1", p.URL + "/%2e%2e/client.json", p.URL + "/a b",
		"https://EXAMPLE.com/client.json", "https:///client.json", "https://" + host + "\\@x/client.json", p.URL + "/" + strings.Repeat("x", 500),
		p.URL + "//client.json",
	} {
		_, err := r.Read(t.Context(), address)
		var invalid *clientdocument.InvalidError
		require.ErrorAs(t, err, &invalid, address)
	}
	require.Zero(t, p.asked)
}
