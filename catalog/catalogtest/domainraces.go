package catalogtest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// racePublications checks that a write is either refused because the domains of its table
// have changed, or is seen by whoever changed them. Each write races with one change.
func racePublications(t *testing.T, w *world) {
	d := w.domained()
	const pairs = 200
	var found catalog.Discovery
	for i := range pairs {
		found.Found = append(found.Found, catalog.FoundTable{Path: fmt.Sprint("p", i), DeltaID: w.delta()})
	}
	tables := w.sync(d.config, found).Added
	require.Len(t, tables, pairs)
	start := w.now()
	leases := make([]catalog.WriteLeaseID, pairs)
	versions := make([]int64, pairs)
	for i, table := range tables {
		if i%2 == 1 { // the others never had a domain
			d.setOn(table, catalog.ColumnDomainAt{Column: "other"}, fixed("a"))
		}
		var err error
		leases[i], err = w.BeginWrite(w.ctx, catalog.NewWrite{Org: d.org, Table: table.DeltaID, Kind: catalog.WriteRows})
		require.NoError(t, err)
		versions[i] = d.domains(table).Version
	}
	// A write publishes and withdraws until it is refused. It holds a publication while its
	// count is odd.
	counts, done := make([]atomic.Int64, pairs), make([]atomic.Bool, pairs)
	begun := make([]chan struct{}, pairs) // closed by the first publication
	for i := range begun {
		begun[i] = make(chan struct{})
	}
	published := 0
	const together = 10
	changeDomain := func(s catalog.Store, pair int) error {
		if pair%4 < 2 { // the other changes may be the first
			select {
			case <-begun[pair]:
			case <-w.ctx.Done():
			}
		}
		at := catalog.ColumnDomainAt{Column: "c"}
		if err := drop(s.SetColumnDomain(w.ctx, d.viewer, tables[pair].ID, at, fixed("a"), d.owner)); err != nil {
			return err
		}
		before := counts[pair].Load()
		seen, err := s.PublishingBefore(w.ctx, d.org, tables[pair].DeltaID, versions[pair]+1, start)
		if err == nil && !seen && before%2 == 1 && before == counts[pair].Load() {
			err = errors.New("a publication was not seen")
		}
		done[pair].Store(!seen)
		// Once no publication under the previous version was seen, none can begin.
		for range 10 {
			if err != nil || seen {
				return err
			}
			seen, err = s.PublishingBefore(w.ctx, d.org, tables[pair].DeltaID, versions[pair]+1, start)
			if seen {
				return errors.New("a publication came late")
			}
		}
		return err
	}
	errs := race(w, 2*together, func(s catalog.Store, i int) error {
		for pair := i / 2; pair < pairs; pair += together {
			err := error(nil)
			if i%2 == 0 {
				err = publishUntilRefused(w, s, leases[pair], versions[pair], &counts[pair], &done[pair], begun[pair])
			} else {
				err = changeDomain(s, pair)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, errors.Join(errs...))
	for i := range counts {
		published += int(counts[i].Load()) / 2
	}
	t.Logf("%d publications against %d changes", published, pairs)

	// Many writes of one table race with one change.
	many := make([]catalog.WriteLeaseID, pairs)
	for i := range many {
		var err error
		many[i], err = w.BeginWrite(w.ctx, catalog.NewWrite{Org: d.org, Table: d.table.DeltaID, Kind: catalog.WriteRows})
		require.NoError(t, err)
	}
	late := false
	errs = race(w, pairs+1, func(s catalog.Store, i int) (err error) {
		if i < pairs {
			return s.PublishWrite(w.ctx, many[i], 0)
		}
		if err := d.try(catalog.ColumnDomainAt{Column: "c"}, fixed("a")); err != nil {
			return err
		}
		late, err = s.PublishingBefore(w.ctx, d.org, d.table.DeltaID, 1, start)
		return err
	})
	require.NoError(t, errs[pairs])
	require.Equal(t, winners(w, errs[:pairs], catalog.ErrDomainsChanged) > 0, late)
}

// publishUntilRefused publishes and withdraws a write under one version of the domains
// until they have changed. It fails if a publication succeeds that began after the change
// had seen none.
func publishUntilRefused(w *world, s catalog.Store, lease catalog.WriteLeaseID, version int64, count *atomic.Int64,
	done *atomic.Bool, begun chan<- struct{}) error {
	defer func() {
		if count.Load() == 0 {
			close(begun)
		}
	}()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		late := done.Load()
		err := s.PublishWrite(w.ctx, lease, version)
		switch {
		case errors.Is(err, catalog.ErrDomainsChanged):
			return nil
		case err != nil:
			return err
		case late:
			return errors.New("a publication under a previous version succeeded")
		}
		if count.Add(1) == 1 {
			close(begun)
		}
		if err := s.RenewWrite(w.ctx, lease); err != nil { // takes a while
			return err
		}
		count.Add(1)
		if err := s.WithdrawWrite(w.ctx, lease); err != nil {
			return err
		}
		<-time.After(time.Millisecond) // SQLite has no queue for its lock, so that the change could starve
	}
	return errors.New("the domains did not change")
}

// raceDomains checks that of several concurrent changes with the same expectation one
// succeeds.
func raceDomains(t *testing.T, w *world) {
	d := w.domained()
	set := d.set("c", fixed("a"))
	const n = 40
	at := catalog.ColumnDomainAt{Column: "c", Expected: set.Domain.ID, ExpectedVersion: 1}
	errs := race(w, n, func(s catalog.Store, i int) error {
		return drop(s.SetColumnDomain(w.ctx, d.viewer, d.table.ID, at, fixed("a", fmt.Sprint("winner ", i)), d.owner))
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrVersionConflict))
	for i, err := range errs {
		if err == nil {
			require.Equal(t, []string{"a", fmt.Sprint("winner ", i)}, d.texts(set.Domain.ID))
		}
	}
	target := d.target(set.Domain.ID)
	errs = race(w, n, func(s catalog.Store, _ int) error {
		_, _, err := s.AddDomainValues(w.ctx, target, newValues("new"))
		return err
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrExists))
	change := catalog.ValueChange{Kind: catalog.ValueRename, Value: d.ids(set.Domain.ID)["new"], To: "newer", By: d.owner}
	errs = race(w, n, func(s catalog.Store, _ int) error { return drop(s.BeginValueChange(w.ctx, target, change)) })
	require.Equal(t, 1, winners(w, errs, catalog.ErrValueChange))

	// Each of the changes that succeed raises the version by one.
	before := d.set("d", fixed("a"))
	errs = race(w, n, func(s catalog.Store, i int) error {
		_, _, err := s.AddDomainValues(w.ctx, d.target(before.Domain.ID), newValues(fmt.Sprint(i)))
		return err
	})
	require.Equal(t, n, winners(w, errs, nil))
	values, err := w.DomainValues(w.ctx, d.org, before.Domain.ID)
	require.NoError(t, err)
	require.EqualValues(t, 1+n, values.Version)
	require.Len(t, values.Values, 1+n)
}
