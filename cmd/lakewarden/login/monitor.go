package login

import (
	"log/slog"
	"net/http"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth/oauth"
)

// monitor is an [oauth2.Monitor] that also tells organisations about sign-ins.
type monitor struct {
	oauth2.Monitor
	signIns identity.OrganisationSignIns
	log     *slog.Logger
}

// Issued implements oauth.Monitor.
func (m monitor) Issued(r *http.Request, e oauth.Event) {
	m.Monitor.Issued(r, e)
	if e.Kind == oauth.KindCode || e.Kind == oauth.KindRevocation {
		return
	}
	from := identity.Origin{Remote: middleware.Remote(r), RequestID: problem.RequestID(r.Context())}
	if err := m.signIns.Issued(r.Context(), e.Org, e.Session, from); err != nil {
		m.log.WarnContext(r.Context(), "sign-in not written to the log of the organisation", "session", e.Session, "error", err)
	}
}
