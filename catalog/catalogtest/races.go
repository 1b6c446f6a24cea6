package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// race runs n attempts concurrently, over two stores on one database, and returns their
// errors.
func race(w *world, n int, attempt func(s catalog.Store, i int) error) []error {
	stores := []catalog.Store{w.Store, w.open(w.now)}
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = attempt(stores[i%2], i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// winners asserts that every loser failed for the expected reason, and returns the
// number of winners.
func winners(w *world, errs []error, lost error) int {
	w.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			require.ErrorIs(w, err, lost)
		}
	}
	return won
}

func raceUpdates(t *testing.T, w *world) {
	org, owner := w.org()
	p := w.policy(org, owner, rowPolicy(""))
	const n = 100
	errs := race(w, n, func(s catalog.Store, i int) error {
		spec := rowPolicy("")
		spec.Text = fmt.Sprint("permit ", i)
		_, err := s.UpdatePolicy(w.ctx, org, p.ID, 1, spec, owner)
		return err
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrVersionConflict))
	after, err := w.Policy(w.ctx, org, p.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), after.Version)
	for i, err := range errs {
		if err == nil {
			require.Equal(t, fmt.Sprint("permit ", i), after.Text, "the content is the winner's")
		} else {
			stale(w, err, 2)
		}
	}
	history, err := w.PolicyHistory(w.ctx, org, p.ID, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, history.Items, 2)
}

// raceLastAdmins checks that one of several administrators who demote one another
// remains.
func raceLastAdmins(t *testing.T, w *world) {
	org, owner := w.org()
	admins := []catalog.UserID{owner}
	for range 5 {
		admins = append(admins, w.member(org, catalog.RoleAdmin))
	}
	errs := race(w, 2*len(admins), func(s catalog.Store, i int) error {
		if i%3 == 0 {
			return s.RemoveMember(w.ctx, org, admins[i/2])
		}
		_, err := s.SetMemberRole(w.ctx, org, admins[i/2], catalog.RoleViewer)
		return err
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, catalog.ErrLastAdmin) {
			require.ErrorIs(t, err, catalog.ErrNotFound) // removed already
		}
	}
	m, err := w.Membership(w.ctx, org, owner)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleAdmin, m.Role)

	// The ownership moves while the new owner is being demoted. In either order the
	// owner is an administrator afterwards.
	for range 10 {
		heir := w.member(org, catalog.RoleAdmin)
		race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				_, err := s.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &heir})
				return err
			}
			_, err := s.SetMemberRole(w.ctx, org, heir, catalog.RoleViewer)
			return err
		})
		o, err := w.Organisation(w.ctx, org)
		require.NoError(t, err)
		m, err := w.Membership(w.ctx, org, o.Owner)
		require.NoError(t, err)
		require.Equal(t, catalog.RoleAdmin, m.Role)
	}
}

// raceReservations checks that concurrent reservations are granted exactly as far as
// there is room.
func raceReservations(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	neighbour := w.operation(other, stranger, "one")
	fits, err := w.ReserveOperation(w.ctx, "one", neighbour.ID, 1000, 1000)
	require.NoError(t, err)
	require.True(t, fits, "another organisation's room")
	ids := make([]catalog.OperationID, 12)
	for i := range ids {
		ids[i] = w.operation(org, owner, "one").ID
	}
	full := errors.New("full")
	errs := race(w, len(ids), func(s catalog.Store, i int) error {
		fits, err := s.ReserveOperation(w.ctx, "one", ids[i], 10, 35)
		if err == nil && !fits {
			err = full
		}
		return err
	})
	require.Equal(t, 3, winners(w, errs, full))
	usage, err := w.OperationUsage(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, int64(30), usage.StoredBytes)
}

// raceLocations checks that one of several overlapping locations is granted when they
// are claimed concurrently.
func raceLocations(t *testing.T, w *world) {
	org, owner := w.org()
	errs := race(w, 20, func(s catalog.Store, i int) error {
		location := catalog.NewLocation("file", "data", "a", "b", "c", "d"[:i%2])
		_, err := s.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{Org: org, Owner: owner, Name: "n", Kind: catalog.KindLocal,
			Location: location})
		return err
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrLocationTaken))
}

// raceNames checks that concurrent discovery and registration give every table a unique
// name and every path one registration.
func raceNames(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, "", "c")
	v := catalog.MemberViewer(org, owner)
	paths := []string{"a/b", "a__b", "A/B", "a/B"}
	ids := map[string]catalog.DeltaID{}
	for _, path := range paths {
		ids[path] = w.delta()
	}
	errs := race(w, 24, func(s catalog.Store, i int) error {
		path := paths[i%len(paths)]
		if i%3 == 0 {
			_, err := s.RegisterTable(w.ctx, v, catalog.NewTable{Config: config.ID, DeltaID: ids[path], Path: path})
			return err
		}
		_, err := s.SyncTables(w.ctx, v, config.ID, catalog.Discovery{Found: []catalog.FoundTable{{Path: path, DeltaID: ids[path]}}})
		return err
	})
	winners(w, errs, catalog.ErrExists)
	names, places := map[string]bool{}, map[string]bool{}
	list, err := w.ListTables(w.ctx, v, catalog.TableFilter{}, catalog.Page{})
	require.NoError(t, err)
	for _, table := range list.Items {
		names[catalog.FoldName(table.Name)], places[table.Path] = true, true
	}
	require.Len(t, list.Items, len(paths))
	require.Len(t, names, len(paths))
	require.Len(t, places, len(paths))
}

func cancelledContext(t *testing.T, w *world) {
	org, owner := w.org()
	before := w.epochNow()
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, err := w.Organisation(ctx, org)
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.ReplaceAttributes(ctx, org, owner, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, w.epochNow())
}

func closedStore(t *testing.T, w *world) {
	org, owner := w.org()
	closer, ok := w.Store.(interface{ Close() error })
	if !ok {
		return // a wrapper does not own the database
	}
	require.NoError(t, closer.Close())
	_, err := w.Organisation(w.ctx, org)
	require.ErrorIs(t, err, catalog.ErrUnavailable)
	_, err = w.ReplaceAttributes(w.ctx, org, owner, nil)
	require.ErrorIs(t, err, catalog.ErrUnavailable)
	_, err = w.Epoch(w.ctx)
	require.ErrorIs(t, err, catalog.ErrUnavailable)
}
