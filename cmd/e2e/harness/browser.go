package harness

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Browser is a browser without a screen. It has cookies, and follows no redirect.
type Browser struct {
	T testing.TB
	http.Client
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB) *Browser {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &Browser{t, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Send makes a request with further headers, given as names and values.
func (b *Browser) Send(method, address, body string, header ...string) Reply {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), method, address, strings.NewReader(body))
	require.NoError(b.T, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply, err := b.Do(r)
	require.NoError(b.T, err)
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	require.NoError(b.T, err)
	return Reply{Status: reply.StatusCode, Header: reply.Header, Body: text}
}

// Open requests a page.
func (b *Browser) Open(address string, header ...string) Reply {
	b.T.Helper()
	return b.Send(http.MethodGet, address, "", header...)
}

// Post sends a form.
func (b *Browser) Post(address string, form url.Values, header ...string) Reply {
	b.T.Helper()
	return b.Send(http.MethodPost, address, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

var formToken = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// FormToken opens one of the server's pages and returns the token of its form.
func (b *Browser) FormToken(page string) string {
	b.T.Helper()
	shown := b.Open(page)
	found := formToken.FindSubmatch(shown.Body)
	require.NotNil(b.T, found, "%s", shown.Body)
	return html.UnescapeString(string(found[1]))
}

// Submit fills in the form of one of the server's pages, with names and values of fields.
// The form is sent to the page's own path.
func (b *Browser) Submit(page string, fields ...string) Reply {
	b.T.Helper()
	form := url.Values{"form_token": {b.FormToken(page)}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	path, _, _ := strings.Cut(page, "?")
	return b.Post(path, form, "X-Request-Id", "form")
}
