package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// BeginWrite is for the system: the code that writes decides who may write.
func (s *Store) BeginWrite(ctx context.Context, write catalog.NewWrite) (catalog.WriteLeaseID, error) {
	if err := systemOnly(ctx); err != nil {
		return "", err
	}
	return s.inner.BeginWrite(ctx, write)
}

// RenewWrite is for the system, which runs the write.
func (s *Store) RenewWrite(ctx context.Context, lease catalog.WriteLeaseID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RenewWrite(ctx, lease)
}

// DeleteUnder is for the system, which deletes the files.
func (s *Store) DeleteUnder(ctx context.Context, lease catalog.WriteLeaseID, deletion catalog.FileDeletion) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.DeleteUnder(ctx, lease, deletion)
}

// EndWrite is for the system, which runs the write.
func (s *Store) EndWrite(ctx context.Context, lease catalog.WriteLeaseID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.EndWrite(ctx, lease)
}

// EndWritesOf is for the system: it spans organisations.
func (s *Store) EndWritesOf(ctx context.Context, holder string) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.EndWritesOf(ctx, holder)
}

// OldestWrite is for the system, which runs vacuums.
func (s *Store) OldestWrite(ctx context.Context, org catalog.OrgID, table catalog.DeltaID, since time.Time) (time.Time, error) {
	if err := systemOnly(ctx); err != nil {
		return time.Time{}, err
	}
	return s.inner.OldestWrite(ctx, org, table, since)
}

// VacuumUnderWay is for the system, which runs restores and purges.
func (s *Store) VacuumUnderWay(
	ctx context.Context, org catalog.OrgID, table catalog.DeltaID, except catalog.WriteLeaseID, since time.Time,
) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.VacuumUnderWay(ctx, org, table, except, since)
}

// ForgetWrites is for the system: it spans organisations.
func (s *Store) ForgetWrites(ctx context.Context, since time.Time) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.ForgetWrites(ctx, since)
}
