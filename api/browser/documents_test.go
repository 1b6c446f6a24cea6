package browser_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/browser"
)

func TestProgramsDoNotNavigate(t *testing.T) {
	for _, c := range []struct {
		accept, mode string
		want         bool
	}{
		{"text/html,application/xhtml+xml,*/*;q=0.8", "", true},
		{"text/html,*/*", "navigate", true},
		{"*/*", "navigate", true},
		{"text/html", "cors", false},
		{"*/*", "", false},
		{"", "", false},
		{"application/json, text/html", "", false},
	} {
		r := &http.Request{Header: http.Header{}}
		r.Header.Set("Accept", c.accept)
		if c.mode != "" {
			r.Header.Set("Sec-Fetch-Mode", c.mode)
		}
		require.Equal(t, c.want, browser.Navigates(r), "%+v", c)
	}
}
