package middleware

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/lakewarden/lakewarden/api/problem"
)

// Recover turns a panic into a 500 with the request's id and logs it with its
// stack. When a part of the reply is out already, the connection is cut, so
// that a broken reply never looks complete. [http.ErrAbortHandler], by which a
// handler asks for that itself, passes without a log line.
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
					panic(http.ErrAbortHandler)
				}
				for name := range rec.Header() { // of the reply that never came
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
