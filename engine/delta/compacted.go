package delta

import (
	"bytes"
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// checkCompacted checks the paths in a log compaction file (protocol, "Log Compaction
// Files"). The snapshot is built from the commits, not from this file: writers omit
// expired removals from such files, so files added before the range, and their deleted
// rows, would reappear.
//
// An unsafe path in the file makes the table unreadable, because other readers may
// prefer the file. This also holds if other parts of the file are damaged, because a
// reader may use what it can decode before it fails. Damage alone is not an error.
func checkCompacted(ctx context.Context, b objstore.Bucket, opts Options, f logpath.File) error {
	body, err := readObject(ctx, b, f.Name, int64(opts.Limits.CommitBytes), f.Size)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	actions, err := action.DecodeCommit(body, opts.Limits)
	if err != nil {
		actions = decodableLines(body, opts.Limits)
	}
	st := emptyState("", b)
	for _, a := range actions {
		if err := st.apply(a); err != nil {
			return err
		}
	}
	return nil
}

func decodableLines(body []byte, limits action.Limits) (actions []action.Action) {
	for line := range bytes.Lines(body) {
		if decoded, err := action.DecodeCommit(line, limits); err == nil {
			actions = append(actions, decoded...)
		}
	}
	return actions
}
