package llm

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a transport that records requests and answers with {}.
type recorder struct{ sent []*http.Request }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.sent = append(r.sent, request)
	return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
}

func TestTheKeyIsSentToTheConfiguredAddressOnly(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://api.example.com/v1")
	require.NoError(t, err)
	next := &recorder{}
	w := &wire{next: next, base: base, vendor: openaiVendor, key: NewKey("secret")}
	send := func(ctx context.Context, method, address string) {
		r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader("{}"))
		require.NoError(t, err)
		reply, err := w.RoundTrip(r)
		require.Nil(t, reply)
		require.Error(t, err)
	}
	for _, address := range []string{
		"http://api.example.com/v1/responses", "https://api.example.com:444/v1/responses", "https://other.example.com/v1/responses",
		"https://api.example.com/v2/responses", "https://api.example.com/v1", "https://api.example.com/v1x/responses",
		"https://api.example.com/v1/responses?key=1", "https://u:p@api.example.com/v1/responses",
	} {
		send(withExchange(t.Context(), &exchange{}), http.MethodPost, address)
		require.Empty(t, next.sent, address)
	}
	const good = "https://api.example.com/v1/responses"
	send(withExchange(t.Context(), &exchange{}), http.MethodGet, good)
	send(t.Context(), http.MethodPost, good)
	require.Empty(t, next.sent)

	ctx := withExchange(t.Context(), &exchange{})
	send(ctx, http.MethodPost, good)
	require.Len(t, next.sent, 1)
	require.Equal(t, "Bearer secret", next.sent[0].Header.Get("Authorization"))
	send(ctx, http.MethodPost, good)
	require.Len(t, next.sent, 1, "one request for each try")
}
