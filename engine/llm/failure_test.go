package llm_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/llm/llmtest"
)

// body is what servers of this file answer with; no error contains it.
const body = "BODY-OF-THE-REPLY"

// silent checks that an error shows nothing that was sent or received.
func silent(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{llmtest.Key, "placeholder", request().Prompt, request().System, body, "127.0.0.1"} {
		require.NotContains(t, err.Error(), secret)
	}
}

func TestFailuresAreClassifiedAndRetried(t *testing.T) {
	t.Parallel()
	after := func(value string) http.Header { return http.Header{"Retry-After": {value}} }
	ok := llmtest.Document(`{"text":"ok"}`)
	cases := map[string]struct {
		answers  []llmtest.Answer
		want     error
		requests int
	}{
		"key refused":                {[]llmtest.Answer{llmtest.Status(401, nil)}, llm.ErrRejected, 1},
		"forbidden":                  {[]llmtest.Answer{llmtest.Status(403, nil)}, llm.ErrRejected, 1},
		"unknown model":              {[]llmtest.Answer{llmtest.Status(404, nil)}, llm.ErrRejected, 1},
		"bad request":                {[]llmtest.Answer{llmtest.Status(400, nil)}, llm.ErrRejected, 1},
		"conflict":                   {[]llmtest.Answer{llmtest.Status(409, nil)}, llm.ErrRejected, 1},
		"the SDK is told to retry":   {[]llmtest.Answer{llmtest.Status(400, http.Header{"X-Should-Retry": {"true"}})}, llm.ErrRejected, 1},
		"limited":                    {[]llmtest.Answer{llmtest.Status(429, nil)}, llm.ErrLimited, 3},
		"limited for long":           {[]llmtest.Answer{llmtest.Status(429, after("30"))}, llm.ErrLimited, 1},
		"limited until a date":       {[]llmtest.Answer{llmtest.Status(429, after("Fri, 01 Jan 2100 00:00:00 GMT"))}, llm.ErrLimited, 1},
		"limited until the past":     {[]llmtest.Answer{llmtest.Status(429, after("Fri, 01 Jan 2010 00:00:00 GMT")), ok}, nil, 2},
		"limited, odd header":        {[]llmtest.Answer{llmtest.Status(429, after("-1")), ok}, nil, 2},
		"limited once":               {[]llmtest.Answer{llmtest.Status(429, after("0")), ok}, nil, 2},
		"broken":                     {[]llmtest.Answer{llmtest.Status(500, nil)}, llm.ErrUnavailable, 3},
		"overloaded twice":           {[]llmtest.Answer{llmtest.Status(529, nil), llmtest.Status(503, nil), ok}, nil, 3},
		"timeout of the server":      {[]llmtest.Answer{llmtest.Status(408, nil), ok}, nil, 2},
		"lost connection":            {[]llmtest.Answer{llmtest.Hangup(), ok}, nil, 2},
		"connection lost thrice":     {[]llmtest.Answer{llmtest.Hangup()}, llm.ErrUnavailable, 3},
		"lost in the reply":          {[]llmtest.Answer{llmtest.Partial(), ok}, nil, 2},
		"garbage":                    {[]llmtest.Answer{llmtest.Garbage()}, llm.ErrMalformed, 1},
		"empty":                      {[]llmtest.Answer{llmtest.Raw(nil)}, llm.ErrMalformed, 1},
		"null":                       {[]llmtest.Answer{llmtest.Raw([]byte(`null`))}, llm.ErrMalformed, 1},
		"empty object":               {[]llmtest.Answer{llmtest.Raw([]byte(`{}`))}, llm.ErrMalformed, 1},
		"other type":                 {[]llmtest.Answer{llmtest.Raw([]byte(`["` + body + `"]`))}, llm.ErrMalformed, 1},
		"members of other types":     {[]llmtest.Answer{llmtest.Raw([]byte(oddTypes))}, llm.ErrMalformed, 1},
		"document is not JSON":       {[]llmtest.Answer{llmtest.Document(body)}, llm.ErrMalformed, 1},
		"document is empty":          {[]llmtest.Answer{llmtest.Document("")}, llm.ErrMalformed, 1},
		"document with a tail":       {[]llmtest.Answer{llmtest.Document(`{"text":"a"} ` + body)}, llm.ErrMalformed, 1},
		"document in a code block":   {[]llmtest.Answer{llmtest.Document("```json\n{}\n```")}, llm.ErrMalformed, 1},
		"cut at the limit":           {[]llmtest.Answer{llmtest.CutShort(`{"text":"` + body + `"}`)}, llm.ErrMalformed, 1},
		"refusal":                    {[]llmtest.Answer{llmtest.Refusal()}, llm.ErrMalformed, 1},
		"endless":                    {[]llmtest.Answer{llmtest.Endless()}, llm.ErrMalformed, 1},
		"status without content":     {[]llmtest.Answer{llmtest.Status(204, nil)}, llm.ErrMalformed, 1},
		"an error with status 200":   {[]llmtest.Answer{llmtest.Status(200, nil)}, llm.ErrMalformed, 1},
		"not modified is a redirect": {[]llmtest.Answer{llmtest.Status(304, nil)}, llm.ErrUnavailable, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			families(t, func(t *testing.T, family llm.Family) {
				s := llmtest.New(t, family)
				s.Script(c.answers...)
				reply, err := s.Client(t, nil).Complete(t.Context(), request())
				require.Len(t, s.Requests(), c.requests)
				if c.want == nil {
					require.NoError(t, err)
					require.JSONEq(t, `{"text":"ok"}`, string(reply.Document))
					return
				}
				require.ErrorIs(t, err, c.want)
				require.Empty(t, reply.Document)
				silent(t, err)
			})
		})
	}
}

