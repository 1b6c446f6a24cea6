package llm_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/llm/llmtest"
)

const schema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`

// request returns a request for a document.
func request() llm.Request {
	return llm.Request{
		Model: "model-1", System: "the task", Prompt: "the <data> & \"more\" é", Schema: json.RawMessage(schema), MaxTokens: 512,
	}
}

// options returns options that no server serves.
func options(key llm.Key) llm.Options {
	return llm.Options{Key: key, HTTP: &http.Client{Transport: refuseAll{}}}
}

// refuseAll is a transport of tests that must send nothing.
type refuseAll struct{}

func (refuseAll) RoundTrip(*http.Request) (*http.Response, error) { panic("a request was sent") }

// families runs a test for each family.
func families(t *testing.T, test func(t *testing.T, family llm.Family)) {
	t.Helper()
	for _, f := range llm.Families() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

func TestAModelAnswersWithADocument(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		s.Script(llmtest.Document(`{"text":"é"}`))
		reply, err := s.Client(t, nil).Complete(t.Context(), request())
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"é"}`, string(reply.Document))
		require.Equal(t, int64(llmtest.InputTokens), reply.InputTokens)
		require.Equal(t, int64(llmtest.OutputTokens), reply.OutputTokens)

		require.Len(t, s.Requests(), 1)
		r := s.Requests()[0]
		require.Equal(t, "model-1", r.Model)
		require.Equal(t, request().System, r.System)
		require.Equal(t, request().Prompt, r.Prompt)
		require.Equal(t, 512, r.MaxTokens)
		encoded, err := json.Marshal(r.Schema)
		require.NoError(t, err)
		require.JSONEq(t, schema, string(encoded))
	})
}

func TestLargeLimitsOfTokensAreSent(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		large := request()
		large.MaxTokens = 120_000
		_, err := s.Client(t, nil).Complete(t.Context(), large)
		require.NoError(t, err)
		require.Equal(t, 120_000, s.Requests()[0].MaxTokens)
	})
}

func TestRequestsThatCannotBeSentAreRefused(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		c, err := llm.New(family, options(llm.NewKey("k")))
		require.NoError(t, err)
		for name, change := range map[string]func(*llm.Request){
			"model":        func(r *llm.Request) { r.Model = "../admin" },
			"no tokens":    func(r *llm.Request) { r.MaxTokens = 0 },
			"many tokens":  func(r *llm.Request) { r.MaxTokens = 1 << 40 },
			"no schema":    func(r *llm.Request) { r.Schema = nil },
			"null schema":  func(r *llm.Request) { r.Schema = json.RawMessage(`null`) },
			"array schema": func(r *llm.Request) { r.Schema = json.RawMessage(`[]`) },
		} {
			bad := request()
			change(&bad)
			_, err := c.Complete(t.Context(), bad)
			require.Error(t, err, name)
			for _, sentinel := range []error{llm.ErrLimited, llm.ErrMalformed, llm.ErrRejected, llm.ErrUnavailable} {
				require.NotErrorIs(t, err, sentinel, name)
			}
		}
	})
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		for _, bad := range []string{"api.example.com", "ftp://example.com", "https://", "https://u:secret@example.com",
			"https://example.com/?secret=1", "https://example.com/v1#secret", "https://example.com/a/../b", "http:secret", "https://ex ample"} {
			o := options(llm.NewKey("k"))
			o.BaseURL = bad
			_, err := llm.New(family, o)
			require.Error(t, err, bad)
			require.NotContains(t, err.Error(), "secret")
		}
		s := llmtest.New(t, family)
		_, err := s.Client(t, func(o *llm.Options) { o.BaseURL += "/" }).Complete(t.Context(), request())
		require.NoError(t, err, "a slash at the end")
	})
}

func TestTheVendorsAddressIsTheDefault(t *testing.T) {
	t.Parallel()
	want := map[llm.Family]string{
		llm.FamilyA: "https://api.anthropic.com/v1/messages",
		llm.FamilyB: "https://api.openai.com/v1/responses",
		llm.FamilyC: "https://generativelanguage.googleapis.com/v1beta/models/model-1:generateContent",
	}
	families(t, func(t *testing.T, family llm.Family) {
		var sent string
		o := options(llm.NewKey("k"))
		o.HTTP.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.URL.String()
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
		})
		c, err := llm.New(family, o)
		require.NoError(t, err)
		_, err = c.Complete(t.Context(), request())
		require.ErrorIs(t, err, llm.ErrRejected)
		require.Equal(t, want[family], sent)
	})
}

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestIncompleteOptionsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := llm.New("familyD", options(llm.NewKey("k")))
	require.Error(t, err)
	_, err = llm.New(llm.FamilyA, llm.Options{Key: llm.NewKey("k")})
	require.Error(t, err)
	_, err = llm.New(llm.FamilyA, llm.Options{Key: llm.NewKey("k"), HTTP: &http.Client{}})
	require.Error(t, err, "the default transport reads proxies from the environment")
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		s.Answer(func(r llmtest.Request) llmtest.Answer { return llmtest.Document(`{"text":"` + r.System + `"}`) })
		c := s.Client(t, nil)
		done := make(chan error)
		for i := range 8 {
			go func() {
				own := request()
				own.System = strings.Repeat("x", i+1)
				reply, err := c.Complete(context.WithoutCancel(t.Context()), own)
				if err == nil && string(reply.Document) != `{"text":"`+own.System+`"}` {
					err = llm.ErrMalformed
				}
				done <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-done)
		}
	})
}
