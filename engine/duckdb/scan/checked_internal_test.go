package scan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// scanOf returns the scan of a list of remote files with the given stamps.
func scanOf(t *testing.T, stamps ...engine.FileStamp) *fileScan {
	t.Helper()
	var group engine.FileGroup
	for i, stamp := range stamps {
		group.Add(fmt.Sprintf("%d.parquet", i), stamp)
	}
	columns := []engine.Column{{Name: "a", Type: sqltype.BigInt}, {Name: "b", Type: sqltype.BigInt}}
	s, err := newFileScan(engine.NewFileList(columns, true, []engine.FileGroup{group}), "s3://bucket/t")
	require.NoError(t, err)
	return s
}

// TestConvertedColumnsAreNotedOnce checks that the work on a list of checked files grows with
// their number and not with its square.
func TestConvertedColumnsAreNotedOnce(t *testing.T) {
	v := NewViews(nil, &Checked{})
	s := scanOf(t, make([]engine.FileStamp, 1000)...)
	_, keys := v.unknownFiles(s)
	for _, k := range keys {
		v.checked.add(k, []string{"a", "b"})
	}
	unknown, _ := v.unknownFiles(s)
	require.Empty(t, unknown)
	require.Len(t, s.widened, 2)
}

// TestReplacedFileIsCheckedAgain checks that a remote file is checked again if the log says that
// it was replaced under its name.
func TestReplacedFileIsCheckedAgain(t *testing.T) {
	v := NewViews(nil, &Checked{})
	unknown, keys := v.unknownFiles(scanOf(t, engine.FileStamp{Size: 1}, engine.FileStamp{Size: 2, Modified: 1}))
	require.Equal(t, []int{0, 1}, unknown)
	for _, k := range keys {
		v.checked.add(k, nil)
	}
	for i, stamp := range []engine.FileStamp{{Size: 2, Modified: 1}, {Size: 3, Modified: 1}, {Size: 2, Modified: 2}} {
		unknown, _ = v.unknownFiles(scanOf(t, engine.FileStamp{Size: 1}, stamp))
		require.Equal(t, i > 0, len(unknown) == 1, "%+v", stamp)
	}
}
