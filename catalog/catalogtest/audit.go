package catalogtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func audit(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	first := catalog.AuditEntry{
		ID: catalog.NewID[catalog.AuditID](), At: w.now(), Org: org, User: owner, Key: catalog.NewID[catalog.KeyID](),
		Action: "policy.update", Resource: "policy/1", Outcome: catalog.OutcomeAllow, RequestID: "r1", Remote: "2001:db8::7",
		Details: json.RawMessage(`{"version":2}`),
	}
	second := catalog.AuditEntry{Org: org, Action: "query.run", Outcome: catalog.OutcomeDeny, RequestID: "line\r\nbreak"}
	third := catalog.AuditEntry{Action: "auth.key", Outcome: catalog.OutcomeDeny} // of no organisation
	before := w.epochNow()
	require.NoError(t, w.AppendAudit(w.ctx, first, second, third))
	require.NoError(t, w.AppendAudit(w.ctx))
	require.Equal(t, before, w.epochNow())

	read := func(org catalog.OrgID, f catalog.AuditFilter) []catalog.AuditEntry {
		return all(w, 1, func(page catalog.Page) (catalog.List[catalog.AuditEntry], error) {
			return w.ListAudit(w.ctx, org, f, page)
		})
	}
	entries := read(org, catalog.AuditFilter{})
	require.Len(t, entries, 2)
	w.same(first, entries[1])
	require.Equal(t, "line\r\nbreak", entries[0].RequestID)
	require.NotEmpty(t, entries[0].ID)
	require.True(t, entries[0].At.After(first.At), "newest first")
	require.Empty(t, read(other, catalog.AuditFilter{}))
	require.Len(t, read("", catalog.AuditFilter{}), 1)

	for name, f := range map[string]catalog.AuditFilter{
		"user": {User: owner}, "key": {Key: first.Key}, "action": {Action: "policy.update"}, "resource": {Resource: "policy/1"},
		"outcome": {Outcome: catalog.OutcomeAllow}, "request": {RequestID: "r1"}, "until": {Until: entries[0].At},
		"since": {Since: first.At, Until: entries[0].At},
	} {
		got := read(org, f)
		require.Len(t, got, 1, name)
		require.Equal(t, first.ID, got[0].ID, name)
	}
	require.Len(t, read(org, catalog.AuditFilter{Since: entries[0].At}), 1, "since is inclusive")

	bad := second
	bad.Outcome = "maybe"
	require.Equal(t, []string{"outcome"}, fieldsOf(w, w.AppendAudit(w.ctx, second, bad)))
	require.Len(t, read(org, catalog.AuditFilter{}), 2, "all or nothing")
	existing(w, w.AppendAudit(w.ctx, second, first), "id")
	require.Len(t, read(org, catalog.AuditFilter{}), 2, "entries are never replaced")
	auditMany(t, w, read)
}

// auditMany appends more entries than one statement inserts.
func auditMany(t *testing.T, w *world, read func(catalog.OrgID, catalog.AuditFilter) []catalog.AuditEntry) {
	org, _ := w.org()
	many := make([]catalog.AuditEntry, 75)
	for i := range many {
		many[i] = catalog.AuditEntry{
			ID: catalog.NewID[catalog.AuditID](), At: w.now().Add(time.Duration(i) * time.Second), Org: org, Action: "query.run",
			Resource: fmt.Sprint("statement/", i), Outcome: catalog.OutcomeAllow, Details: json.RawMessage(`{}`),
		}
	}
	existing(w, w.AppendAudit(w.ctx, append(many, many[10])...), "id")
	require.Empty(t, read(org, catalog.AuditFilter{}), "all or nothing")
	require.NoError(t, w.AppendAudit(w.ctx, many...))
	entries := read(org, catalog.AuditFilter{})
	require.Len(t, entries, len(many))
	for i, entry := range many {
		w.same(entry, entries[len(entries)-1-i])
	}
}