// oddTypes has the members of all vendors with values of other types.
const oddTypes = `{"content":5,"stop_reason":{},"usage":[1],"output":"x","status":7,"candidates":"y","usageMetadata":3}`

func TestTokensOfUnusableRepliesAreCounted(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		for _, answer := range []llmtest.Answer{llmtest.CutShort(`{"te`), llmtest.Document("no JSON"), llmtest.Refusal()} {
			s.Script(answer)
			reply, err := s.Client(t, nil).Complete(t.Context(), request())
			require.ErrorIs(t, err, llm.ErrMalformed)
			require.Equal(t, llm.Reply{InputTokens: llmtest.InputTokens, OutputTokens: llmtest.OutputTokens}, reply)
		}
	})
}

func TestAWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		c := s.Client(t, func(o *llm.Options) { o.Key = llm.NewKey("sk-wrong-1234") })
		_, err := c.Complete(t.Context(), request())
		require.ErrorIs(t, err, llm.ErrRejected)
		require.NotContains(t, err.Error(), "sk-wrong-1234")
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s, other := llmtest.New(t, family), llmtest.New(t, family)
		s.Answer(func(r llmtest.Request) llmtest.Answer { return llmtest.Redirect(other.URL + r.Path) })
		_, err := s.Client(t, nil).Complete(t.Context(), request())
		require.ErrorIs(t, err, llm.ErrUnavailable)
		silent(t, err)
		require.Len(t, s.Requests(), 1)
		require.Empty(t, other.Requests())
	})
}

func TestSlowServersEndAtTheTimeoutAndAreNotRetried(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		for _, answer := range []llmtest.Answer{llmtest.Silence(), llmtest.Trickle()} {
			s := llmtest.New(t, family)
			s.Script(answer)
			c := s.Client(t, func(o *llm.Options) { o.Timeout = 100 * time.Millisecond })
			start := time.Now()
			_, err := c.Complete(t.Context(), request())
			require.ErrorIs(t, err, llm.ErrUnavailable)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 30*time.Second)
			require.Len(t, s.Requests(), 1)
			silent(t, err)
		}
	})
}

func TestTheContextEndsARequestAndItsWaits(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		ctx, cancel := context.WithCancel(t.Context())
		s.Answer(func(llmtest.Request) llmtest.Answer {
			cancel()
			return llmtest.Silence()
		})
		_, err := s.Client(t, nil).Complete(ctx, request())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, llm.ErrUnavailable)
		require.Len(t, s.Requests(), 1)

		// The wait before a retry does not outlast the context either.
		s.Script(llmtest.Status(500, http.Header{"Retry-After": {"4"}}))
		ctx, cancel = context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err = s.Client(t, nil).Complete(ctx, request())
		require.ErrorIs(t, err, llm.ErrUnavailable)
		require.NoError(t, ctx.Err(), "a wait that cannot end in time does not begin")
	})
}

func TestCausesOfTheTransportCanBeTestedForButAreNotShown(t *testing.T) {
	t.Parallel()
	blocked := errors.New("address 10.0.0.1 is blocked")
	families(t, func(t *testing.T, family llm.Family) {
		o := options(llm.NewKey("k"))
		o.HTTP.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, blocked })
		o.Backoff = time.Millisecond
		c, err := llm.New(family, o)
		require.NoError(t, err)
		_, err = c.Complete(t.Context(), request())
		require.ErrorIs(t, err, llm.ErrUnavailable)
		require.ErrorIs(t, err, blocked)
		require.NotContains(t, err.Error(), "10.0.0.1")
	})
}

// TestCompressedRepliesAreCutWhileTheyUnpack is not parallel, because it measures memory.
func TestCompressedRepliesAreCutWhileTheyUnpack(t *testing.T) {
	bomb := llmtest.Bomb()
	for _, family := range llm.Families() {
		s := llmtest.New(t, family)
		s.Script(bomb)
		c := s.Client(t, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Complete(t.Context(), request())
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, llm.ErrMalformed)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	}
}
