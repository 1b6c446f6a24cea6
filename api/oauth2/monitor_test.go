package oauth2_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/catalog"
)

// log collects audit entries.
type log struct{ entries []catalog.AuditEntry }

// Record implements oauth2.Recorder.
func (l *log) Record(e catalog.AuditEntry) { l.entries = append(l.entries, e) }

func newMonitor() (oauth2.Monitor, *log) {
	l := &log{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failures := middleware.NewFailures(middleware.Rate{PerMinute: 3, Burst: 3}, func() time.Time { return now })
	tokens := middleware.NewLimiter(middleware.Rate{PerMinute: 3, Burst: 3}, func() time.Time { return now })
	return oauth2.Monitor{Audit: l, Failures: failures, Tokens: tokens}, l
}

func TestEventsAreAudited(t *testing.T) {
	m, l := newMonitor()
	r := httptest.NewRequest(http.MethodPost, "/oauth2/token", nil)
	e := oauth.Event{Kind: "refresh_token", Client: "lakewarden", User: uuid.New(), Org: uuid.New(), Session: uuid.New()}
	m.Issued(r, e)
	e.Reason = "invalid_grant"
	m.Refused(r, e)
	m.Issued(r, oauth.Event{Kind: "code", Client: "lakewarden", User: e.User})
	m.Issued(r, oauth.Event{Kind: "revocation", Client: "lakewarden", Session: e.Session})
	actions := []string{}
	for _, entry := range l.entries {
		actions = append(actions, entry.Action)
		require.Equal(t, "client/lakewarden", entry.Resource)
		require.NoError(t, entry.Validate())
	}
	require.Equal(t, []string{"token.issued", "token.refused", "code.issued", "token.revoked"}, actions)
	require.Equal(t, catalog.OutcomeAllow, l.entries[0].Outcome)
	require.Equal(t, catalog.OutcomeDeny, l.entries[1].Outcome)
	require.Equal(t, e.User.String(), string(l.entries[0].User))
	require.Equal(t, e.Org.String(), string(l.entries[0].Org))
	require.JSONEq(t, `{"grant":"refresh_token","session":"`+e.Session.String()+`","error":"invalid_grant"}`, string(l.entries[1].Details))
}

// TestFloodsOfRefusalsDoNotFillTheLog checks refusals that name no user, which anybody can
// cause.
func TestFloodsOfRefusalsDoNotFillTheLog(t *testing.T) {
	for name, refuse := range map[string]func(oauth2.Monitor) time.Duration{
		"wrong secrets": func(m oauth2.Monitor) time.Duration {
			return m.ClientRefused(httptest.NewRequest(http.MethodPost, "/oauth2/token", nil), "someone")
		},
		"wrong links": func(m oauth2.Monitor) time.Duration {
			m.Refused(httptest.NewRequest(http.MethodGet, "/oauth2/authorize", nil),
				oauth.Event{Kind: "code", Client: "someone", Reason: "invalid_request"})
			return 0
		},
	} {
		m, l := newMonitor()
		var wait time.Duration
		for range 100 {
			wait = refuse(m)
		}
		require.Less(t, len(l.entries), 8, name)
		require.Greater(t, len(l.entries), 2, name)
		if name == "wrong secrets" {
			require.Positive(t, wait)
		}
	}
	m, l := newMonitor()
	known := oauth.Event{Kind: "refresh_token", Client: "lakewarden", User: uuid.New(), Reason: "invalid_grant"}
	for range 100 {
		m.Refused(httptest.NewRequest(http.MethodPost, "/oauth2/token", nil), known)
	}
	require.Len(t, l.entries, 100, "refusals of a known user are all recorded")
}

func TestTokensOfAClientAreLimited(t *testing.T) {
	m, _ := newMonitor()
	for range 3 {
		require.Zero(t, m.Limited("robot"))
	}
	require.Equal(t, 20*time.Second, m.Limited("robot"))
	require.Zero(t, m.Limited("another"))
}
