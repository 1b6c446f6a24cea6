package delta

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// HistoryEntry is one version as its commit describes itself.
type HistoryEntry struct {
	Version             int64
	Timestamp           time.Time
	Operation           string
	OperationParameters map[string]string
	OperationMetrics    map[string]string
	UserID              string
	UserName            string
	// ReadVersion and IsBlindAppend are nil when the writer did not say.
	ReadVersion   *int64
	IsBlindAppend *bool
	EngineInfo    string
	TxnID         string
}

// History returns up to limit versions below before, newest first; before zero
// or less means from s on. It ends early where older commits are cleaned up.
func (s *Snapshot) History(ctx context.Context, limit int, before int64) ([]HistoryEntry, error) {
	last := s.version
	if before > 0 {
		last = min(last, before-1)
	}
	first := max(0, last-int64(limit)+1)
	if limit <= 0 || last < first {
		return nil, nil
	}
	l, err := listCommits(ctx, s.bucket, first, last)
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	var entries []HistoryEntry
	err = readCommits(ctx, s.bucket, l, s.opts.Limits, func(c *commit) error {
		entries = append(entries, historyEntry(c))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", vanished(err))
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Version > entries[j].Version })
	return entries, nil
}

func historyEntry(c *commit) HistoryEntry {
	info := c.info()
	return HistoryEntry{
		Version:             c.version,
		Timestamp:           commitTime(c.object, info),
		Operation:           info.Operation,
		OperationParameters: info.OperationParameters,
		OperationMetrics:    info.OperationMetrics,
		UserID:              info.UserID,
		UserName:            info.UserName,
		ReadVersion:         info.ReadVersion,
		IsBlindAppend:       info.IsBlindAppend,
		EngineInfo:          info.EngineInfo,
		TxnID:               info.TxnID,
	}
}

// commitTime prefers the in-commit timestamp: it is there only where the table
// orders its commits by it.
func commitTime(o objstore.Object, info *action.CommitInfo) time.Time {
	if info.InCommitTimestamp != nil {
		return time.UnixMilli(*info.InCommitTimestamp).UTC()
	}
	return o.ModTime.UTC()
}

// listCommits lists the commits from first to last.
func listCommits(ctx context.Context, b objstore.Bucket, first, last int64) ([]versioned, error) {
	l, err := listLog(ctx, b, first)
	if err != nil {
		return nil, err
	}
	end := sort.Search(len(l.commits), func(i int) bool { return l.commits[i].version > last })
	return l.commits[:end], nil
}

// versionAt finds the last version committed at or before t. Modification
// times are made to grow with the version first, as the reference reader does:
// clocks of writers differ.
func versionAt(ctx context.Context, b objstore.Bucket, opts Options, t time.Time) (int64, error) {
	latest, err := load(ctx, b, opts, -1)
	if err != nil {
		return 0, err
	}
	commits, err := listCommits(ctx, b, 0, latest.version)
	if err != nil {
		return 0, err
	}
	if len(commits) == 0 {
		return 0, fmt.Errorf("no commit left: %w", ErrVersionNotFound)
	}
	times, err := commitTimes(ctx, latest, commits)
	if err != nil {
		return 0, err
	}
	i := sort.Search(len(times), func(i int) bool { return times[i].After(t) })
	if i == 0 {
		return 0, fmt.Errorf("nothing committed by %s: %w", t.UTC().Format(time.RFC3339), ErrVersionNotFound)
	}
	return commits[i-1].version, nil
}

func commitTimes(ctx context.Context, latest *Snapshot, commits []versioned) ([]time.Time, error) {
	times := make([]time.Time, len(commits))
	for i, c := range commits {
		times[i] = c.object.ModTime
	}
	if latest.inCommitTimestamps() {
		enabled := latest.inCommitTimestampsSince()
		from := sort.Search(len(commits), func(i int) bool { return commits[i].version >= enabled })
		i := from
		err := readCommits(ctx, latest.bucket, commits[from:], latest.opts.Limits, func(c *commit) error {
			times[i] = commitTime(c.object, c.info())
			i++
			return nil
		})
		if err != nil {
			return nil, vanished(err)
		}
	}
	for i := 1; i < len(times); i++ {
		times[i] = later(times[i-1], times[i])
	}
	return times, nil
}

// LookupCommit reports whether a version was written by the transaction with
// the given id. It resolves an [UnknownError] later.
func LookupCommit(ctx context.Context, b objstore.Bucket, version int64, txnID string) (bool, error) {
	c, err := readCommit(ctx, b, version, action.Limits{}.OrDefault())
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking up commit %d: %w", version, err)
	}
	return txnID != "" && c.info().TxnID == txnID, nil
}
