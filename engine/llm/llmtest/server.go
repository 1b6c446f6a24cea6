package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
)

// Key is the key that servers accept.
const Key = "sk-test-6f1e0c5b7a924d38"

// maxRequest bounds the body of a request in bytes.
const maxRequest = 1 << 20

// Request is a request that a server received.
type Request struct {
	// Host, Path, Header and Body are those of the HTTP request.
	Host, Path string
	Header     http.Header
	Body       []byte
	// The other fields are decoded from the body.
	Model, System, Prompt string
	Schema                map[string]any
	MaxTokens             int
}

// Server is a provider of one family.
type Server struct {
	// URL is the base URL for [llm.Options].
	URL    string
	family llm.Family
	format format
	http   *httptest.Server

	mu       sync.Mutex
	answer   func(Request) Answer
	requests []Request
	problems []string
}

// New starts a server of a family. It ends with the test, which fails if the server received
// a request that its API does not describe. It answers with the document {} until [Server.Answer]
// is called.
func New(tb testing.TB, family llm.Family) *Server {
	tb.Helper()
	f, ok := formats[family]
	require.True(tb, ok, "family %q", family)
	s := &Server{family: family, format: f, answer: func(Request) Answer { return Document(`{}`) }}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + f.base
	tb.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Empty(tb, s.problems, "requests that the API does not describe")
	})
	return s
}

// Options returns options for the server, with short waits.
func (s *Server) Options() llm.Options {
	return llm.Options{
		Key: llm.NewKey(Key), BaseURL: s.URL, HTTP: &http.Client{Transport: s.http.Client().Transport},
		Timeout: 10 * time.Second, Backoff: time.Millisecond,
	}
}

// Client returns a client of the server. change, if not nil, adjusts its options.
func (s *Server) Client(tb testing.TB, change func(*llm.Options)) llm.Client {
	tb.Helper()
	o := s.Options()
	if change != nil {
		change(&o)
	}
	c, err := llm.New(s.family, o)
	require.NoError(tb, err)
	return c
}

// Answer sets the function that answers requests. It may be called concurrently.
func (s *Server) Answer(answer func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Script answers with each of the answers once, then with the last of them.
func (s *Server) Script(answers ...Answer) {
	n := 0
	s.Answer(func(Request) Answer {
		a := answers[min(n, len(answers)-1)]
		n++
		return a
	})
}

// Requests returns the well-formed requests so far, those with a wrong key included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	request := Request{Host: r.Host, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	if err == nil {
		err = s.check(r, &request)
	}
	s.mu.Lock()
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("%s %s: %v", r.Method, r.URL, err))
		s.mu.Unlock()
		http.Error(w, `{"error":{"message":"invalid request"}}`, http.StatusBadRequest)
		return
	}
	s.requests = append(s.requests, request)
	var a Answer
	if s.format.key(r.Header) == Key {
		a = s.answer(request)
	} else {
		a = Status(http.StatusUnauthorized, nil)
	}
	s.mu.Unlock()
	a.write(w, r, s.format)
}

// check decodes a request and reports what its API does not describe.
func (s *Server) check(r *http.Request, request *Request) error {
	switch {
	case r.Method != http.MethodPost:
		return fmt.Errorf("method is not POST")
	case r.URL.RawQuery != "":
		return fmt.Errorf("query %q", r.URL.RawQuery)
	case r.Header.Get("Content-Type") != "application/json":
		return fmt.Errorf("content type %q", r.Header.Get("Content-Type"))
	case s.format.key(r.Header) == "":
		return fmt.Errorf("no key")
	}
	if err := s.format.decode(r, request); err != nil {
		return err
	}
	switch {
	case request.Model == "" || request.System == "" || request.Prompt == "" || request.MaxTokens <= 0:
		return fmt.Errorf("model, system prompt, prompt or limit of tokens is missing")
	case request.Schema["type"] != "object" || request.Schema["additionalProperties"] != false || request.Schema["properties"] == nil:
		return fmt.Errorf("schema is not one of a closed object")
	}
	return nil
}
