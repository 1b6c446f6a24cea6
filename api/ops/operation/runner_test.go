package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/sessions"
)

// replicas is a set of runners with one catalog.
type replicas struct {
	*testing.T
	system  context.Context
	store   *authz.Store
	auditor *caller.Auditor

	mu        sync.Mutex
	discarded []catalog.OperationID
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	inner, err := sqlstore.Open(context.Background(), filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	r := &replicas{T: t, system: authz.System(context.Background(), "test"), store: authz.New(inner)}
	r.auditor = caller.NewAuditor(r.system, r.store, slog.New(slog.DiscardHandler))
	t.Cleanup(r.auditor.Close)
	return r
}

// runner starts a runner, which is closed when the test ends at the latest.
func (r *replicas) runner(change func(*operation.Options)) (runner *operation.Runner, stop func(context.Context) error) {
	return r.runnerOn(r.store, change)
}

func (r *replicas) runnerOn(
	store catalog.Store, change func(*operation.Options),
) (runner *operation.Runner, stop func(context.Context) error) {
	r.Helper()
	opts := operation.Options{
		Name: uuid.NewString(), Poll: 5 * time.Millisecond, Beat: 20 * time.Millisecond, Lost: time.Minute, Audit: r.auditor,
		Logger: slog.New(slog.DiscardHandler),
		Describe: func(err error) catalog.OperationProblem {
			var coded interface{ ProblemCode() string }
			if errors.As(err, &coded) {
				return catalog.OperationProblem{Code: coded.ProblemCode()}
			}
			return catalog.OperationProblem{Code: err.Error()}
		},
		Discard: func(_ context.Context, o catalog.Operation) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.discarded = append(r.discarded, o.ID)
			return nil
		},
	}
	if change != nil {
		change(&opts)
	}
	runner = operation.NewRunner(r.system, store, opts)
	var once sync.Once
	stop = func(ctx context.Context) (err error) {
		once.Do(func() { err = runner.Close(ctx) })
		return err
	}
	r.Cleanup(func() { _ = stop(context.Background()) })
	return runner, stop
}

// caller returns the owner of a new organisation.
func (r *replicas) caller(name string) (context.Context, caller.Identity) {
	r.Helper()
	user, err := r.store.CreateUser(r.system, catalog.NewUser{Email: name + "@example.com"})
	require.NoError(r, err)
	org, err := r.store.CreateOrganisation(r.system, catalog.NewOrganisation{Name: name, Owner: user.ID})
	require.NoError(r, err)
	ctx := auth.WithPrincipal(context.Background(), auth.Principal{
		OrgID: uuid.MustParse(string(org.ID)), UserID: uuid.MustParse(string(user.ID)), Role: auth.RoleAdmin,
		Granted: auth.AllScopes(), Scopes: auth.AllScopes(), Method: auth.MethodJWT,
	})
	a, err := caller.From(ctx)
	require.NoError(r, err)
	return ctx, a
}

func (r *replicas) state(o catalog.Operation) catalog.Operation {
	r.Helper()
	found, err := r.store.Operation(r.system, o.Org, o.ID)
	require.NoError(r, err)
	return found
}

func (r *replicas) await(o catalog.Operation, state catalog.OperationState) catalog.Operation {
	r.Helper()
	require.Eventually(r, func() bool { return r.state(o).State == state }, time.Minute, 2*time.Millisecond, "%s", state)
	return r.state(o)
}

// until is work that runs until it is released or cancelled.
func until(letGo <-chan struct{}) operation.Func {
	return func(ctx context.Context, _ *operation.Task) (operation.Done, error) {
		select {
		case <-letGo:
			return operation.Done{Result: json.RawMessage(`{}`)}, nil
		case <-ctx.Done():
			return operation.Done{}, ctx.Err()
		}
	}
}

