package delta

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// changeDir is the folder of change files (protocol, "Change Data Files").
const changeDir = "_change_data/"

// ChangeFile is a change data file: it has the columns of the table (see
// [Snapshot.FileColumns]) and _change_type with "insert", "update_preimage",
// "update_postimage" or "delete". It must exist before the commit.
type ChangeFile struct {
	// Name is the object's name. It is in the folder "_change_data".
	Name string
	// PartitionValues has the form of [AddFile.PartitionValues].
	PartitionValues map[string]*string
	Size            int64
}

// ChangeFeed reports whether the table has a change data feed. A commit that both
// removes and adds files must then record every change in change files; other commits
// need none.
func (s *Snapshot) ChangeFeed() bool { return s.flag(propCDF) }

// AddChange adds change files. Readers of the feed ignore all other files of a commit
// that has change files, so these must record every change. Errors: [ErrUnsafePath],
// [ErrInvalidTxn].
func (t *Txn) AddChange(files ...ChangeFile) error {
	for _, f := range files {
		path := logpath.Encode(f.Name)
		if name, err := logpath.Decode(path); err != nil || name != f.Name {
			return fmt.Errorf("change file %q: %w", f.Name, ErrUnsafePath)
		}
		if !strings.HasPrefix(f.Name, changeDir) || f.Size <= 0 {
			return fmt.Errorf("change file %q is empty or not in %s: %w", f.Name, changeDir, ErrInvalidTxn)
		}
		values, err := t.partition(f.Name, f.PartitionValues)
		if err != nil {
			return err
		}
		t.cdcs = append(t.cdcs, &action.CDC{Path: path, PartitionValues: values, Size: f.Size})
	}
	return nil
}
