package middleware

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// The keys of an access log line.
const (
	KeyRequestID  = "request_id"
	KeyMethod     = "method"
	KeyRoute      = "route"
	KeyPath       = "path"
	KeyStatus     = "status"
	KeyBytes      = "bytes"
	KeyDurationMS = "duration_ms"
	KeyRemote     = "remote"
	KeyOrg        = "org_id"
	KeyUser       = "user_id"
	KeyAPIKey     = "key_id"
	KeyError      = "error"
	KeyCut        = "cut"
	KeyStack      = "stack"
)

type callerKey struct{}

// caller is set by Authenticate, an inner handler, and read when the request ends.
type caller struct{ principal *auth.Principal }

// AccessLog writes one line for each request when it ends. The path is logged without its
// query. The cause of an error is logged for statuses from 500 on, for 401, and for
// tables that cannot be read, because the replies to these do not name it. A reply that the server
// cut off is marked.
func AccessLog(logger *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			who := &caller{}
			ctx := context.WithValue(r.Context(), callerKey{}, who)
			r = r.WithContext(ctx)
			rec := record(w, r)
			cut := true
			defer func() {
				status := outcome(r, rec, cut)
				attrs := attributes(r, rec, who, status, time.Since(start))
				if cut {
					attrs = append(attrs, slog.Bool(KeyCut, true))
				}
				logger.LogAttrs(ctx, levelOf(ctx, status), "request", attrs...)
			}()
			next.ServeHTTP(rec, r)
			cut = false
		})
	}
}

// codeBusy is the error code of a full queue.
const codeBusy = "server_busy"

// levelOf returns the level of a request's line. A full queue is not a failure of the
// server: metrics count it, and many requests meet it at the same time.
func levelOf(ctx context.Context, status int) slog.Level {
	switch {
	case status < http.StatusInternalServerError:
		return slog.LevelInfo
	case status == http.StatusServiceUnavailable && problem.From(problem.Cause(ctx)).Name == codeBusy:
		return slog.LevelWarn
	}
	return slog.LevelError
}

func attributes(r *http.Request, rec recorder, who *caller, status int, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String(KeyRequestID, problem.RequestID(r.Context())),
		slog.String(KeyMethod, methodOf(r)),
		slog.String(KeyRoute, routeOf(r)),
		slog.String(KeyPath, r.URL.Path),
		slog.Int(KeyStatus, status),
		slog.Int(KeyBytes, rec.BytesWritten()),
		slog.Float64(KeyDurationMS, float64(took.Microseconds())/1000),
		slog.String(KeyRemote, Remote(r)),
	}
	if p := who.principal; p != nil {
		attrs = append(attrs, slog.String(KeyOrg, p.OrgID.String()), slog.String(KeyUser, p.UserID.String()))
		if p.KeyID != nil {
			attrs = append(attrs, slog.String(KeyAPIKey, p.KeyID.String()))
		}
	}
	if status >= http.StatusInternalServerError || status == http.StatusUnauthorized || problem.RefusesTable(problem.Cause(r.Context())) {
		if text := problem.CauseText(r.Context()); text != "" {
			attrs = append(attrs, slog.String(KeyError, text))
		}
	}
	return attrs
}
