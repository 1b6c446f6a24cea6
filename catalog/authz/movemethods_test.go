package authz_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

const mover = "mover"

// fillMoves creates two configurations and moves between them, in three states.
func (f *fixture) fillMoves(ctx context.Context) (err error) {
	for i := range f.ends {
		if f.ends[i], err = f.inner.CreateStorageConfig(ctx, catalog.NewStorageConfig{
			Org: f.org, Name: fmt.Sprint("end ", i), Kind: catalog.KindLocal, Owner: f.users["owner"],
			Location: catalog.NewLocation("file", "ends", fmt.Sprint(i)),
		}); err != nil {
			return err
		}
	}
	for _, id := range []*catalog.MoveID{&f.copying, &f.switched, &f.deleting} {
		begun, err := f.inner.BeginMove(ctx, f.newMove(catalog.NewID[catalog.MoveID]()))
		if err != nil {
			return err
		}
		*id = begun.ID
	}
	for _, id := range []catalog.MoveID{f.switched, f.deleting} {
		if _, err := f.inner.SwitchMove(ctx, id, mover, catalog.MovedObjects{}); err != nil {
			return err
		}
	}
	if _, err = f.inner.SettleMove(ctx, f.deleting, mover); err != nil {
		return err
	}
	return f.inner.ReportReads(ctx, "replica", 1)
}

func (f *fixture) newMove(id catalog.MoveID) catalog.NewMove {
	return catalog.NewMove{
		ID: id, Org: f.org, User: f.users["builder"], Fingerprint: "f", Key: string(id), Holder: mover,
		Source: catalog.Place{Config: f.ends[0].ID, Path: string(id)}, Target: catalog.Place{Config: f.ends[1].ID, Path: string(id)},
	}
}

// moveMethods holds the cases of catalog.Moves, which are for the system.
var moveMethods = func() map[string]method {
	methods := map[string]method{}
	for name, call := range map[string]func(f *fixture, ctx context.Context) error{
		"RecordFileDeletion": func(f *fixture, ctx context.Context) error {
			return f.store.RecordFileDeletion(ctx, catalog.FileDeletion{Org: f.org, Place: catalog.Place{Path: "t"}})
		},
		"DeleteUnder": func(f *fixture, ctx context.Context) error {
			lease, err := f.inner.BeginWrite(ctx, catalog.NewWrite{Org: f.org, Table: "t", Kind: catalog.WriteVacuum})
			return errors.Join(err, f.store.DeleteUnder(ctx, lease, catalog.FileDeletion{Org: f.org, Place: catalog.Place{Path: "t"}}))
		},
		"FileDeletionsSince": func(f *fixture, ctx context.Context) error { return drop(f.store.FileDeletionsSince(ctx, 0)) },
		"BeginMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.BeginMove(ctx, f.newMove(catalog.NewID[catalog.MoveID]())))
		},
		"Move": func(f *fixture, ctx context.Context) error {
			return drop(f.store.Move(ctx, f.org, f.copying))
		},
		"MoveByKey": func(f *fixture, ctx context.Context) error {
			return drop(f.store.MoveByKey(ctx, f.org, string(f.copying)))
		},
		"RenewMove": func(f *fixture, ctx context.Context) error {
			return f.store.RenewMove(ctx, f.copying, mover)
		},
		"ReleaseMove": func(f *fixture, ctx context.Context) error {
			return f.store.ReleaseMove(ctx, f.copying, mover)
		},
		"SwitchMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.SwitchMove(ctx, f.copying, mover, catalog.MovedObjects{}))
		},
		"SettleMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.SettleMove(ctx, f.switched, mover))
		},
		"DiscardMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.DiscardMove(ctx, f.copying, mover, catalog.OperationProblem{Code: "c"}))
		},
		"EndMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.EndMove(ctx, f.deleting, mover, nil))
		},
		"TakeMoves": func(f *fixture, ctx context.Context) error {
			return drop(f.store.TakeMoves(ctx, "other", time.Now()))
		},
		"ForgetMoves": func(f *fixture, ctx context.Context) error { return drop(f.store.ForgetMoves(ctx, time.Now())) },
		"CheckPlace":  func(f *fixture, ctx context.Context) error { return f.store.CheckPlace(ctx, f.table) },
		"WritesBeforeMove": func(f *fixture, ctx context.Context) error {
			return drop(f.store.WritesBeforeMove(ctx, f.copying, time.Now()))
		},
		"ReportReads": func(f *fixture, ctx context.Context) error { return f.store.ReportReads(ctx, "replica", 1) },
		"OldestReads": func(f *fixture, ctx context.Context) error {
			return drop(f.store.OldestReads(ctx, time.Unix(0, 0)))
		},
		"ForgetReads": func(f *fixture, ctx context.Context) error { return f.store.ForgetReads(ctx, "replica", time.Now()) },
	} {
		methods[name] = method{call: call, denied: catalog.ErrDenied}
	}
	return methods
}()

// TestMovesKeepConfigurationsInPlace checks that a configuration is neither attached elsewhere
// nor deleted while a move concerns it.
func TestMovesKeepConfigurationsInPlace(t *testing.T) {
	f := newFixture(t)
	ctx, viewer := context.Background(), catalog.SystemViewer(f.org)
	begin := f.newMove(catalog.NewID[catalog.MoveID]())
	begin.Source.Config = f.config.ID
	begun, err := f.inner.BeginMove(ctx, begin)
	require.NoError(t, err)
	_, err = f.inner.AttachStorageConfig(ctx, viewer, f.config.ID,
		catalog.NewAttach{Workspace: f.space, By: f.users["owner"], Window: time.Minute})
	require.ErrorIs(t, err, catalog.ErrMoveUnderWay)
	require.ErrorIs(t, f.inner.DeleteStorageConfig(ctx, viewer, f.config.ID, catalog.AnyVersion), catalog.ErrMoveUnderWay)
	_, err = f.inner.DiscardMove(ctx, begun.ID, mover, catalog.OperationProblem{Code: "c"})
	require.NoError(t, err)
	_, err = f.inner.EndMove(ctx, begun.ID, mover, nil)
	require.NoError(t, err)
	require.NoError(t, f.inner.DeleteStorageConfig(ctx, viewer, f.config.ID, catalog.AnyVersion))
}
