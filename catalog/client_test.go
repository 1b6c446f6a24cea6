package catalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func TestRedirectURIs(t *testing.T) {
	withURI := func(uri string) error {
		return catalog.NewClient{Name: "c", RedirectURIs: []string{uri}, Scopes: []string{"tables:read"}}.Validate()
	}
	for _, uri := range []string{
		"https://app.example/callback", "https://app.example:8443/cb?a=1", "http://localhost/cb", "http://127.0.0.1:1/", "http://[::1]/cb",
	} {
		require.NoError(t, withURI(uri), uri)
	}
	for _, uri := range []string{
		"", "https://", "https:///cb", "http://app.example/cb", "ftp://app.example/", "javascript:alert(1)", "app:/cb",
		"https://user@app.example/", "https://app.example/#f", "https://app.example/#", "https://app.example/a/../b",
		"https://app.example/%2e%2e/b", "https://APP.example/", "HTTPS://app.example/", "https://app.example/ä", "https://app.example/ a",
		"https://app.example\\b", "http://127.1/", "https://app.example:/", "https://app.example/a%2f..%2fb",
		"http://localhost.evil.example/", "https://" + strings.Repeat("a", 2000) + ".example/",
	} {
		require.ErrorIs(t, withURI(uri), catalog.ErrInvalid, uri)
	}
}
