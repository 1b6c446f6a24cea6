package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Client asks one vendor's models. It is safe for concurrent use and needs no closing.
type Client interface {
	// Complete sends a request and returns the document that the model wrote. It may send
	// the request up to three times. Its errors are those of this package.
	Complete(ctx context.Context, request Request) (Reply, error)
}

// Request asks a model for a document.
type Request struct {
	// Model is the vendor's name of the model: see [Names.VendorName].
	Model string
	// System tells the model its task, Prompt holds the data.
	System, Prompt string
	// Schema is the JSON schema of the document. It must be in the subset that all vendors
	// enforce: objects with all members required and no additional ones.
	Schema json.RawMessage
	// MaxTokens bounds the tokens of the reply and of the model's thoughts together. It is
	// positive.
	MaxTokens int
}

// Reply is the answer of a model.
type Reply struct {
	// Document is valid JSON. It probably fits the schema, but callers must check it.
	Document json.RawMessage
	// InputTokens and OutputTokens are the numbers that the vendor reports for the attempt
	// that was answered.
	InputTokens, OutputTokens int64
}

// The defaults and bounds of Options.
const (
	defaultTimeout = time.Minute
	defaultBackoff = 500 * time.Millisecond
	// maxReply bounds the body of a reply in bytes, after decompression.
	maxReply = 1 << 20
	// maxTokens bounds the tokens that a reply may claim, so that sums do not overflow.
	maxTokens = 1 << 30
)

// Options configures a Client.
type Options struct {
	// Key is required.
	Key Key
	// BaseURL is the address of the vendor's API, such as https://api.openai.com/v1. The
	// default is the vendor's own.
	BaseURL string
	// HTTP is required, and so is its Transport: it decides which addresses may be reached
	// and through which proxy. Its Transport must not follow redirects. CheckRedirect and
	// Jar are not used.
	HTTP *http.Client
	// Timeout bounds each try. The default is a minute.
	Timeout time.Duration
	// Backoff is the wait before the first retry; it doubles with each. The default is half
	// a second.
	Backoff time.Duration
}

// vendor is one family's protocol over its SDK.
type vendor struct {
	baseURL string
	// header carries the key, after prefix.
	header, prefix string
	// headers lists the other headers that requests keep.
	headers []string
	// connect returns a function that sends one request with the SDK. It returns an
	// ErrMalformed if the reply is no complete document; all other errors are those of the
	// SDK.
	connect func(baseURL string, client *http.Client) (complete, error)
}

// complete sends one request. The schema is that of the request, decoded.
type complete func(ctx context.Context, request Request, schema map[string]any) (Reply, error)

// placeholder is passed to the SDKs in place of a key.
const placeholder = "placeholder"

// vendors holds the protocol of each family.
var vendors = map[Family]vendor{
	FamilyA: anthropicVendor,
	FamilyB: openaiVendor,
	FamilyC: geminiVendor,
}

// client is a Client over one vendor.
type client struct {
	complete         complete
	timeout, backoff time.Duration
}

// New returns a client of a family. It sends nothing.
func New(family Family, o Options) (Client, error) {
	v, ok := vendors[family]
	if !ok {
		return nil, fmt.Errorf("model family %q does not exist", family)
	}
	if !o.Key.sendable() {
		return nil, errors.New("key of a model provider is empty or has characters that a header cannot carry")
	}
	if o.HTTP == nil || o.HTTP.Transport == nil {
		return nil, errors.New("client of a model provider needs an HTTP client with a transport")
	}
	if o.BaseURL == "" {
		o.BaseURL = v.baseURL
	}
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	guarded := &http.Client{
		Transport: &wire{next: o.HTTP.Transport, base: base, vendor: v, key: o.Key},
		Timeout:   o.HTTP.Timeout,
		// A redirect could lead to an address that is not the configured one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c := &client{timeout: o.Timeout, backoff: o.Backoff}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if c.backoff <= 0 {
		c.backoff = defaultBackoff
	}
	if c.complete, err = v.connect(base.String(), guarded); err != nil {
		// The error of an SDK may show its configuration.
		return nil, fmt.Errorf("SDK of model family %q refuses its configuration", family)
	}
	return c, nil
}

