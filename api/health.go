package api

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"
)

// Health answers the probes of an orchestrator.
type Health struct {
	// Checks are the checks of readiness, by name. Each must be quick.
	Checks map[string]func(context.Context) error

	draining atomic.Bool
}

const checkTime = 2 * time.Second

// live reports that the process serves requests.
func (h *Health) live(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"status": "ok"})
}

// ready reports whether the server can take requests. The reply names the checks that
// failed; the log holds the reasons.
func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	checks := map[string]string{}
	status, word := http.StatusOK, "ready"
	if h.draining.Load() {
		status, word = http.StatusServiceUnavailable, "draining"
	}
	for name, check := range h.Checks {
		checks[name] = "ok"
		if check(ctx) != nil {
			checks[name] = "failed"
			status, word = http.StatusServiceUnavailable, "not ready"
		}
	}
	reply(w, status, map[string]any{"status": word, "checks": checks})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
