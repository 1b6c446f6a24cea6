package delta

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// HistoryEntry describes one version by its commitInfo.
type HistoryEntry struct {
	Version             int64
	Timestamp           time.Time
	Operation           string
	OperationParameters map[string]string
	OperationMetrics    map[string]string
	UserID              string
	UserName            string
	// ReadVersion and IsBlindAppend are nil if the writer did not state them.
	ReadVersion   *int64
	IsBlindAppend *bool
	EngineInfo    string
	TxnID         string
	// TableID is the metaData.id of the version. It is empty if neither this entry nor
	// an older one of the same page states it: see [Snapshot.TableIDAt].
	TableID string
}

// History returns up to limit versions less than before, newest first. If before is
// zero or negative, it starts with s. It ends early if older commits were cleaned up.
func (s *Snapshot) History(ctx context.Context, limit int, before int64) ([]HistoryEntry, error) {
	last := s.version
	if before > 0 {
		last = min(last, before-1)
	}
	first := max(0, last-int64(limit)+1)
	if limit <= 0 || last < first {
		return nil, nil
	}
	clock, err := s.clock(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	index := func(version int64) int {
		return sort.Search(len(clock.commits), func(i int) bool { return clock.commits[i].version >= version })
	}
	from, to := index(first), index(last+1)
	entries := make([]HistoryEntry, 0, to-from)
	err = readCommits(ctx, s.bucket, clock.commits[from:to], s.opts.Limits, func(c *commit) error {
		clock.note(from+len(entries), c.info())
		entry := historyEntry(c)
		if m := c.metadata(); m != nil {
			entry.TableID = m.ID
		} else if n := len(entries); n > 0 {
			entry.TableID = entries[n-1].TableID
		}
		entries = append(entries, entry)
		return nil
	})
	for i := range entries {
		if err == nil {
			entries[i].Timestamp, err = clock.at(ctx, from+i)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", missingAsBroken(err))
	}
	slices.Reverse(entries)
	return entries, nil
}

func historyEntry(c *commit) HistoryEntry {
	info := c.info()
	return HistoryEntry{
		Version:             c.version,
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

// listCommits lists the commits from first to last.
func listCommits(ctx context.Context, b objstore.Bucket, first, last int64) ([]versioned, error) {
	l, err := listLog(ctx, b, first)
	if err != nil {
		return nil, err
	}
	end := sort.Search(len(l.commits), func(i int) bool { return l.commits[i].version > last })
	return l.commits[:end], nil
}

// versionAt returns the last version committed at or before t.
func versionAt(ctx context.Context, b objstore.Bucket, opts Options, t time.Time) (int64, error) {
	latest, err := load(ctx, b, opts, -1)
	if err != nil {
		return 0, err
	}
	clock, err := latest.clock(ctx)
	if err != nil {
		return 0, err
	}
	n, err := clock.find(ctx, t)
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, fmt.Errorf("nothing committed by %s: %w", t.UTC().Format(time.RFC3339), ErrVersionNotFound)
	}
	return clock.commits[n-1].version, nil
}

// LookupCommit reports whether the transaction with the given id wrote the version. It
// resolves an [UnknownError] later.
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