func TestTurnsAreFairByOrganisation(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(func(o *operation.Options) { o.Running = 1 })
	letGo := make(chan struct{})
	greedyCtx, greedy := r.caller("greedy")
	modestCtx, modest := r.caller("modest")
	_, err := runner.Start(greedyCtx, greedy, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	order := make(chan catalog.OrgID, 10)
	note := func(ctx context.Context, task *operation.Task) (operation.Done, error) {
		order <- task.Operation.Org
		return operation.Done{}, nil
	}
	for range 4 {
		_, err = runner.Start(greedyCtx, greedy, catalog.OperationQuery, note)
		require.NoError(t, err)
	}
	last, err := runner.Start(modestCtx, modest, catalog.OperationQuery, note)
	require.NoError(t, err)
	require.Equal(t, catalog.OperationQueued, r.state(last).State)
	close(letGo)
	require.Equal(t, greedy.Org, <-order)
	require.Equal(t, modest.Org, <-order, "four that came before are of one organisation")
	r.await(last, catalog.OperationSucceeded)
}

func TestTooManyOperationsAreTurnedAway(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(func(o *operation.Options) { o.Live = 2 })
	ctx, a := r.caller("a")
	for range 2 {
		_, err := runner.Start(ctx, a, catalog.OperationQuery, until(nil))
		require.NoError(t, err)
	}
	_, err := runner.Start(ctx, a, catalog.OperationQuery, until(nil))
	require.ErrorIs(t, err, sessions.ErrBusy)
	otherCtx, other := r.caller("b")
	_, err = runner.Start(otherCtx, other, catalog.OperationQuery, until(nil))
	require.NoError(t, err)
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	require.Error(t, runner.Close(stopped))
	_, err = runner.Start(otherCtx, other, catalog.OperationQuery, until(nil))
	require.ErrorIs(t, err, sessions.ErrClosed)
}

func TestCancelledWhileItWaits(t *testing.T) {
	r := newReplicas(t)
	here, _ := r.runner(func(o *operation.Options) { o.Running = 1 })
	there, _ := r.runner(nil)
	ctx, a := r.caller("a")
	letGo := make(chan struct{})
	first, err := here.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	r.await(first, catalog.OperationRunning)
	waits, err := here.Start(ctx, a, catalog.OperationQuery, func(context.Context, *operation.Task) (operation.Done, error) {
		t.Error("a cancelled task ran")
		return operation.Done{}, nil
	})
	require.NoError(t, err)
	// Through another replica, which knows the operation from the catalog only.
	cancelled, err := operation.Service{Store: r.store, Runner: there}.Cancel(ctx, waits.ID)
	require.NoError(t, err)
	require.True(t, cancelled.CancelRequested)
	r.await(waits, catalog.OperationCancelled)
	require.Equal(t, catalog.OperationRunning, r.state(first).State)
	close(letGo)
	r.await(first, catalog.OperationSucceeded)
}

func TestWhatWasRevokedWhileItWaitedDoesNotRun(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(func(o *operation.Options) { o.Running, o.Poll = 1, time.Hour })
	ctx, a := r.caller("a")
	letGo := make(chan struct{})
	_, err := runner.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	member, err := r.store.CreateUser(r.system, catalog.NewUser{Email: "m@example.com"})
	require.NoError(t, err)
	_, err = r.store.AddMember(r.system, a.Org, member.ID, catalog.RoleAdmin)
	require.NoError(t, err)
	p := a.Principal
	p.UserID = uuid.MustParse(string(member.ID))
	theirs := auth.WithPrincipal(context.Background(), p)
	other, err := caller.From(theirs)
	require.NoError(t, err)
	scopes := make(chan auth.ScopeSet, 1)
	lowered, err := runner.Start(theirs, other, catalog.OperationQuery, func(ctx context.Context, _ *operation.Task) (operation.Done, error) {
		p, err := auth.PrincipalFrom(ctx)
		scopes <- p.Scopes
		return operation.Done{}, err
	})
	require.NoError(t, err)
	_, err = r.store.SetMemberRole(r.system, a.Org, member.ID, catalog.RoleViewer)
	require.NoError(t, err)
	close(letGo)
	require.Equal(t, auth.RoleViewer.Scopes(), <-scopes, "the role of now")
	r.await(lowered, catalog.OperationSucceeded)

	hold := make(chan struct{})
	_, err = runner.Start(ctx, a, catalog.OperationQuery, until(hold))
	require.NoError(t, err)
	gone, err := runner.Start(theirs, other, catalog.OperationQuery, func(context.Context, *operation.Task) (operation.Done, error) {
		t.Error("ran for somebody who is no member")
		return operation.Done{}, nil
	})
	require.NoError(t, err)
	require.NoError(t, r.store.RemoveMember(r.system, a.Org, member.ID))
	close(hold)
	require.Equal(t, auth.ErrNoMember.Error(), r.await(gone, catalog.OperationFailed).Problem.Code)
}

// signIns holds the ends of sessions.
type signIns struct{ until sync.Map }

// Live implements revocation.Sessions.
func (s *signIns) Live(_ context.Context, session uuid.UUID) (live auth.LiveSession, err error) {
	if until, ok := s.until.Load(session); ok {
		live.Until = until.(time.Time)
	}
	return live, nil
}

func TestWorkOfASessionThatEndedWhileItWaitedDoesNotRun(t *testing.T) {
	r := newReplicas(t)
	known := &signIns{}
	runner, _ := r.runner(func(o *operation.Options) { o.Running, o.Sessions = 1, known })
	ctx, a := r.caller("a")
	for name, end := range map[string]time.Time{"revoked": {}, "expired": time.Now().Add(-time.Second)} {
		letGo := make(chan struct{})
		_, err := runner.Start(ctx, a, catalog.OperationVacuum, until(letGo))
		require.NoError(t, err)
		p := a.Principal
		p.SessionID = uuid.New()
		known.until.Store(p.SessionID, time.Now().Add(time.Hour))
		theirs := auth.WithPrincipal(context.Background(), p)
		other, err := caller.From(theirs)
		require.NoError(t, err)
		ended, err := runner.Start(theirs, other, catalog.OperationVacuum, func(context.Context, *operation.Task) (operation.Done, error) {
			t.Error("ran after the end of its session: " + name)
			return operation.Done{}, nil
		})
		require.NoError(t, err)
		known.until.Store(p.SessionID, end)
		close(letGo)
		require.Equal(t, auth.ErrRevoked.Error(), r.await(ended, catalog.OperationFailed).Problem.Code)
	}
}

func TestAPanicEndsOneOperation(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(nil)
	ctx, a := r.caller("a")
	o, err := runner.Start(ctx, a, catalog.OperationQuery, func(context.Context, *operation.Task) (operation.Done, error) { panic("defect") })
	require.NoError(t, err)
	require.NotNil(t, r.await(o, catalog.OperationFailed).Problem)
	o, err = runner.Start(ctx, a, catalog.OperationQuery, func(_ context.Context, task *operation.Task) (operation.Done, error) {
		task.Progress(catalog.Progress{Done: 7, Unit: "rows"})
		return operation.Done{Result: json.RawMessage(`{"a":1}`), StoredBytes: 5}, nil
	})
	require.NoError(t, err)
	done := r.await(o, catalog.OperationSucceeded)
	require.JSONEq(t, `{"a":1}`, string(done.Result))
	require.Equal(t, int64(7), done.Progress.Done)
}

// TestAResultTooLargeForItsRecordFails checks that such an operation fails immediately,
// and not as lost half a minute later.
func TestAResultTooLargeForItsRecordFails(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(nil)
	ctx, a := r.caller("a")
	large, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 2<<20)})
	require.NoError(t, err)
	o, err := runner.Start(ctx, a, catalog.OperationDiscover, func(context.Context, *operation.Task) (operation.Done, error) {
		return operation.Done{Result: large}, nil
	})
	require.NoError(t, err)
	ended := r.await(o, catalog.OperationFailed)
	require.Contains(t, ended.Problem.Code, "outcome of an operation")
	require.Empty(t, ended.Result)
}

