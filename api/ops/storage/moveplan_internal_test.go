package storage

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// meeting opens an empty folder once a number of logs are being read at the same time.
type meeting struct {
	dir string
	met sync.WaitGroup
}

// Bucket implements lake.Opener.
func (m *meeting) Bucket(ctx context.Context, _ catalog.StorageConfig) (objstore.Bucket, error) {
	m.met.Done()
	met := make(chan struct{})
	go func() {
		m.met.Wait()
		close(met)
	}()
	select {
	case <-met:
		return file.New(m.dir)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestLogsOfAMoveAreReadAtTheSameTime checks that a move does not wait for the log of each table
// in turn.
func TestLogsOfAMoveAreReadAtTheSameTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := &meeting{dir: t.TempDir()}
	m.met.Add(logsAtOnce)
	moves := &Moves{MoveOptions: MoveOptions{Lake: lake.New(m, delta.Options{})}}
	var tables []catalog.LocatedTable
	for i := range logsAtOnce {
		tables = append(tables, catalog.LocatedTable{StorageConfig: catalog.StorageConfig{ID: "c", Location: "s3://b/"},
			Table: catalog.Table{Path: strconv.Itoa(i)}})
	}
	require.NoError(t, moves.movable(ctx, tables))
}
