package write

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// ErrKeyReused: an idempotency key came with another request before: 422.
var ErrKeyReused = fault.New("idempotency_key_reused", "idempotency key reused")

// writeKeysKept is how long replies are stored, and how long tables that this server creates
// hold the transactions.
const writeKeysKept = 7 * 24 * time.Hour

// clocksApart bounds how far the clocks of a catalog and of commits may differ.
const clocksApart = time.Hour

// SweepKeys deletes the keys of old requests.
func (o Service) SweepKeys(ctx context.Context) error {
	_, err := o.Store.ForgetWriteKeys(authz.System(ctx, "idempotency keys"), time.Now().Add(-writeKeysKept))
	return err
}

// asked is a digest of a request.
type asked struct{ hash.Hash }

func newAsked(words ...string) asked {
	a := asked{sha256.New()}
	memo.Digest(a).Text(words...)
	return a
}

// body returns r as a reader that adds what it reads to the digest.
func (a asked) body(r io.Reader) io.Reader { return io.TeeReader(r, a.Hash) }

// key returns the name of the request's key in the catalog and in the table.
func (w *writing) key() string {
	k := memo.NewDigest()
	k.Text("write", string(w.actor.Org), string(w.actor.User), w.options.Key)
	return hex.EncodeToString(k.Sum(nil)[:20])
}

// claim returns the result of an earlier request with the same idempotency key, if there is
// one. Otherwise it claims the key, and the commit will name it: of two requests with one key
// only one is committed.
func (w *writing) claim(ctx context.Context, a asked) (*Result, error) {
	if w.options.Key == "" || w.options.DryRun {
		return nil, nil
	}
	key, sum := w.key(), a.Sum(nil)
	stored, err := w.Store.ClaimWriteKey(authz.System(ctx, "idempotency key"), w.actor.Org, key, hex.EncodeToString(sum))
	if err != nil {
		return nil, err
	}
	if stored.Fingerprint != hex.EncodeToString(sum) {
		return nil, ErrKeyReused
	}
	if stored.Reply != nil {
		var out Result
		return &out, json.Unmarshal(stored.Reply, &out)
	}
	w.application = &dml.Application{ID: "lakewarden-" + key, Version: int64(binary.BigEndian.Uint64(sum) >> 1)}
	return w.earlier(ctx, stored.ClaimedAt)
}

// earlier finds the commit of a request whose reply was never stored, because the server ended
// in between. A table can have a setting by which it drops transactions sooner than the catalog
// drops keys; then its history is read back to the time of the claim. If that part of the
// history is gone too, the outcome is unknown.
func (w *writing) earlier(ctx context.Context, claimed time.Time) (*Result, error) {
	version, done := w.table.Snapshot().SetTransaction(w.application.ID)
	switch {
	case done && version != w.application.Version:
		return nil, ErrKeyReused
	case !done && claimed.IsZero():
		return nil, nil
	}
	const page, most = 100, 10_000
	for before, seen := int64(0), 0; seen < most; seen += page {
		entries, err := w.table.Snapshot().History(ctx, page, before)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.OperationParameters[dml.ParameterKey] == action.JSONText(w.application.ID) {
				out := writtenBy(e)
				return &out, w.settle(ctx, out)
			}
			before = e.Version
			if !done && (before == 0 || e.Timestamp.Before(claimed.Add(-clocksApart))) {
				return nil, nil
			}
		}
		if len(entries) < page || before == 0 {
			break
		}
	}
	if !done {
		return nil, fmt.Errorf("idempotency key of %s: the history is gone: %w", claimed.Format(time.RFC3339), delta.ErrCommitUnknown)
	}
	return nil, delta.ErrConcurrentTransaction // the work is done, but its numbers are gone with the log
}

// writtenBy returns what a commit of this server did.
func writtenBy(e delta.HistoryEntry) Result {
	number := func(names ...string) (n int64) {
		for _, name := range names {
			if m, err := strconv.ParseInt(e.OperationMetrics[name], 10, 64); err == nil {
				n += m
			}
		}
		return n
	}
	out := Result{Version: e.Version, Updated: number("numUpdatedRows", "numTargetRowsUpdated"),
		Deleted: number("numDeletedRows", "numTargetRowsDeleted")}
	if out.Inserted = number("numTargetRowsInserted"); strings.EqualFold(e.Operation, "WRITE") {
		out.Inserted = number("numOutputRows")
	}
	return out
}

// settle stores the reply of a request with a key.
func (w *writing) settle(ctx context.Context, out Result) error {
	if w.application == nil || w.options.DryRun {
		return nil
	}
	reply, err := json.Marshal(out)
	if err != nil {
		return err
	}
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	return w.Store.SettleWriteKey(authz.System(ctx, "idempotency key"), w.actor.Org, w.key(), reply)
}
