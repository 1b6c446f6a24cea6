package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelay(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, strings.Join([]string{r.Method, r.Host, r.RequestURI, r.Header.Get("Accept-Encoding"), string(body)}, " "))
	}))
	defer upstream.Close()
	const delay = 40 * time.Millisecond
	proxy, err := startDelay(t.Context(), upstream.URL, delay)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 50}}
	defer client.CloseIdleConnections()
	ask := func() (string, time.Duration) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, proxy.url+"/a%2Fb?list-type=2&x=", strings.NewReader("body"))
		if err != nil {
			return err.Error(), 0
		}
		start := time.Now()
		response, err := client.Do(request)
		if err != nil {
			return err.Error(), 0
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text), time.Since(start)
	}

	// The proxy does not change a signed request.
	want := "PUT " + strings.TrimPrefix(proxy.url, "http://") + " /a%2Fb?list-type=2&x=  body"
	text, elapsed := ask()
	require.Equal(t, want, text)
	require.GreaterOrEqual(t, elapsed, delay)

	// Requests are delayed concurrently.
	const many = 50
	start := time.Now()
	var group sync.WaitGroup
	texts := make([]string, many)
	for i := range many {
		group.Go(func() { texts[i], _ = ask() })
	}
	group.Wait()
	require.Less(t, time.Since(start), many*delay)
	for _, text := range texts {
		require.Equal(t, want, text)
	}
	require.NoError(t, proxy.Close())
}