func TestCloseWaitsAndThenGivesUp(t *testing.T) {
	r := newReplicas(t)
	_, stop := r.runner(nil)
	require.NoError(t, stop(context.Background()))

	patient, stop := r.runner(nil)
	ctx, a := r.caller("a")
	letGo := make(chan struct{})
	o, err := patient.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	r.await(o, catalog.OperationRunning)
	time.AfterFunc(20*time.Millisecond, func() { close(letGo) })
	require.NoError(t, stop(context.Background()))
	require.Equal(t, catalog.OperationSucceeded, r.state(o).State)

	impatient, stop := r.runner(func(o *operation.Options) { o.Running = 1 })
	o, err = impatient.Start(ctx, a, catalog.OperationQuery, until(nil))
	require.NoError(t, err)
	waits, err := impatient.Start(ctx, a, catalog.OperationQuery, until(nil))
	require.NoError(t, err)
	r.await(o, catalog.OperationRunning)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, stop(short), context.DeadlineExceeded)
	for _, lost := range []catalog.Operation{o, waits} {
		require.Equal(t, "operation_lost", r.state(lost).Problem.Code)
	}
}

// TestASilentReplicaLosesItsOperations checks that a replica without heartbeats loses its
// operations, and that a result which it has later does not change their outcome.
func TestASilentReplicaLosesItsOperations(t *testing.T) {
	r := newReplicas(t)
	silent, _ := r.runner(func(o *operation.Options) { o.Beat, o.Poll = time.Hour, time.Hour })
	alive, _ := r.runner(func(o *operation.Options) { o.Lost = 4 * time.Second })
	ctx, a := r.caller("a")
	letGo := make(chan struct{})
	lost, err := silent.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	beats, err := alive.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	require.Equal(t, "operation_lost", r.await(lost, catalog.OperationFailed).Problem.Code)
	require.Equal(t, catalog.OperationRunning, r.state(beats).State)
	close(letGo)
	r.await(beats, catalog.OperationSucceeded)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.discarded) == 1 && r.discarded[0] == lost.ID
	}, time.Minute, 2*time.Millisecond, "what it kept is removed")
	require.Equal(t, catalog.OperationFailed, r.state(lost).State)
}

