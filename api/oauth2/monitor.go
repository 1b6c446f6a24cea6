package oauth2

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Recorder queues entries of the audit log.
type Recorder interface {
	Record(entry catalog.AuditEntry)
}

// Monitor writes what the flows issue, revoke and refuse to the audit log, and counts failed
// authentications of clients. Refusals without a known user are counted too, so that a flood
// of them does not fill the log.
type Monitor struct {
	Audit    Recorder
	Failures *middleware.Failures
	// Tokens limits the tokens of each client of a service account.
	Tokens *middleware.Limiter
}

// TokenRate is the rate of tokens of each client of a service account. A token is valid for
// 15 minutes, so that a program with hundreds of processes stays within it.
var TokenRate = middleware.Rate{PerMinute: 60, Burst: 60}

var _ oauth.Monitor = Monitor{}

// Issued implements oauth.Monitor.
func (m Monitor) Issued(r *http.Request, e oauth.Event) {
	action := "token.issued"
	switch e.Kind {
	case oauth.KindCode:
		action = "code.issued"
	case oauth.KindRevocation:
		action = "token.revoked"
	}
	m.record(r, action, catalog.OutcomeAllow, e, nil)
}

// Refused implements oauth.Monitor.
func (m Monitor) Refused(r *http.Request, e oauth.Event) {
	if e.User == uuid.Nil {
		if wait, limited := m.count(r, e.Client); wait > 0 && limited == nil {
			return
		}
	}
	m.record(r, "token.refused", catalog.OutcomeDeny, e, nil)
}

// ClientRefused implements oauth.Monitor.
func (m Monitor) ClientRefused(r *http.Request, client string) time.Duration {
	wait, limited := m.count(r, client)
	if wait == 0 || limited != nil {
		m.record(r, "token.refused", catalog.OutcomeDeny, oauth.Event{Kind: oauth.KindClient, Client: client, Reason: "invalid_client"}, limited)
	}
	return wait
}

// Limited implements oauth.Monitor.
func (m Monitor) Limited(client string) time.Duration { return m.Tokens.Take(client).RetryAfter }

func (m Monitor) count(r *http.Request, client string) (time.Duration, []string) {
	account := ""
	if client != "" {
		account = "client " + client
	}
	return m.Failures.Count(middleware.Remote(r), &auth.Refusal{Account: account, Cause: auth.ErrUnauthenticated})
}

func (m Monitor) record(r *http.Request, action string, outcome catalog.Outcome, e oauth.Event, limited []string) {
	entry := catalog.AuditEntry{Action: action, Outcome: outcome, RequestID: problem.RequestID(r.Context()), Remote: middleware.Remote(r)}
	if e.Client != "" {
		entry.Resource = "client/" + e.Client
	}
	if e.User != uuid.Nil {
		entry.User = catalog.UserID(e.User.String())
	}
	if e.Org != uuid.Nil {
		entry.Org = catalog.OrgID(e.Org.String())
	}
	details := map[string]any{"grant": e.Kind}
	if e.Session != uuid.Nil {
		details["session"] = e.Session.String()
	}
	if e.Reason != "" {
		details["error"] = e.Reason
	}
	if limited != nil {
		details["rate_limited"] = limited
	}
	entry.Details, _ = json.Marshal(details) // texts: cannot fail
	m.Audit.Record(entry)
}
