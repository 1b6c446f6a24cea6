package query

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// DropFiles removes the stored results whose rows were in files that were deleted. Until then they
// are stale. It is idempotent.
func (o Stored) DropFiles(ctx context.Context, deletions []catalog.FileDeletion) error {
	ctx = authz.System(ctx, "results of deleted files")
	byOrg := map[catalog.OrgID][]catalog.FileDeletion{}
	for _, d := range deletions {
		byOrg[d.Org] = append(byOrg[d.Org], d)
	}
	var errs []error
	for org, deletions := range byOrg {
		for _, kind := range []catalog.OperationKind{catalog.OperationQuery, catalog.OperationAnalyze} {
			errs = append(errs, o.dropResults(ctx, org, kind, deletions))
		}
	}
	return errors.Join(errs...)
}

func (o Stored) dropResults(
	ctx context.Context, org catalog.OrgID, kind catalog.OperationKind, deletions []catalog.FileDeletion,
) error {
	filter := catalog.OperationFilter{Kind: kind, State: catalog.OperationSucceeded}
	var gone []catalog.Operation
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.Operation], error) {
		return o.Queries.Store.ListOperations(ctx, org, filter, page)
	}, func(op catalog.Operation) error {
		var k resultRecord
		if len(op.Private) > 0 && (json.Unmarshal(op.Private, &k) != nil || k.concernedBy(deletions)) {
			gone = append(gone, op)
		}
		return nil
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil // the organisation was deleted, and its results are
	}
	errs := []error{err}
	for _, op := range gone {
		err := o.Results.Discard(ctx, op)
		if err == nil {
			_, err = o.Queries.Store.ForgetOperation(ctx, org, op.ID)
		}
		if !errors.Is(err, catalog.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// concernedBy reports whether the rows of a result may have been in deleted files.
func (k resultRecord) concernedBy(deletions []catalog.FileDeletion) bool {
	return slices.ContainsFunc(deletions, func(d catalog.FileDeletion) bool {
		if len(k.Read) == 0 {
			return slices.ContainsFunc(k.Tables, func(t storedTable) bool { return t.Delta == d.Table })
		}
		for _, v := range k.Read {
			if d.Concerns(v.Table, v.Version, v.Dropped) {
				return true
			}
		}
		return false
	})
}
