package clientdocument

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/auth/outbound"
)

// The bounds of documents and of the cache.
const (
	maxURL      = 500
	maxDocument = 16 << 10
	// freshFor is how long a document is used without reading it again, whatever its server says.
	freshFor  = 5 * time.Minute
	maxCached = 1000
)

// InvalidError is returned for a URL or a document that breaks a rule. Its text may be shown to people.
type InvalidError struct{ Reason string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Reason }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// ErrUnreadable is returned for a document that cannot be read. The cause is not told, because it
// would describe the network of the server.
var ErrUnreadable = errors.New("document of a client cannot be read")

// Document is a valid document.
type Document struct {
	// Host is the host of its URL.
	Host         string
	Name         string
	RedirectURIs []string
	// Scope may be empty.
	Scope string
}

// members are the members of a document that matter here (RFC 7591 §2).
type members struct {
	ID            string          `json:"client_id"`
	Name          string          `json:"client_name"`
	RedirectURIs  []string        `json:"redirect_uris"`
	GrantTypes    []string        `json:"grant_types"`
	ResponseTypes []string        `json:"response_types"`
	AuthMethod    string          `json:"token_endpoint_auth_method"`
	Scope         string          `json:"scope"`
	Secret        json.RawMessage `json:"client_secret"`
	SecretExpires json.RawMessage `json:"client_secret_expires_at"`
}

type cached struct {
	document Document
	until    time.Time
}

// Reader reads documents. It is safe for concurrent use.
type Reader struct {
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	known map[string]cached
}

// New returns a reader that sends its requests by client. If now is nil, [time.Now] is used.
func New(client *http.Client, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{client: outbound.Client(client), now: now, known: map[string]cached{}}
}

// Cached returns the document at a URL if it was read a short time ago.
func (r *Reader) Cached(address string) (Document, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.known[address]
	return found.document, ok && r.now().Before(found.until)
}

// Read requests the document at a URL. It returns an [*InvalidError] or [ErrUnreadable].
func (r *Reader) Read(ctx context.Context, address string) (Document, error) {
	host, err := Host(address)
	if err != nil {
		return Document{}, err
	}
	text, err := r.request(ctx, address)
	if err != nil {
		return Document{}, err
	}
	d, err := parse(text, address)
	if err != nil {
		return Document{}, err
	}
	d.Host = host
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxCached {
		clear(r.known)
	}
	r.known[address] = cached{d, r.now().Add(freshFor)}
	return d, nil
}

// Host returns the host of a client's URL, which has the scheme https and a path, in its normal spelling.
// It returns an [*InvalidError].
func Host(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, len(address) > maxURL, u.String() != address, u.Scheme != "https", u.Hostname() == "", u.User != nil, u.Opaque != "",
		u.Host != strings.ToLower(u.Host), strings.ContainsAny(address, "#?"), strings.Contains(u.RawPath, "%"),
		strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c == '\\' || c >= 0x7f }):
		return "", invalid("client_id must be an https URL with no user name, query or fragment, of at most %d bytes", maxURL)
	case u.Path == "", u.Path == "/", path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"):
		return "", invalid("client_id must be a URL with a path, and with no . and .. segments")
	}
	return u.Host, nil
}

func (r *Reader) request(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	request.Header.Set("Accept", "application/json")
	reply, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer func() { _ = reply.Body.Close() }()
	kind, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	if err != nil || reply.StatusCode != http.StatusOK || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, fmt.Errorf("%w: status %d", ErrUnreadable, reply.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(text) > maxDocument {
		return nil, invalid("it has more than %d bytes", maxDocument)
	}
	return text, nil
}

// parse checks a document. Members that the server does not know are ignored.
func parse(text []byte, address string) (Document, error) {
	var m members
	if err := json.Unmarshal(text, &m); err != nil {
		return Document{}, invalid("it is not a JSON object with the members of RFC 7591")
	}
	lacks := func(values []string, needed string) bool { return len(values) > 0 && !slices.Contains(values, needed) }
	switch {
	case m.ID != address:
		return Document{}, invalid("its client_id is not its URL")
	case m.Secret != nil, m.SecretExpires != nil, m.AuthMethod != "none" && m.AuthMethod != "":
		return Document{}, invalid("the client must be public: token_endpoint_auth_method must be none, with no secret")
	case lacks(m.GrantTypes, "authorization_code"), lacks(m.ResponseTypes, "code"):
		return Document{}, invalid("grant_types must hold authorization_code, and response_types code")
	}
	return Document{Name: m.Name, RedirectURIs: m.RedirectURIs, Scope: m.Scope}, nil
}
