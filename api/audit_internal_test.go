package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// audited holds the entries of an audit log.
type audited struct {
	catalog.Audit
	entries []catalog.AuditEntry
}

// AppendAudit implements catalog.Audit.
func (a *audited) AppendAudit(_ context.Context, entries ...catalog.AuditEntry) error {
	a.entries = append(a.entries, entries...)
	return nil
}

func TestStrangersDoNotFloodTheAuditLog(t *testing.T) {
	log := &audited{}
	auditor := caller.NewAuditor(t.Context(), log, slog.New(slog.DiscardHandler))
	now := time.Now()
	router := chi.NewRouter()
	api := humachi.New(router, huma.DefaultConfig("test", "1"))
	api.UseMiddleware(audit(auditor, throttle.NewRefusals(func() time.Time { return now })))
	huma.Get(api, "/open", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	call := func(ctx context.Context, n int) {
		for range n {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/open", nil)
			router.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	call(t.Context(), 100)
	call(auth.WithPrincipal(t.Context(), auth.Principal{OrgID: uuid.New(), UserID: uuid.New()}), 100)
	now = now.Add(time.Minute)
	call(t.Context(), 2)
	auditor.Close()
	var anonymous, known []catalog.AuditEntry
	for _, e := range log.entries {
		if e.User == "" {
			anonymous = append(anonymous, e)
		} else {
			known = append(known, e)
		}
	}
	require.Len(t, known, 100, "callers with a credential have an entry for each call")
	require.Len(t, anonymous, 60+1+2)
	require.JSONEq(t, `{"status":204,"rate_limited":"address"}`, string(anonymous[60].Details))
}
