package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// BeginMove is for the system: the code that moves decides who may move.
func (s *Store) BeginMove(ctx context.Context, move catalog.NewMove) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.BeginMove(ctx, move)
}

// Move is for the system: callers see the operation of their move.
func (s *Store) Move(ctx context.Context, org catalog.OrgID, move catalog.MoveID) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.Move(ctx, org, move)
}

// MoveByKey is for the system, which answers repeated requests.
func (s *Store) MoveByKey(ctx context.Context, org catalog.OrgID, key string) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.MoveByKey(ctx, org, key)
}

// RenewMove is for the system, which runs the move.
func (s *Store) RenewMove(ctx context.Context, move catalog.MoveID, holder string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RenewMove(ctx, move, holder)
}

// ReleaseMove is for the system, which runs the move.
func (s *Store) ReleaseMove(ctx context.Context, move catalog.MoveID, holder string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ReleaseMove(ctx, move, holder)
}

// SwitchMove is for the system, which runs the move.
func (s *Store) SwitchMove(ctx context.Context, move catalog.MoveID, holder string, copied catalog.MovedObjects) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.SwitchMove(ctx, move, holder, copied)
}

// SettleMove is for the system, which runs the move.
func (s *Store) SettleMove(ctx context.Context, move catalog.MoveID, holder string) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.SettleMove(ctx, move, holder)
}

// DiscardMove is for the system, which runs the move.
func (s *Store) DiscardMove(ctx context.Context, move catalog.MoveID, holder string,
	problem catalog.OperationProblem) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.DiscardMove(ctx, move, holder, problem)
}

// EndMove is for the system, which runs the move.
func (s *Store) EndMove(ctx context.Context, move catalog.MoveID, holder string,
	problem *catalog.OperationProblem) (catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Move{}, err
	}
	return s.inner.EndMove(ctx, move, holder, problem)
}

// TakeMoves is for the system: it spans organisations.
func (s *Store) TakeMoves(ctx context.Context, holder string, since time.Time) ([]catalog.Move, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.TakeMoves(ctx, holder, since)
}

// ForgetMoves is for the system: it spans organisations.
func (s *Store) ForgetMoves(ctx context.Context, before time.Time) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.ForgetMoves(ctx, before)
}

// CheckPlace is for the system, which runs writes.
func (s *Store) CheckPlace(ctx context.Context, table catalog.Table) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.CheckPlace(ctx, table)
}

// WritesBeforeMove is for the system, which runs the move.
func (s *Store) WritesBeforeMove(ctx context.Context, move catalog.MoveID, since time.Time) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.WritesBeforeMove(ctx, move, since)
}

// ReportReads is for the system: it spans organisations.
func (s *Store) ReportReads(ctx context.Context, replica string, epoch uint64) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ReportReads(ctx, replica, epoch)
}

// OldestReads is for the system: it spans organisations.
func (s *Store) OldestReads(ctx context.Context, since time.Time) (uint64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.OldestReads(ctx, since)
}

// ForgetReads is for the system: it spans organisations.
func (s *Store) ForgetReads(ctx context.Context, replica string, since time.Time) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ForgetReads(ctx, replica, since)
}
