package delta_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// markedTable has two files, half of whose rows are deleted by vectors in a file.
func markedTable(t *testing.T) *mem.Bucket {
	t.Helper()
	b := mem.New()
	opts := lateOptions(t)
	opts.NoCheckpoints = true
	s := mustCreate(t, b, delta.CreateOptions{Options: opts, Properties: map[string]string{
		"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "1",
	}})
	add := s.Begin(delta.Operation{Name: "WRITE"})
	for _, name := range []string{"A", "B"} {
		mustPut(t, b, name, "x")
		require.NoError(t, add.Add(delta.AddFile{Name: name, Size: 1, Stats: `{"numRecords":1000}`}))
	}
	s, err := add.Commit(t.Context())
	require.NoError(t, err)
	_, odd := numbers(1000)
	var list []delta.RowDeletion
	for f := range s.Files() {
		list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, odd...)})
	}
	mustDelete(t, s, list...)
	return b
}

func copyOf(t *testing.T, b objstore.Bucket) *mem.Bucket {
	t.Helper()
	c := mem.New()
	for o, err := range b.List(t.Context(), "", objstore.ListOptions{}) {
		require.NoError(t, err)
		mustPut(t, c, o.Name, contentOf(t, b, o.Name))
	}
	return c
}

// visibleRows returns the number of visible rows of each file. Every vector must be readable.
func visibleRows(t *testing.T, name string, b objstore.Bucket) map[string]int64 {
	t.Helper()
	opts := lateOptions(t)
	opts.NoCheckpoints = true
	s, err := delta.Load(t.Context(), b, opts)
	require.NoError(t, err, name)
	rows := map[string]int64{}
	for f := range s.Files() {
		hidden, err := s.DeletedRows(t.Context(), f)
		require.NoError(t, err, name)
		rows[f.Name] = 1000 - hidden.Count()
	}
	checkDerived(t, name, b, s)
	return rows
}

// TestEveryCutOfVectorsAndRestore interrupts every request of deletions and restores.
// The commit must be atomic, and every deletion vector in the log must be readable.
func TestEveryCutOfVectorsAndRestore(t *testing.T) {
	t.Parallel()
	operations := map[string]struct {
		after map[string]int64
		run   func(ctx context.Context, s, first *delta.Snapshot) error
	}{
		"delete": {map[string]int64{"A": 167, "B": 167}, func(ctx context.Context, s, _ *delta.Snapshot) error {
			txn := s.Begin(delta.Operation{Name: "DELETE"})
			var list []delta.RowDeletion
			for f := range s.Files() {
				var rows []int64
				for n := range int64(1000) {
					if n%3 != 2 {
						rows = append(rows, n)
					}
				}
				list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, rows...)})
			}
			if _, err := txn.DeleteRows(ctx, list...); err != nil {
				return err
			}
			_, err := txn.Commit(ctx)
			return err
		}},
		"restore": {map[string]int64{"A": 1000, "B": 1000}, func(ctx context.Context, s, first *delta.Snapshot) error {
			txn, _, err := s.Restore(ctx, first, delta.Operation{})
			if err != nil {
				return err
			}
			_, err = txn.Commit(ctx)
			return err
		}},
	}
	before := map[string]int64{"A": 500, "B": 500}
	origin := markedTable(t)
	for operation, o := range operations {
		for n, total := 1, 1; n <= total; n++ {
			for name, cut := range cutsAt(n) {
				name = fmt.Sprintf("%s, request %d %s", operation, n, name)
				b := copyOf(t, origin)
				way := &relay{b}
				opts := lateOptions(t)
				opts.Attempts = 3
				s, err := delta.Load(t.Context(), way, opts)
				require.NoError(t, err)
				opts.At = delta.AtVersion(1)
				first, err := delta.Load(t.Context(), way, opts)
				require.NoError(t, err)
				faults := objstore.NewFaults(b, cut)
				way.Bucket = faults
				lost := o.run(t.Context(), s, first)
				total = max(total, faults.Count())
				got := visibleRows(t, name, b)
				var u *delta.UnknownError
				switch {
				case lost == nil:
					require.Equal(t, o.after, got, name)
				case errors.As(lost, &u):
					landed, err := delta.LookupCommit(t.Context(), b, u.Version, u.TxnID)
					require.NoError(t, err, name)
					if landed {
						require.Equal(t, o.after, got, name)
					} else {
						require.Equal(t, before, got, name)
					}
				default:
					require.Equal(t, before, got, name)
				}
			}
		}
	}
}
