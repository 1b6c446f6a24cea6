package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Committer publishes the versions of a table. A catalog that ratifies commits can
// replace the default, which writes to the bucket.
type Committer interface {
	// Publish writes body as the commit of a version unless that version exists.
	// Errors: objstore.ErrExists if the version has another commit; objstore.ErrDenied,
	// ErrInvalidName and ErrUnavailable if nothing was published; objstore.ErrUnknown,
	// and every other error, if the outcome is unknown.
	Publish(ctx context.Context, version int64, body []byte) error
}

// bucketCommitter publishes to a bucket by put-if-absent.
type bucketCommitter struct{ bucket objstore.Bucket }

func (c bucketCommitter) Publish(ctx context.Context, version int64, body []byte) error {
	return c.bucket.PutIfAbsent(ctx, logpath.CommitName(version), body)
}

// outcome is the result of one attempt to publish.
type outcome int

const (
	committed outcome = iota
	lost
	unknown
	refused
)

// publish tries once to publish the version and classifies the result.
func publish(ctx context.Context, c Committer, version int64, body []byte) (outcome, error) {
	err := c.Publish(ctx, version, body)
	switch {
	case err == nil:
		return committed, nil
	case errors.Is(err, objstore.ErrUnknown):
		return unknown, err
	case errors.Is(err, objstore.ErrExists):
		return lost, err
	case errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalidName),
		errors.Is(err, objstore.ErrUnavailable):
		return refused, err
	}
	return unknown, err
}

// Commit publishes the transaction as the next version and returns that version. After
// a lost race it retries on top of the winning commits as long as the conflict rules
// allow it. A transaction is committed at most once, whatever Commit returns.
//
// Errors: those that match [ErrConflict] (the caller may plan again from a fresh
// snapshot); [ErrProtocolChanged], [ErrConcurrentTransaction], [ErrIdentityChanged],
// [ErrLogBroken] (terminal); [ErrUnsupportedFeature], [ErrInvalidTxn] (nothing was
// attempted); [ErrCommitUnknown] (the caller must keep the data files, see
// [UnknownError]); and those of the bucket, if nothing was published.
func (t *Txn) Commit(ctx context.Context) (*Snapshot, error) {
	if t.done {
		return nil, fmt.Errorf("transaction was used before: %w", ErrInvalidTxn)
	}
	t.done = true
	s, err := t.commit(ctx)
	if err != nil {
		return nil, fmt.Errorf("committing %s: %w", t.op.Name, err)
	}
	s.afterCommit(ctx)
	return s, nil
}

func (t *Txn) commit(ctx context.Context) (*Snapshot, error) {
	base := t.base
	attempt := t.attempt()
	if err := base.checkHead(ctx); err != nil {
		return nil, err
	}
	// pending is an attempt with an unknown outcome. It can still be published while
	// its version does not exist.
	var pending *UnknownError
	giveUp := func(err error) error {
		if pending != nil {
			return pending
		}
		return err
	}
	for n := 1; ; n++ {
		if err := t.check(base); err != nil {
			return nil, giveUp(err)
		}
		version := base.version + 1
		body, err := t.body(base)
		if err != nil {
			return nil, giveUp(err)
		}
		// A commit that cannot be read back must not be written.
		own, err := decodeCommit(version, body, base.opts.Limits)
		if err != nil {
			return nil, giveUp(err)
		}
		result, cause := publish(ctx, base.committer(), version, body)
		switch result {
		case committed:
			return t.landed(ctx, base, own, len(body))
		case refused:
			return nil, giveUp(cause)
		case unknown:
			pending = &UnknownError{Version: version, TxnID: t.id, cause: cause}
		case lost:
		}
		r := t.rebase(ctx, base, attempt)
		if r.ours {
			return r.snapshot, r.err
		}
		if r.taken {
			pending = nil
		}
		if r.err != nil {
			return nil, giveUp(r.err)
		}
		base = r.snapshot
		if n == base.opts.Attempts {
			return nil, giveUp(fmt.Errorf("after %d attempts: %w", n, ErrContention))
		}
		if err := base.opts.Pause(ctx, n); err != nil {
			return nil, giveUp(err)
		}
	}
}

func (s *Snapshot) committer() Committer {
	if s.opts.Committer != nil {
		return s.opts.Committer
	}
	return bucketCommitter{s.bucket}
}

