package dml_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestPublishDecidesOnTheCommit checks that a write whose Publish fails leaves neither
// a version nor a file, and that a dry run does not call Publish.
func TestPublishDecidesOnTheCommit(t *testing.T) {
	l := newLake(t)
	l.reset()
	bucket, err := file.New(l.dir)
	require.NoError(t, err)
	refused := errors.New("refused")
	asked := 0
	insert := func(dry bool, publish func(*delta.Txn) (*delta.Snapshot, error)) error {
		table, options, end, err := l.begin(bucket)
		require.NoError(t, err)
		defer end()
		options.DryRun = dry
		options.Publish = func(_ context.Context, txn *delta.Txn) (*delta.Snapshot, error) {
			asked++
			require.Positive(t, txn.Growth())
			return publish(txn)
		}
		_, err = dml.Insert(t.Context(), table, options, l.stage(options, `{"rows":[{"id":8,"v":"x"}]}`))
		return err
	}
	require.ErrorIs(t, insert(false, func(*delta.Txn) (*delta.Snapshot, error) { return nil, refused }), refused)
	require.Equal(t, "1a 2b 3c", l.rows())
	require.Zero(t, l.orphans())
	require.NoError(t, insert(true, func(*delta.Txn) (*delta.Snapshot, error) { return nil, refused }))
	require.Equal(t, 1, asked)
	require.NoError(t, insert(false, func(txn *delta.Txn) (*delta.Snapshot, error) { return txn.Commit(t.Context()) }))
	require.Equal(t, "1a 2b 3c 8x", l.rows())
	require.Equal(t, 2, asked)
}

// full is a bucket that takes no objects.
type full struct{ objstore.Bucket }

func (full) Put(context.Context, string, io.Reader, int64) error { return errFull }

var errFull = errors.New("no space")

// TestChecksEndBeforeUploads checks that a write says that its rows have passed all checks before it
// uploads anything: a write that fails afterwards has answered as much as one that succeeds.
func TestChecksEndBeforeUploads(t *testing.T) {
	l := newLake(t)
	l.reset()
	bucket, err := file.New(l.dir)
	require.NoError(t, err)
	insert := func(id string) (checked int, err error) {
		table, options, end, err := l.begin(full{bucket})
		require.NoError(t, err)
		defer end()
		options.Checked = func() { checked++ }
		_, err = dml.Insert(t.Context(), table, options, l.stage(options, `{"rows":[{"id":`+id+`,"v":"x"}]}`))
		return checked, err
	}
	var refused *dml.RowsError
	checked, err := insert("2")
	require.ErrorAs(t, err, &refused)
	require.Zero(t, checked, "the key is taken")
	checked, err = insert("8")
	require.ErrorIs(t, err, errFull)
	require.Equal(t, 1, checked)
}
