package middleware_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
)

func TestRequestID(t *testing.T) {
	send := func(ids ...string) (echoed, inContext string) {
		r := get(t, "/v1/read")
		r.Header["X-Request-Id"] = ids
		w := serve(r, func(_ http.ResponseWriter, r *http.Request) { inContext = problem.RequestID(r.Context()) })
		return w.Header().Get("X-Request-Id"), inContext
	}
	for _, id := range []string{"a", "req-1_2.3", uuid.NewString(), strings.Repeat("x", 64)} {
		echoed, inContext := send(id)
		require.Equal(t, id, echoed)
		require.Equal(t, id, inContext)
	}
	seen := map[string]bool{}
	for _, id := range []string{"", " ", "a b", "a\r\nX: y", "a\"b", "<script>", "é", "a;b", "\x00", strings.Repeat("x", 65)} {
		echoed, inContext := send(id)
		require.NoError(t, uuid.Validate(echoed), "%q was taken over", id)
		require.Equal(t, echoed, inContext)
		require.False(t, seen[echoed])
		seen[echoed] = true
	}
	echoed, _ := send()
	require.NoError(t, uuid.Validate(echoed))
}