// body encodes the commit for the version that follows s.
func (t *Txn) body(s *Snapshot) ([]byte, error) {
	opts := s.opts
	now := opts.Clock().UnixMilli()
	blind := t.blindAppend()
	info := &action.CommitInfo{
		Timestamp: now, Operation: t.op.Name, OperationParameters: t.op.Parameters,
		OperationMetrics: t.op.Metrics, IsBlindAppend: &blind,
		EngineInfo: opts.EngineInfo, UserID: t.op.UserID, UserName: t.op.UserName, TxnID: t.id,
		IsolationLevel: t.isolation().String(),
	}
	if read := t.base.version; read >= 0 { // readers take -1 for a broken log
		info.ReadVersion = &read
	}
	if s.flag(propRowTracking) {
		info.Extra = rowIDsPreserved
	}
	if info.OperationParameters == nil {
		info.OperationParameters = map[string]string{}
	}
	metadata := t.metadata
	if s.timestampedAfter(metadata) {
		ict := max(now, s.timestamp.UnixMilli()+1)
		info.InCommitTimestamp = &ict
		metadata = s.withEnablement(metadata, ict)
	}
	adds, rowIDs, err := t.numberRows(s)
	if err != nil {
		return nil, err
	}
	actions := []action.Action{info}
	if t.protocol != nil {
		actions = append(actions, t.protocol)
	}
	if metadata != nil {
		actions = append(actions, metadata)
	}
	actions = appendAll(actions, t.txns)
	actions = appendAll(actions, t.domains)
	if rowIDs != nil {
		actions = append(actions, rowIDs)
	}
	actions = appendAll(actions, t.removes)
	actions = appendAll(actions, adds)
	actions = appendAll(actions, t.cdcs)
	return action.EncodeCommit(actions)
}

func appendAll[T action.Action](to []action.Action, from []T) []action.Action {
	for _, a := range from {
		to = append(to, a)
	}
	return to
}

// String returns the level's name in the log.
func (i Isolation) String() string {
	return [...]string{"Serializable", "WriteSerializable", "SnapshotIsolation"}[i]
}

// resolveTimeout bounds the lookup of a commit that may have been published. The lookup
// continues after the caller's context ends.
const resolveTimeout = 15 * time.Second

// rebased is the result of reading the versions after base.
type rebased struct {
	// snapshot is base with the winning commits applied, or the version of this
	// transaction.
	snapshot *Snapshot
	// ours reports whether this transaction is one of the commits.
	ours bool
	// taken reports whether another commit has the version after base.
	taken bool
	// err is a conflict, or an error of reading the commits.
	err error
}

// rebase reads the commits after base and applies the conflict rules to them. It looks
// for this transaction after an unknown outcome and also after a lost race: the client
// of a store repeats requests, so the winner may be this transaction's first request.
func (t *Txn) rebase(ctx context.Context, base *Snapshot, a *attempt) (r rebased) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	var won []*commit
	var winners []*winner
	protocol := base.state.protocol
	for v := base.version + 1; ; v++ {
		c, err := readCommit(ctx, base.bucket, v, base.opts.Limits)
		if errors.Is(err, objstore.ErrNotFound) {
			break
		}
		if err != nil {
			r.err = err
			return r
		}
		won = append(won, c)
		if c.info().TxnID == t.id {
			r.ours = true
			if r.snapshot, r.err = base.advance(ctx, won); r.err != nil {
				r.err = &UnknownError{Version: v, TxnID: t.id, cause: r.err}
			}
			return r
		}
		r.taken = true
		w, err := c.winner(protocol, base.state.folder)
		if err != nil {
			r.err = err
			return r
		}
		winners = append(winners, w)
		if w.protocol != nil {
			protocol = w.protocol
		}
	}
	for _, w := range winners {
		if r.err = conflict(a, w); r.err != nil {
			return r
		}
	}
	r.snapshot = base
	if len(won) > 0 {
		r.snapshot, r.err = base.advance(ctx, won)
	}
	return r
}

// landed returns the snapshot of this transaction's published commit of size bytes.
func (t *Txn) landed(ctx context.Context, base *Snapshot, own *commit, size int) (*Snapshot, error) {
	// The commit is published, so the caller's context must not turn it into an error.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	name := logpath.CommitName(own.version)
	object, err := base.bucket.Stat(ctx, name)
	if err != nil {
		base.opts.Warn(ctx, Warning{Step: "stat", Version: own.version, Err: err})
		object = objstore.Object{Name: name, Size: int64(size)}
	}
	own.object = object
	s, err := base.advance(ctx, []*commit{own})
	if err != nil {
		return nil, &UnknownError{Version: own.version, TxnID: t.id, cause: err}
	}
	return s, nil
}
