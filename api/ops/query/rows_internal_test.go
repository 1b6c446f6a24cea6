package query

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/sessions"
)

// failing is a result that ends with an error.
type failing struct {
	engine.Result
	err error
}

func (f failing) Next(context.Context) (arrow.RecordBatch, error) { return nil, f.err }
func (f failing) Close() error                                    { return nil }

// TestAgainReportsWhyItFailed: a statement that cannot be started again ends with
// the error of the second start, and one that is not tried with that of its rows.
func TestAgainReportsWhyItFailed(t *testing.T) {
	launched := 0
	rows := func(err error) *Rows {
		return &Rows{
			Result: failing{err: err}, ctx: t.Context(),
			explain: func(err error) error {
				if errors.Is(err, context.Canceled) {
					return revocation.ErrQueryCancelled
				}
				return err
			},
			again: &restart{
				wanted: func(err error) bool { return errors.Is(err, engine.ErrLost) },
				launch: func() (*sessions.Held, engine.Result, error) { launched++; return nil, nil, context.Canceled },
			},
		}
	}
	lost := rows(engine.ErrLost)
	_, err := lost.Next(t.Context())
	require.ErrorIs(t, err, engine.ErrLost)
	again, err := lost.Again()
	require.False(t, again)
	require.ErrorIs(t, err, revocation.ErrQueryCancelled)
	require.ErrorIs(t, lost.err, revocation.ErrQueryCancelled, "the audit log has it too")
	again, err = lost.Again()
	require.False(t, again, "once")
	require.NoError(t, err)

	busy, turns := rows(engine.ErrLost), []error{&sessions.BusyError{}, nil}
	busy.again.rebatched = func() bool { return false }
	busy.again.launch = func() (*sessions.Held, engine.Result, error) {
		err := turns[0]
		turns = turns[1:]
		return nil, failing{err: io.EOF}, err
	}
	_, err = busy.Next(t.Context())
	require.ErrorIs(t, err, engine.ErrLost)
	again, err = sessions.WhenFree(t.Context(), busy.Again)
	require.NoError(t, err)
	require.True(t, again, "it waits for its turn")
	_, err = busy.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)

	other := rows(io.ErrUnexpectedEOF)
	_, err = other.Next(t.Context())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	again, err = other.Again()
	require.False(t, again)
	require.NoError(t, err)
	require.Equal(t, 1, launched)
}
