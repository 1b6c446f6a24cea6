package maintenance

import (
	"context"
	"errors"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// logStart records in the table's history that files are about to be deleted, in
// the form of the reference implementation. If it cannot commit, nothing is
// deleted.
func (v *vacuum) logStart(ctx context.Context) error {
	if !v.opts.LogCommits || v.startLogged {
		return nil
	}
	parameters := map[string]string{"retentionCheckEnabled": strconv.FormatBool(!v.opts.AllowShortRetention)}
	millis := func(name string, n int64) { parameters[name] = strconv.FormatInt(n, 10) }
	millis("defaultRetentionMillis", v.snap.DeletedFileRetention().Milliseconds())
	if v.opts.Retention != nil {
		millis("specifiedRetentionMillis", v.opts.Retention.Milliseconds())
	}
	err := v.commit(ctx, delta.Operation{Name: "VACUUM START", Parameters: parameters})
	v.startLogged = err == nil
	return err
}

// logEnd records the end of the vacuum.
func (v *vacuum) logEnd(ctx context.Context) error {
	if !v.startLogged {
		return nil
	}
	return v.commit(ctx, delta.Operation{
		Name: "VACUUM END", Parameters: map[string]string{"status": `"COMPLETED"`},
		Metrics: map[string]string{"numDeletedFiles": strconv.FormatInt(v.deletedFiles, 10)},
	})
}

// maxCommitTries bounds the attempts of a commit that changes nothing, which
// conflicts only with changes of metadata.
const maxCommitTries = 5

// commit writes a version that changes nothing.
func (v *vacuum) commit(ctx context.Context, op delta.Operation) error {
	op.UserID, op.UserName, op.Duties = v.opts.UserID, v.opts.UserName, noNewRows
	for try := 1; ; try++ {
		snap, err := v.snap.Refresh(ctx)
		if err != nil {
			return err
		}
		_, err = snap.Begin(op).Commit(ctx)
		if !errors.Is(err, delta.ErrConflict) || try == maxCommitTries {
			return err
		}
	}
}

// noNewRows are the duties that a writer which adds no rows fulfils.
var noNewRows = []delta.Duty{delta.EvaluatesChecks, delta.EvaluatesInvariants, delta.FillsDefaults, delta.FillsGenerated}
