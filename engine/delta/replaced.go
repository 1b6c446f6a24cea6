package delta

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// A commit of another writer can replace the table of a log by one with another
// metaData.id, as CREATE OR REPLACE TABLE does. The log then holds versions of several
// tables.

// LastOf returns the last version of past's table before the table of s replaced it.
// Errors: [ErrIdentityChanged] if past is not an older version in the log of s;
// [ErrLogBroken] if no commit replaces the table; those of [Load].
func (s *Snapshot) LastOf(ctx context.Context, past *Snapshot) (*Snapshot, error) {
	if err := s.PrecededBy(ctx, past); err != nil {
		return nil, err
	}
	commits, err := listCommits(ctx, s.bucket, past.version+1, s.version)
	if err != nil {
		return nil, err
	}
	last := int64(-1)
	err = readCommits(ctx, s.bucket, commits, s.opts.Limits, func(c *commit) error {
		if m := c.metadata(); m != nil && m.ID != past.TableID() {
			last = c.version - 1
			return errFound
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return nil, missingAsBroken(err)
	case last < 0:
		return nil, fmt.Errorf("no commit replaces table %s: %w", past.TableID(), ErrLogBroken)
	case last == past.version:
		return past, nil
	}
	opts := s.opts
	opts.At = AtVersion(last)
	found, err := Load(ctx, s.bucket, opts)
	if err == nil && found.TableID() != past.TableID() { // the log lacks the commit that replaced the table
		return nil, fmt.Errorf("version %d is not of table %s: %w", last, past.TableID(), ErrLogBroken)
	}
	return found, err
}

// PrecededBy returns [ErrIdentityChanged] if past is not an older version in the log of
// s, for example because it is from another log at the same location.
func (s *Snapshot) PrecededBy(ctx context.Context, past *Snapshot) error {
	in, err := past.headIn(ctx, s.bucket)
	if err == nil && in && past.version < s.version {
		in, err = s.headIn(ctx, s.bucket)
	} else {
		in = false
	}
	if err == nil && !in {
		err = fmt.Errorf("version %d of table %s does not precede version %d: %w", past.version, past.TableID(), s.version, ErrIdentityChanged)
	}
	return err
}

// errFound stops the reading of commits.
var errFound = errors.New("found")

// TableIDAt returns the metaData.id of a version up to that of s. Errors: those of
// [Load].
func (s *Snapshot) TableIDAt(ctx context.Context, version int64) (string, error) {
	if id, ok := s.checksumTableID(ctx, version); ok {
		return id, nil
	}
	seg, _, _, err := findSegment(ctx, s.bucket, version)
	if err != nil {
		return "", err
	}
	var id string
	take := func(actions []action.Action) error {
		for _, a := range actions {
			if m, ok := a.(*action.Metadata); ok {
				id = m.ID
			}
		}
		return nil
	}
	err = readCommits(ctx, s.bucket, seg.commits, s.opts.Limits, func(c *commit) error { return take(c.actions) })
	if err == nil && id == "" && len(seg.checkpoint) > 0 {
		err = readCheckpoint(ctx, s.bucket, s.opts, seg.checkpoint, func(batch []action.Action) error {
			if _ = take(batch); id != "" {
				return errFound
			}
			return nil
		})
	}
	switch {
	case err != nil && !errors.Is(err, errFound) && isDamage(err):
		past, err := load(ctx, s.bucket, s.opts, version) // avoids the damaged checkpoint
		if err != nil {
			return "", missingAsBroken(err)
		}
		return past.TableID(), nil
	case err != nil && !errors.Is(err, errFound):
		return "", missingAsBroken(err)
	case id == "":
		return "", fmt.Errorf("version %d has no metaData: %w", version, ErrLogBroken)
	}
	return id, nil
}

// checksumTableID returns the metaData.id in the checksum file of a version, if that
// file exists. It is smaller than a checkpoint.
func (s *Snapshot) checksumTableID(ctx context.Context, version int64) (string, bool) {
	const most = 16 << 20
	body, err := readObject(ctx, s.bucket, logpath.ChecksumName(version), most, 0)
	if err != nil {
		return "", false
	}
	var sum struct {
		Metadata struct {
			ID string `json:"id"`
		} `json:"metadata"`
	}
	err = json.Unmarshal(body, &sum)
	return sum.Metadata.ID, err == nil && sum.Metadata.ID != ""
}