// TestANewReplicaEndsWhatIsSilent checks that a new replica ends the operations of silent
// replicas, even if it is short-lived itself.
func TestANewReplicaEndsWhatIsSilent(t *testing.T) {
	const silence = 5 * time.Second
	r := newReplicas(t)
	silent, _ := r.runner(func(o *operation.Options) { o.Beat, o.Poll = time.Hour, time.Hour })
	ctx, a := r.caller("a")
	letGo := make(chan struct{})
	defer close(letGo)
	lost, err := silent.Start(ctx, a, catalog.OperationQuery, until(letGo))
	require.NoError(t, err)
	r.await(lost, catalog.OperationRunning)
	<-time.After(silence + time.Millisecond)
	began, stalls := time.Now(), enginetest.WatchStalls(0)
	r.runner(func(o *operation.Options) { o.Lost = silence })
	r.await(lost, catalog.OperationFailed)
	require.Less(t, time.Since(began)-stalls(), silence, "it does not wait for its first sweep")
}

func TestExpiredOperationsGoWithWhatTheyKept(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(func(o *operation.Options) { o.Keep = time.Millisecond })
	ctx, a := r.caller("a")
	o, err := runner.Start(ctx, a, catalog.OperationQuery, func(context.Context, *operation.Task) (operation.Done, error) {
		return operation.Done{StoredBytes: 1}, nil
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		require.NoError(t, runner.Sweep(r.system))
		_, err := r.store.Operation(r.system, o.Org, o.ID)
		return errors.Is(err, catalog.ErrNotFound)
	}, time.Minute, 5*time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Contains(t, r.discarded, o.ID)
}

func TestWithin(t *testing.T) {
	r := newReplicas(t)
	runner, _ := r.runner(nil)
	ctx, a := r.caller("a")
	o := operation.Service{Store: r.store, Runner: runner}
	result := func(n int) any { return map[string]int{"n": n} }

	n, later, err := operation.RunWithin(ctx, o, catalog.OperationDiscover, time.Minute,
		func(context.Context, *operation.Task) (int, error) { return 3, nil }, result)
	require.NoError(t, err)
	require.Nil(t, later)
	require.Equal(t, 3, n)
	boom := errors.New("boom")
	_, _, err = operation.RunWithin(ctx, o, catalog.OperationDiscover, time.Minute,
		func(context.Context, *operation.Task) (int, error) { return 0, boom }, result)
	require.ErrorIs(t, err, boom)
	_, _, err = operation.RunWithin(ctx, o, catalog.OperationDiscover, time.Minute,
		func(context.Context, *operation.Task) (int, error) { panic("defect") }, result)
	require.Error(t, err)

	letGo := make(chan struct{})
	work := func(ctx context.Context, t *operation.Task) (int, error) {
		t.Progress(catalog.Progress{Done: 5, Unit: "folders"})
		select {
		case <-letGo:
			return 7, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	// A client that disconnects before ends its work; one that got an operation does not.
	leaving, leave := context.WithCancel(ctx)
	time.AfterFunc(10*time.Millisecond, leave)
	_, _, err = operation.RunWithin(leaving, o, catalog.OperationDiscover, time.Minute, work, result)
	require.ErrorIs(t, err, context.Canceled)
	left, leave := context.WithCancel(ctx)
	_, later, err = operation.RunWithin(left, o, catalog.OperationDiscover, time.Millisecond, work, result)
	require.NoError(t, err)
	leave()
	require.Equal(t, catalog.OperationRunning, r.state(*later).State)
	require.Equal(t, a.User, later.User)
	require.Eventually(t, func() bool { return r.state(*later).Progress == catalog.Progress{Done: 5, Unit: "folders"} }, time.Minute,
		time.Millisecond, "progress made before the work became an operation counts")
	close(letGo)
	require.JSONEq(t, `{"n":7}`, string(r.await(*later, catalog.OperationSucceeded).Result))
}

// forgetful is a store that loses its first reply to the end of an operation, and fails once
// more when it is asked about it.
type forgetful struct {
	catalog.Store
	lost, failed atomic.Bool
}

func (f *forgetful) Operation(ctx context.Context, org catalog.OrgID, id catalog.OperationID) (catalog.Operation, error) {
	if f.lost.Load() && f.failed.CompareAndSwap(false, true) {
		return catalog.Operation{}, catalog.ErrUnavailable
	}
	return f.Store.Operation(ctx, org, id)
}

func (f *forgetful) FinishOperation(ctx context.Context, runner string, id catalog.OperationID, o catalog.OperationOutcome) error {
	err := f.Store.FinishOperation(ctx, runner, id, o)
	if err == nil && f.lost.CompareAndSwap(false, true) {
		return catalog.ErrUnavailable
	}
	return err
}

// TestAResultOutlivesALostReply checks that the result of an operation is kept if the catalog has
// stored how it ended, but could not say so.
func TestAResultOutlivesALostReply(t *testing.T) {
	r := newReplicas(t)
	store := &forgetful{Store: r.store}
	runner, stop := r.runnerOn(store, nil)
	ctx, a := r.caller("ada")
	released := make(chan struct{})
	close(released)
	o, err := runner.Start(ctx, a, catalog.OperationQuery, until(released))
	require.NoError(t, err)
	r.await(o, catalog.OperationSucceeded)
	require.NoError(t, stop(t.Context()))
	require.True(t, store.failed.Load())
	require.Empty(t, r.discarded)
}