// parseBaseURL parses the address of an API. Its errors do not quote it.
func parseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return nil, errors.New("base URL of a model provider is not an absolute http or https URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "":
		return nil, errors.New("base URL of a model provider must not have credentials, a query or a fragment")
	case strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return nil, errors.New("base URL of a model provider has a path that is not clean")
	}
	return u, nil
}

// modelName matches the names of models that can be part of a path.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*(/[A-Za-z0-9][A-Za-z0-9._:@-]*)*$`)

// maxModelName bounds the names of models.
const maxModelName = 200

// ValidName reports whether a vendor's name of a model can be sent.
func ValidName(name string) bool {
	return len(name) <= maxModelName && modelName.MatchString(name) && !strings.Contains(name, "..")
}

// Complete implements [Client].
func (c *client) Complete(ctx context.Context, request Request) (Reply, error) {
	if !ValidName(request.Model) {
		return Reply{}, errors.New("model name has characters that cannot be sent")
	}
	if request.MaxTokens <= 0 || request.MaxTokens > maxTokens {
		return Reply{}, errors.New("limit of tokens is out of range")
	}
	var schema map[string]any
	if err := json.Unmarshal(request.Schema, &schema); err != nil || schema == nil {
		return Reply{}, errors.New("schema of a model's reply is not a JSON object")
	}
	return c.retry(ctx, func(ctx context.Context) (Reply, *exchange, error) { return c.try(ctx, request, schema) })
}

// try sends the request once. The exchange says whether another try is worthwhile.
func (c *client) try(ctx context.Context, request Request, schema map[string]any) (Reply, *exchange, error) {
	tryCtx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ex := &exchange{}
	reply, err := c.send(withExchange(tryCtx, ex), request, schema, ex)
	reply.InputTokens, reply.OutputTokens = clamp(reply.InputTokens), clamp(reply.OutputTokens)
	if err == nil {
		err = document(&reply)
	}
	var known *failure
	switch {
	case err == nil:
		return reply, ex, nil
	case ctx.Err() != nil:
		return Reply{}, &exchange{}, &failure{sentinel: ErrUnavailable, reason: "request ended by its caller", cause: ctx.Err()}
	case ex.failure != nil:
		return Reply{}, ex, ex.failure
	case errors.As(err, &known):
		reply.Document = nil
		return reply, ex, known
	case tryCtx.Err() != nil:
		return Reply{}, ex, &failure{sentinel: ErrUnavailable, reason: "no reply in time", cause: tryCtx.Err()}
	case !ex.sent:
		return Reply{}, ex, errors.New("SDK of a model vendor did not send the request")
	}
	return Reply{}, ex, &failure{sentinel: ErrMalformed, reason: "reply does not follow the API", cause: err}
}

// send lets the SDK send the request. An SDK may panic while it decodes a reply whose members
// have other types than the API says; that is a malformed reply, too.
func (c *client) send(ctx context.Context, request Request, schema map[string]any, ex *exchange) (reply Reply, err error) {
	defer func() {
		if !ex.sent {
			return // A panic is a defect.
		}
		// The value of the panic is dropped, because it may quote the reply.
		if recover() != nil {
			reply, err = Reply{}, malformed("reply does not follow the API")
		}
	}()
	return c.complete(ctx, request, schema)
}

// document checks that the reply is JSON.
func document(r *Reply) error {
	if len(r.Document) == 0 {
		return malformed("reply has no document")
	}
	if !json.Valid(r.Document) {
		return malformed("document is not JSON")
	}
	return nil
}

// clamp makes a number of tokens plausible.
func clamp(n int64) int64 { return min(max(n, 0), maxTokens) }
