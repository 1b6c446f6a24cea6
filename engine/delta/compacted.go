package delta

import (
	"bytes"
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// checkCompacted judges the paths in a file that commits were compacted into
// (protocol, "Log Compaction Files"). Nothing else is taken from it: writers leave
// removals out of such files once they are expired, and with them files that were
// added before the range would come back, rows that were deleted among them. The
// commits are there all the same, and say it right.
//
// Another reader may prefer the file, so an unsafe path in it is one of the table;
// also where the rest cannot be read, because such a reader may take what it can
// before it fails. Damage by itself is no matter of the table.
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
