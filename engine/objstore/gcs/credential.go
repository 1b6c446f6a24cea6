package gcs

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Credential proves the right to use a bucket. Exactly one field is set.
type Credential struct {
	// ServiceAccountKey is the key of a service account, as the JSON document that Google issues.
	ServiceAccountKey string
	// Ambient uses the identity of the machine.
	Ambient bool
	// Tokens requests the access tokens of somebody else. They are cached for their lifetime. Its
	// errors are passed on.
	Tokens func(ctx context.Context) (remote.Token, error)
}

// String omits secrets, so that they do not reach logs and errors.
func (c Credential) String() string { return "gcs.Credential(redacted)" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// TokenURI returns the URL at which the key's tokens are requested, or "" if the key is invalid.
func (c Credential) TokenURI() string {
	key, err := c.parse()
	if err != nil {
		return ""
	}
	return key.tokenURI
}

// check reports a credential that is not exactly one, or malformed, as an [OptionError].
func (c Credential) check() error {
	switch {
	case c.ServiceAccountKey != "" && (c.Ambient || c.Tokens != nil), c.Ambient && c.Tokens != nil:
		return remote.Refuse("credential", "must be exactly one")
	case c.Ambient, c.Tokens != nil:
		return nil
	}
	_, err := c.parse()
	return err
}

// serviceAccount is a parsed key.
type serviceAccount struct {
	email    string
	keyID    string
	tokenURI string
	private  *rsa.PrivateKey
}

// maxKey bounds the document of a key, in bytes.
const maxKey = 32 << 10

// parse reads the document. Its errors are of type [*OptionError].
func (c Credential) parse() (serviceAccount, error) {
	refuse := func(reason string) (serviceAccount, error) {
		return serviceAccount{}, remote.Refuse("service_account_key", reason)
	}
	var document struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
		TokenURI     string `json:"token_uri"`
	}
	if len(c.ServiceAccountKey) > maxKey || json.Unmarshal([]byte(c.ServiceAccountKey), &document) != nil {
		return refuse("must be the JSON document of a key")
	}
	private := privateKey(document.PrivateKey)
	switch {
	case document.Type != "service_account":
		return refuse("must be the key of a service account: its type is service_account")
	case document.ClientEmail == "":
		return refuse("must have a client_email")
	case private == nil:
		return refuse("must have an RSA key in PEM as private_key")
	case !remote.ValidURL(document.TokenURI):
		return refuse("must have a URL as token_uri")
	}
	return serviceAccount{document.ClientEmail, document.PrivateKeyID, document.TokenURI, private}, nil
}

// privateKey returns nil if the text has no valid key.
func privateKey(text string) *rsa.PrivateKey {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	private, _ := key.(*rsa.PrivateKey)
	return private
}

const (
	// scope is that of reading and writing objects.
	scope = "https://www.googleapis.com/auth/devstorage.read_write"
	// assertionLifetime is how long a request for a token is good.
	assertionLifetime = 10 * time.Minute
)

// tokens returns the tokens of the credential. Requests for them are not watched, because their
// outcome is not that of the write that follows.
func (o Options) tokens(transport *http.Transport, limits Limits) (*remote.Tokens, error) {
	switch c := o.Credential; {
	case c.Tokens != nil:
		return remote.NewTokens(c.Tokens), nil
	case c.Ambient:
		return o.Machine.tokens(limits), nil
	}
	account, err := o.Credential.parse()
	if err != nil {
		return nil, err
	}
	client := remote.NewClient(transport)
	return remote.NewTokens(func(ctx context.Context) (remote.Token, error) {
		return remote.Exchange(ctx, client, limits, account.request)
	}), nil
}

// request is the grant of a signed assertion (RFC 7523).
func (a serviceAccount) request(ctx context.Context) (*http.Request, error) {
	options := (&jose.SignerOptions{}).WithType("JWT")
	if a.keyID != "" {
		options = options.WithHeader("kid", a.keyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: a.private}, options)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": a.email, "scope": scope, "aud": a.tokenURI, "iat": now.Unix(), "exp": now.Add(assertionLifetime).Unix(),
	})
	if err != nil {
		return nil, err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return nil, err
	}
	assertion, err := signed.CompactSerialize()
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.tokenURI, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r, nil
}
