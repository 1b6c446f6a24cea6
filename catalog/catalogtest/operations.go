package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func (w *world) operation(org catalog.OrgID, user catalog.UserID, runner string) catalog.Operation {
	w.Helper()
	created, err := w.CreateOperation(w.ctx, catalog.NewOperation{Org: org, User: user, Kind: catalog.OperationQuery, Runner: runner})
	require.NoError(w, err)
	return created
}

func (w *world) succeeded() catalog.OperationOutcome {
	return catalog.OperationOutcome{
		State: catalog.OperationSucceeded, Progress: catalog.Progress{Done: 3, Total: 3, Unit: "rows"}, Result: json.RawMessage(`{"rowCount":3}`),
		Private: json.RawMessage(`{"name":"x"}`), StoredBytes: 100, ExpiresAt: w.now().Add(time.Hour),
	}
}

// lost returns the outcome for the operations of a failed runner.
func (w *world) lost() catalog.OperationOutcome {
	return catalog.OperationOutcome{
		State: catalog.OperationFailed, Problem: &catalog.OperationProblem{Code: "operation_lost", Message: "gone"},
		ExpiresAt: w.now().Add(time.Hour),
	}
}

func operations(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	before := w.epochNow()
	created := w.operation(org, owner, "one")
	require.Equal(t, catalog.OperationQueued, created.State)
	require.True(t, created.StartedAt.IsZero())
	require.False(t, created.HeartbeatAt.IsZero())
	found, err := w.Operation(w.ctx, org, created.ID)
	require.NoError(t, err)
	w.same(created, found)
	_, err = w.Operation(w.ctx, other, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.CreateOperation(w.ctx, catalog.NewOperation{Org: org, User: stranger, Kind: catalog.OperationQuery, Runner: "one"})
	require.ErrorIs(t, err, catalog.ErrNotFound, "no member")
	for field, bad := range map[string]catalog.NewOperation{
		"kind":   {Org: org, User: owner, Kind: "dance", Runner: "one"},
		"runner": {Org: org, User: owner, Kind: catalog.OperationQuery},
	} {
		_, err = w.CreateOperation(w.ctx, bad)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}

	require.ErrorIs(t, w.StartOperation(w.ctx, "two", created.ID), catalog.ErrNotFound, "not its runner")
	require.NoError(t, w.StartOperation(w.ctx, "one", created.ID))
	require.ErrorIs(t, w.StartOperation(w.ctx, "one", created.ID), catalog.ErrNotFound, "once")
	require.NoError(t, w.ReportOperation(w.ctx, "one", created.ID, catalog.Progress{Done: 1, Total: 9, Unit: "files"}))
	for _, step := range []struct {
		runner string
		bytes  int64
		fits   bool
		total  int64
	}{{"one", 40, true, 40}, {"one", 101, false, 40}, {"one", 100, true, 100}, {"one", 0, true, 0}} {
		fits, err := w.ReserveOperation(w.ctx, step.runner, created.ID, step.bytes, 100)
		require.NoError(t, err)
		require.Equal(t, step.fits, fits, step.bytes)
		usage, err := w.OperationUsage(w.ctx, org)
		require.NoError(t, err)
		require.Equal(t, step.total, usage.StoredBytes)
	}
	_, err = w.ReserveOperation(w.ctx, "two", created.ID, 1, 100)
	require.ErrorIs(t, err, catalog.ErrNotFound, "not its runner")
	_, err = w.ForgetOperation(w.ctx, org, created.ID)
	require.ErrorIs(t, err, catalog.ErrOperationLive)
	require.ErrorIs(t, w.DeleteOperation(w.ctx, org, created.ID), catalog.ErrOperationLive)
	found, err = w.Operation(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationRunning, found.State)
	require.Equal(t, catalog.Progress{Done: 1, Total: 9, Unit: "files"}, found.Progress)
	require.False(t, found.StartedAt.IsZero())
	usage, err := w.OperationUsage(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationUsage{Live: 1}, usage)

	for field, change := range map[string]func(*catalog.OperationOutcome){
		"state":      func(o *catalog.OperationOutcome) { o.State = catalog.OperationRunning },
		"problem":    func(o *catalog.OperationOutcome) { o.Problem = &catalog.OperationProblem{Code: "x"} },
		"expires_at": func(o *catalog.OperationOutcome) { o.ExpiresAt = time.Time{} },
		"result":     func(o *catalog.OperationOutcome) { o.Result = json.RawMessage(`[]`) },
		"private":    func(o *catalog.OperationOutcome) { o.Private = json.RawMessage(`1`) },
	} {
		bad := w.succeeded()
		change(&bad)
		require.Equal(t, []string{field}, fieldsOf(w, w.FinishOperation(w.ctx, "one", created.ID, bad)))
	}
	require.ErrorIs(t, w.FinishOperation(w.ctx, "two", created.ID, w.succeeded()), catalog.ErrNotFound)
	outcome := w.succeeded()
	require.NoError(t, w.FinishOperation(w.ctx, "one", created.ID, outcome))
	require.ErrorIs(t, w.FinishOperation(w.ctx, "one", created.ID, w.lost()), catalog.ErrNotFound, "an end is final")
	require.ErrorIs(t, w.ReportOperation(w.ctx, "one", created.ID, catalog.Progress{}), catalog.ErrNotFound)
	_, err = w.ReserveOperation(w.ctx, "one", created.ID, 1, 1000)
	require.ErrorIs(t, err, catalog.ErrNotFound, "it has ended")
	found, err = w.Operation(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationSucceeded, found.State)
	require.JSONEq(t, `{"rowCount":3}`, string(found.Result))
	require.JSONEq(t, `{"name":"x"}`, string(found.Private))
	require.Equal(t, outcome.Progress, found.Progress)
	require.True(t, outcome.ExpiresAt.Equal(found.ExpiresAt))
	usage, err = w.OperationUsage(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationUsage{StoredBytes: 100}, usage)

	failed := w.operation(org, owner, "one")
	problem := w.lost()
	problem.Problem.Details = []catalog.FieldError{{Field: "sql", Message: "line 1"}}
	require.NoError(t, w.FinishOperation(w.ctx, "one", failed.ID, problem), "directly from queued")
	failed, err = w.Operation(w.ctx, org, failed.ID)
	require.NoError(t, err)
	w.same(problem.Problem, failed.Problem)

	mine := w.operation(org, w.member(org, catalog.RoleViewer), "one")
	for want, filter := range map[catalog.OperationID]catalog.OperationFilter{
		mine.ID: {User: mine.User}, failed.ID: {State: catalog.OperationFailed},
		created.ID: {State: catalog.OperationSucceeded, Kind: catalog.OperationQuery},
	} {
		list := all(w, 1, func(page catalog.Page) (catalog.List[catalog.Operation], error) {
			return w.ListOperations(w.ctx, org, filter, page)
		})
		require.Len(t, list, 1)
		require.Equal(t, want, list[0].ID)
	}
	list, err := w.ListOperations(w.ctx, org, catalog.OperationFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Equal(t, []catalog.OperationID{mine.ID, failed.ID, created.ID},
		[]catalog.OperationID{list.Items[0].ID, list.Items[1].ID, list.Items[2].ID}, "newest first")
	list, err = w.ListOperations(w.ctx, org, catalog.OperationFilter{Kind: catalog.OperationMove}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	list, err = w.ListOperations(w.ctx, other, catalog.OperationFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)

	for range 2 {
		forgotten, err := w.ForgetOperation(w.ctx, org, created.ID)
		require.NoError(t, err)
		require.Empty(t, forgotten.Result)
		require.Empty(t, forgotten.Private)
		require.Zero(t, forgotten.StoredBytes)
		require.Equal(t, catalog.OperationSucceeded, forgotten.State)
	}
	_, err = w.ForgetOperation(w.ctx, other, failed.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.NoError(t, w.DeleteOperation(w.ctx, other, failed.ID))
	_, err = w.Operation(w.ctx, org, failed.ID)
	require.NoError(t, err, "not through another organisation")
	for range 2 {
		require.NoError(t, w.DeleteOperation(w.ctx, org, failed.ID))
	}
	_, err = w.Operation(w.ctx, org, failed.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.Equal(t, before+1, w.epochNow(), "the new member; operations raise no epoch")
}

func cancelledOperations(t *testing.T, w *world) {
	org, owner := w.org()
	cancelled := func() []catalog.OperationID {
		ids, err := w.CancelledOperations(w.ctx, "one")
		require.NoError(t, err)
		return ids
	}
	plain := w.operation(org, owner, "one")
	require.Empty(t, cancelled())

	for range 2 {
		asked, err := w.CancelOperation(w.ctx, org, plain.ID)
		require.NoError(t, err)
		require.True(t, asked.CancelRequested)
		require.Equal(t, catalog.OperationQueued, asked.State, "the runner ends it")
	}
	require.Equal(t, []catalog.OperationID{plain.ID}, cancelled())
	ids, err := w.CancelledOperations(w.ctx, "two")
	require.NoError(t, err)
	require.Empty(t, ids)
	end := w.succeeded()
	end.State = catalog.OperationCancelled
	require.NoError(t, w.FinishOperation(w.ctx, "one", plain.ID, end))
	require.Empty(t, cancelled())
	asked, err := w.CancelOperation(w.ctx, org, plain.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationCancelled, asked.State)
	other, _ := w.org()
	_, err = w.CancelOperation(w.ctx, other, plain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	ended := w.operation(org, owner, "one")
	require.NoError(t, w.FinishOperation(w.ctx, "one", ended.ID, w.succeeded()))
	asked, err = w.CancelOperation(w.ctx, org, ended.ID)
	require.NoError(t, err)
	require.False(t, asked.CancelRequested, "an ended operation is unchanged")

	member := w.member(org, catalog.RoleViewer)
	left := w.operation(org, member, "one")
	key := w.key(org, owner)
	byKey, err := w.CreateOperation(w.ctx, catalog.NewOperation{Org: org, User: owner, Key: key.ID, Kind: catalog.OperationQuery,
		Runner: "one", Running: true})
	require.NoError(t, err)
	require.Equal(t, catalog.OperationRunning, byKey.State)
	require.False(t, byKey.StartedAt.IsZero())
	require.Empty(t, cancelled())
	require.NoError(t, w.RemoveMember(w.ctx, org, member))
	_, err = w.RevokeAPIKey(w.ctx, org, key.ID)
	require.NoError(t, err)
	require.Empty(t, cancelled(), "the runner decides whether work continues without its caller")
	last := w.operation(org, owner, "one")
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	require.ElementsMatch(t, []catalog.OperationID{left.ID, byKey.ID, last.ID}, cancelled(), "its organisation was deleted")
	_, err = w.Operation(w.ctx, org, last.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.NoError(t, w.FinishOperation(w.ctx, "one", last.ID, end), "it can still be ended")
	expired, err := w.ExpiredOperations(w.ctx, 10)
	require.NoError(t, err)
	require.Len(t, expired, 3, "data of a deleted organisation expires immediately")
}

func lostOperations(t *testing.T, w *world) {
	org, owner := w.org()
	silent, alive := w.operation(org, owner, "silent"), w.operation(org, owner, "alive")
	done := w.operation(org, owner, "silent")
	require.NoError(t, w.FinishOperation(w.ctx, "silent", done.ID, w.succeeded()))
	since := w.now()
	require.NoError(t, w.BeatOperations(w.ctx, "alive"))
	n, err := w.LoseOperations(w.ctx, since, w.lost())
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	for id, want := range map[catalog.OperationID]catalog.OperationState{
		silent.ID: catalog.OperationFailed, alive.ID: catalog.OperationQueued, done.ID: catalog.OperationSucceeded,
	} {
		found, err := w.Operation(w.ctx, org, id)
		require.NoError(t, err)
		require.Equal(t, want, found.State)
	}
	// The failed runner returns: it cannot change the operations it lost.
	require.NoError(t, w.BeatOperations(w.ctx, "silent"))
	require.ErrorIs(t, w.StartOperation(w.ctx, "silent", silent.ID), catalog.ErrNotFound)
	require.ErrorIs(t, w.FinishOperation(w.ctx, "silent", silent.ID, w.succeeded()), catalog.ErrNotFound)

	expired, err := w.ExpiredOperations(w.ctx, 10)
	require.NoError(t, err)
	require.Empty(t, expired)
	w.clock.Add((2 * time.Hour).Microseconds())
	expired, err = w.ExpiredOperations(w.ctx, 1)
	require.NoError(t, err)
	require.Len(t, expired, 1)
	expired, err = w.ExpiredOperations(w.ctx, 10)
	require.NoError(t, err)
	require.Len(t, expired, 2, "live ones never expire")
}

// raceOperations checks that only one of a returning runner and the one that ended its
// operation decides the outcome.
func raceOperations(t *testing.T, w *world) {
	org, owner := w.org()
	for range 10 {
		o := w.operation(org, owner, "one")
		since := w.now()
		errs := race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				return s.FinishOperation(w.ctx, "one", o.ID, w.succeeded())
			}
			n, err := s.LoseOperations(w.ctx, since, w.lost())
			if err == nil && n == 0 {
				err = catalog.ErrNotFound
			}
			return err
		})
		require.Equal(t, 1, winners(w, errs, catalog.ErrNotFound))
		found, err := w.Operation(w.ctx, org, o.ID)
		require.NoError(t, err)
		require.Equal(t, errs[0] == nil, found.State == catalog.OperationSucceeded)
	}
}
