package maintenance

import (
	"context"
	"errors"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// openLog writes into the table's history that files are about to be deleted, in
// the words of the reference writer. A table that cannot be committed to is left
// as it is.
func (v *vacuum) openLog(ctx context.Context) error {
	if !v.opts.LogCommits || v.announced {
		return nil
	}
	parameters := map[string]string{"retentionCheckEnabled": strconv.FormatBool(!v.opts.Insist)}
	millis := func(name string, n int64) { parameters[name] = strconv.FormatInt(n, 10) }
	millis("defaultRetentionMillis", v.snap.DeletedFileRetention().Milliseconds())
	if v.opts.Retention != nil {
		millis("specifiedRetentionMillis", v.opts.Retention.Milliseconds())
	}
	err := v.commit(ctx, delta.Operation{Name: "VACUUM START", Parameters: parameters})
	v.announced = err == nil
	return err
}

// closeLog writes that the vacuum has come to its end.
func (v *vacuum) closeLog(ctx context.Context) error {
	if !v.announced {
		return nil
	}
	return v.commit(ctx, delta.Operation{
		Name: "VACUUM END", Parameters: map[string]string{"status": `"COMPLETED"`},
		Metrics: map[string]string{"numDeletedFiles": strconv.FormatInt(v.found, 10)},
	})
}

// commitTries bounds how often a commit that changes nothing starts again
// because the table's metadata changed.
const commitTries = 5

// commit writes a version that changes nothing.
func (v *vacuum) commit(ctx context.Context, op delta.Operation) error {
	op.UserID, op.UserName, op.Duties = v.opts.UserID, v.opts.UserName, noNewRows
	for try := 1; ; try++ {
		snap, err := v.snap.Refresh(ctx)
		if err != nil {
			return err
		}
		_, err = snap.Begin(op).Commit(ctx)
		if !errors.Is(err, delta.ErrConflict) || try == commitTries {
			return err
		}
	}
}

// noNewRows are the duties of a writer that adds no rows.
var noNewRows = []delta.Duty{delta.EvaluatesChecks, delta.EvaluatesInvariants, delta.FillsDefaults, delta.FillsGenerated}
