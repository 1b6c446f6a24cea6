package harness

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// signerURL is the issuer of the tokens of [Signer.Person].
const signerURL = "https://people.example"

// Trust makes a server accept the tokens of the signer, which name people by their ids.
func (s Signer) Trust(settings *Settings) {
	settings.Issuers = append(settings.Issuers, config.Issuer{URL: signerURL, JWKSFile: s.File})
}

// Person returns a client of a person who has signed in, with a token for an organisation
// and all scopes, or with one for no organisation.
func (s Signer) Person(server *Server, user, org string) *Client {
	s.t.Helper()
	claims := map[string]any{"iss": signerURL, "aud": "lakewarden", "sub": user, "exp": time.Now().Add(time.Hour).Unix(),
		"scope": strings.Join(AdminScopes, " ")}
	if org != "" {
		claims["org"] = org
	}
	return server.Client(s.Token(claims), user)
}

// Link links a person to a provider through the organisation's application at a path.
func (s *Server) Link(person *Client, application string, provider *providertest.Server) {
	s.T.Helper()
	b := NewBrowser(s.T)
	started := b.Open(s.URL+application+"/link", "Authorization", "Bearer "+person.Key)
	require.Equal(s.T, http.StatusOK, started.Status, "%s", started.Body)
	back := provider.Approve(s.T, started.JSON(s.T)["authorizationUrl"].(string))
	own, err := url.Parse(s.URL)
	require.NoError(s.T, err)
	back.Scheme, back.Host = own.Scheme, own.Host // the port was chosen after public_url
	require.Equal(s.T, http.StatusOK, b.Open(back.String()).Status)
}

var linkToken = regexp.MustCompile(`\?token=([A-Za-z0-9_-]+)`)

// MailedToken waits for an e-mail to an address, and returns the token in the link of the
// newest one. It removes the e-mails to the address.
func (s *Server) MailedToken(address string) string {
	s.T.Helper()
	var token string
	require.Eventually(s.T, func() bool {
		files, err := filepath.Glob(filepath.Join(s.Config.MailDir, "*.eml"))
		require.NoError(s.T, err)
		slices.Sort(files) // names begin with the time
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(s.T, err)
			message, err := mail.ReadMessage(strings.NewReader(string(raw)))
			require.NoError(s.T, err)
			if to, err := mail.ParseAddress(message.Header.Get("To")); err != nil || to.Address != address {
				continue
			}
			found := linkToken.FindStringSubmatch(s.firstPart(message))
			require.NotNil(s.T, found, "%s", raw)
			token = found[1]
			require.NoError(s.T, os.Remove(file))
		}
		return token != ""
	}, time.Minute, 20*time.Millisecond, "no e-mail to %s", address)
	return token
}

// firstPart returns the first part of a message, its text.
func (s *Server) firstPart(message *mail.Message) string {
	s.T.Helper()
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	require.NoError(s.T, err)
	part, err := multipart.NewReader(message.Body, parameters["boundary"]).NextRawPart()
	require.NoError(s.T, err)
	var body io.Reader = part
	if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		body = quotedprintable.NewReader(part)
	}
	text, err := io.ReadAll(body)
	require.NoError(s.T, err)
	return string(text)
}
