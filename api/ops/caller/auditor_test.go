package caller_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// auditStore validates like the real store, and can be unavailable for a while.
type auditStore struct {
	catalog.Audit
	mu      sync.Mutex
	failing int
	entries []catalog.AuditEntry
}

func (s *auditStore) AppendAudit(_ context.Context, entries ...catalog.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing > 0 {
		s.failing--
		return catalog.ErrUnavailable
	}
	for _, e := range entries {
		if err := e.Validate(); err != nil {
			return err
		}
	}
	s.entries = append(s.entries, entries...)
	return nil
}

func TestAuditKeepsEveryEntryInOrder(t *testing.T) {
	store := &auditStore{failing: 1}
	a := caller.NewAuditor(context.Background(), store, slog.New(slog.DiscardHandler))
	const n = 1000
	for i := range n {
		a.Record(catalog.AuditEntry{Action: "a", Outcome: catalog.OutcomeAllow, RequestID: strings.Repeat("x", i%100)})
	}
	a.Close()
	require.Equal(t, n, len(store.entries))
	for i, e := range store.entries {
		require.Len(t, e.RequestID, i%100)
		require.False(t, e.At.IsZero())
	}
}

func TestNoCallGetsAroundTheAuditLogByBeingOdd(t *testing.T) {
	store := &auditStore{}
	a := caller.NewAuditor(context.Background(), store, slog.New(slog.DiscardHandler))
	huge, err := json.Marshal(map[string]string{"x": strings.Repeat("y", 1<<17)})
	require.NoError(t, err)
	for _, resource := range []string{"/v1/\xff\x00", strings.Repeat("\u00fc", 5000)} {
		a.Record(catalog.AuditEntry{Action: "a", Outcome: catalog.OutcomeDeny, Resource: resource, Details: huge})
	}
	a.Close()
	require.Len(t, store.entries, 2)
	require.Equal(t, "/v1/\uFFFD\uFFFD", store.entries[0].Resource)
	require.True(t, errors.Is(store.entries[0].Validate(), nil))
}
