package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// defaultDeletedRetention is the protocol's default of
// delta.deletedFileRetentionDuration.
const defaultDeletedRetention = 7 * 24 * time.Hour

// afterCommit writes the files that make later reads cheaper. The version is already
// committed, so every failure is only a warning.
func (s *Snapshot) afterCommit(ctx context.Context) {
	warn := func(step string, err error) {
		if err != nil {
			s.opts.Warn(ctx, Warning{Step: step, Version: s.version, Err: err})
		}
	}
	warn("checksum", s.writeChecksum(ctx))
	if s.opts.NoCheckpoints || s.version == 0 || s.version%s.checkpointInterval() != 0 {
		return
	}
	if err := s.Checkpoint(ctx); err != nil {
		warn("checkpoint", err)
		return
	}
	_, err := s.CleanLog(ctx)
	warn("cleanup", err)
}

// checksum is the content of `<version>.crc` (protocol, "Version Checksum File"), with
// its required members only.
type checksum struct {
	TxnID             string           `json:"txnId,omitempty"`
	TableSizeBytes    int64            `json:"tableSizeBytes"`
	NumFiles          int64            `json:"numFiles"`
	NumMetadata       int64            `json:"numMetadata"`
	NumProtocol       int64            `json:"numProtocol"`
	InCommitTimestamp *int64           `json:"inCommitTimestampOpt,omitempty"`
	Metadata          *action.Metadata `json:"metadata"`
	Protocol          *action.Protocol `json:"protocol"`
}

// writeChecksum does not overwrite an existing file: the protocol forbids it, and that
// file describes the same version.
func (s *Snapshot) writeChecksum(ctx context.Context) error {
	info := s.head.info()
	body, err := json.Marshal(checksum{
		TxnID: info.TxnID, TableSizeBytes: s.TotalBytes(), NumFiles: int64(s.NumFiles()),
		NumMetadata: 1, NumProtocol: 1, InCommitTimestamp: info.InCommitTimestamp,
		Metadata: s.state.metadata, Protocol: s.state.protocol,
	}, json.Deterministic(true))
	if err != nil {
		return err
	}
	err = s.bucket.PutIfAbsent(ctx, logpath.ChecksumName(s.version), body)
	if errors.Is(err, objstore.ErrExists) {
		return nil
	}
	return err
}

// Checkpoint writes the classic checkpoint of the version and updates
// `_last_checkpoint`. Commits call it every delta.checkpointInterval versions. It is
// idempotent.
func (s *Snapshot) Checkpoint(ctx context.Context) error {
	body, sum, err := s.checkpointBody()
	if err != nil {
		return fmt.Errorf("checkpoint %d: %w", s.version, err)
	}
	size := int64(len(body))
	if err := s.bucket.Put(ctx, logpath.CheckpointName(s.version), bytes.NewReader(body), size); err != nil {
		return fmt.Errorf("checkpoint %d: %w", s.version, err)
	}
	if newer, err := s.hintedBeyond(ctx); err != nil || newer {
		return err
	}
	hinted, err := checkpoint.EncodeLast(checkpoint.Last{
		Version: s.version, Size: sum.Actions, SizeInBytes: &size, NumOfAddFiles: &sum.AddFiles,
	})
	if err != nil {
		return err
	}
	if err := s.bucket.Put(ctx, logpath.LastCheckpoint, bytes.NewReader(hinted), int64(len(hinted))); err != nil {
		return fmt.Errorf("hint at checkpoint %d: %w", s.version, err)
	}
	return nil
}

// hintedBeyond reports whether _last_checkpoint names a newer checkpoint that exists.
// If it names a missing checkpoint, it must be overwritten.
func (s *Snapshot) hintedBeyond(ctx context.Context) (bool, error) {
	hinted, ok := hint(ctx, s.bucket)
	if !ok || hinted <= s.version {
		return false, nil
	}
	l, err := listLog(ctx, s.bucket, hinted)
	return l.checkpoints()[hinted] != nil, err
}

// checkpointActions yields the actions of the checkpoint: the state without expired
// tombstones and transactions.
func (s *Snapshot) checkpointActions() iter.Seq[action.Action] {
	now := s.opts.Clock()
	keepRemoves := now.Add(-s.interval(propDeletedRetention, defaultDeletedRetention)).UnixMilli()
	keepTxns := int64(0)
	if _, ok := s.Properties()[propTxnRetention]; ok {
		keepTxns = now.Add(-s.interval(propTxnRetention, 0)).UnixMilli()
	}
	return func(yield func(action.Action) bool) {
		if !yield(s.state.protocol) || !yield(s.state.metadata) {
			return
		}
		for t := range sortedValues(s.state.txns) {
			// One without a time never expires, because its age is unknown.
			if t.LastUpdated != nil && *t.LastUpdated < keepTxns {
				continue
			}
			if !yield(t) {
				return
			}
		}
		for d := range sortedValues(s.state.domains) {
			if !yield(d) {
				return
			}
		}
		for _, r := range s.state.tombs.all() {
			if r.DeletedAt() <= keepRemoves {
				continue
			}
			if !yield(r) {
				return
			}
		}
		for _, a := range s.state.files.all() {
			if !yield(a) {
				return
			}
		}
	}
}
