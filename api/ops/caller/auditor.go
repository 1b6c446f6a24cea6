package caller

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// Auditor writes audit entries in batches, so that a statement does not wait for the
// catalog. If the process is killed, the entries of the last auditFlush can be lost.
// While the catalog is unavailable, entries stay in the buffer, and a full buffer blocks
// callers.
type Auditor struct {
	store   catalog.Audit
	log     *slog.Logger
	entries chan catalog.AuditEntry
	closing chan struct{}
	done    sync.WaitGroup

	mu     sync.RWMutex // held for reading by Record
	closed bool
}

// The bounds of the buffer. 4096 entries are about 2 MiB.
const (
	auditBuffer = 4096
	auditBatch  = 256
	auditFlush  = 500 * time.Millisecond

	maxAuditResource = 1000
)

// NewAuditor starts the writer. Entries are written under the context system, which must
// outlive Close.
func NewAuditor(system context.Context, store catalog.Audit, log *slog.Logger) *Auditor {
	a := &Auditor{store: store, log: log, entries: make(chan catalog.AuditEntry, auditBuffer), closing: make(chan struct{})}
	a.done.Add(1)
	go a.run(system)
	return a
}

// Record queues an entry and sets its time, so that entries have the order of events.
// After Close, entries go to the log.
func (a *Auditor) Record(entry catalog.AuditEntry) {
	if entry.At.IsZero() {
		entry.At = time.Now().UTC()
	}
	entry = storable(entry)
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		a.logUnstored(entry, errors.New("audit log closed"))
		return
	}
	select {
	case a.entries <- entry:
	case <-a.closing:
		a.logUnstored(entry, errors.New("audit log closing"))
	}
}

// NewEntry returns an entry about an action of a caller.
func NewEntry(a Identity, action, resource string, outcome catalog.Outcome) catalog.AuditEntry {
	entry := catalog.AuditEntry{Org: a.Org, User: a.User, Action: action, Resource: resource, Outcome: outcome, RequestID: a.RequestID,
		Remote: a.Remote}
	if a.KeyID != nil {
		entry.Key = catalog.KeyID(a.KeyID.String())
	}
	return entry
}

// storable replaces parts of an entry that the catalog would refuse, so that no call
// avoids the log by an unusual path.
func storable(entry catalog.AuditEntry) catalog.AuditEntry {
	entry.Resource = strings.ReplaceAll(strings.ToValidUTF8(entry.Resource, "\uFFFD"), "\x00", "\uFFFD")
	if len(entry.Resource) > maxAuditResource {
		entry.Resource = strings.ToValidUTF8(entry.Resource[:maxAuditResource], "")
	}
	if entry.Validate() != nil {
		entry.Details = json.RawMessage(`{"details":"too large"}`)
	}
	return entry
}

// Close writes the buffered entries to the catalog, or to the log if that fails. It must be
// called once.
func (a *Auditor) Close() {
	close(a.closing)
	a.mu.Lock()
	a.closed = true
	close(a.entries)
	a.mu.Unlock()
	a.done.Wait()
}

func (a *Auditor) run(ctx context.Context) {
	defer a.done.Done()
	tick := time.NewTicker(auditFlush)
	defer tick.Stop()
	batch := make([]catalog.AuditEntry, 0, auditBatch)
	for {
		entries, closing := a.entries, (chan struct{})(nil)
		if len(batch) == auditBatch { // the catalog does not answer
			entries, closing = nil, a.closing
		}
		select {
		case e, open := <-entries:
			if !open {
				a.appendEach(ctx, a.flush(ctx, batch))
				return
			}
			if batch = append(batch, e); len(batch) == auditBatch {
				batch = a.flush(ctx, batch)
			}
		case <-closing:
			a.appendEach(ctx, batch)
			batch = batch[:0]
		case <-tick.C:
			batch = a.flush(ctx, batch)
		}
	}
}

// flush stores a batch and returns the entries that are not stored: all of them if the
// catalog does not answer.
func (a *Auditor) flush(ctx context.Context, batch []catalog.AuditEntry) []catalog.AuditEntry {
	if len(batch) == 0 {
		return batch
	}
	err := a.store.AppendAudit(ctx, batch...)
	switch {
	case err == nil:
		return batch[:0]
	case errors.Is(err, catalog.ErrInvalid):
		a.appendEach(ctx, batch)
		return batch[:0]
	}
	a.log.Warn("audit entries wait for the catalog", "entries", len(batch), "error", err)
	return batch
}

// appendEach stores entries one by one, and writes those that fail to the log.
func (a *Auditor) appendEach(ctx context.Context, batch []catalog.AuditEntry) {
	for _, e := range batch {
		if err := a.store.AppendAudit(ctx, e); err != nil {
			a.logUnstored(e, err)
		}
	}
}

func (a *Auditor) logUnstored(e catalog.AuditEntry, err error) {
	a.log.Error("audit entry not stored", "action", e.Action, "resource", e.Resource,
		"outcome", e.Outcome, "user", e.User, "request_id", e.RequestID, "at", e.At, "error", err)
}
