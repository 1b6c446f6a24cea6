package middleware

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/lakewarden/lakewarden/api/problem"
)

// Recover replies to a panic with a 500 that holds the request's id, and logs it with its
// stack. If a part of the reply was already sent, the connection is aborted, so that a
// broken reply never looks complete. [http.ErrAbortHandler], with which a handler
// requests the same, is passed on without a log line.
func Recover(logger *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := record(w, r)
			defer func() {
				reason := recover()
				switch reason {
				case nil:
					return
				case http.ErrAbortHandler:
					panic(reason)
				}
				text := fmt.Sprint(reason)
				logger.LogAttrs(r.Context(), slog.LevelError, "panic",
					slog.String(KeyRequestID, problem.RequestID(r.Context())),
					slog.String(KeyMethod, methodOf(r)),
					slog.String(KeyRoute, routeOf(r)),
					slog.String(KeyError, text),
					slog.String(KeyStack, string(debug.Stack())))
				if rec.Status() != 0 {
					_ = problem.Respond(r.Context(), fmt.Errorf("panic: %s", text), false) // the cause for the log
					panic(http.ErrAbortHandler)
				}
				for name := range rec.Header() { // set for the reply that was not sent
					if name != HeaderRequestID {
						rec.Header().Del(name)
					}
				}
				problem.Write(rec, r, fmt.Errorf("panic: %s", text))
			}()
			next.ServeHTTP(rec, r)
		})
	}
}
