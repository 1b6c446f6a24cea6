package write_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/sessions"
)

// places is a lake with a table of countries and cities.
type places struct {
	*opstest.Lake
	t      *testing.T
	system context.Context
	admin  context.Context
}

func newPlaces(t *testing.T) places {
	l := opstest.New(t)
	return places{Lake: l, t: t, system: authz.System(t.Context(), "test"), admin: l.Member(catalog.RoleAdmin)}
}

func (p places) table(name string) catalog.LocatedTable {
	p.t.Helper()
	found, err := p.Path(name).Resolve(p.admin, p.Store, p.Caller(p.admin).Viewer)
	require.NoError(p.t, err)
	return found
}

func (p places) create(name string) table.Created {
	return p.Create(name, table.ColumnDefinition{Name: "id", Type: "long", Nullable: true},
		table.ColumnDefinition{Name: "country", Type: "string", Nullable: true},
		table.ColumnDefinition{Name: "city", Type: "string", Nullable: true})
}

// domain gives a column a domain.
func (p places) domain(name string, at catalog.ColumnDomainAt, kind catalog.DomainKind, source *catalog.DomainSource,
	values ...catalog.NewDomainValue) catalog.ColumnDomain {
	p.t.Helper()
	d, err := p.Store.SetColumnDomain(p.system, catalog.SystemViewer(p.Org.ID), p.table(name).ID, at,
		catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: kind, Source: source}, Values: values}, p.Org.Owner)
	require.NoError(p.t, err)
	return d
}

func (p places) fixed(name, column string, values ...string) catalog.ColumnDomain {
	p.t.Helper()
	list := make([]catalog.NewDomainValue, len(values))
	for i, v := range values {
		list[i].Value = v
	}
	return p.domain(name, catalog.ColumnDomainAt{Column: column}, catalog.DomainFixed, nil, list...)
}

func (p places) insert(name, rows string) error {
	_, err := p.Writes.Insert(p.admin, p.Path(name), opstest.JSON(rows), write.Options{})
	return err
}

// outside checks that a write was refused because of a column's domain.
func outside(t *testing.T, err error, column string) {
	t.Helper()
	var refused *dml.RowsError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []dml.Breach{{Row: 0, Column: column, Message: "lies outside the domain of the column"}}, refused.Breaches)
}

func TestWritesObeyDomains(t *testing.T) {
	p := newPlaces(t)
	p.create("visits")
	p.fixed("visits", "country", "AT", "CH")
	p.domain("visits", catalog.ColumnDomainAt{Column: "city", Parent: "country"}, catalog.DomainHierarchical, nil,
		catalog.NewDomainValue{Value: "AT"}, catalog.NewDomainValue{Value: "CH"}, catalog.NewDomainValue{Parent: "AT", Value: "Wien"},
		catalog.NewDomainValue{Parent: "CH", Value: "Bern"})
	require.NoError(t, p.insert("visits", `[{"id":1,"country":"AT","city":"Wien"},{"id":2,"country":"CH"}]`))
	outside(t, p.insert("visits", `[{"id":3,"country":"DE"}]`), "country")
	outside(t, p.insert("visits", `[{"id":3,"country":"CH","city":"Wien"}]`), "city")
	_, err := p.Writes.Update(p.admin, p.Path("visits"), "id = 1", map[string]string{"COUNTRY": "'CH'"}, write.Options{})
	require.ErrorContains(t, err, "may not be written")
	_, err = p.Writes.Update(p.admin, p.Path("visits"), "id = 1", map[string]string{"country": "'CH'", "city": "'Bern'"}, write.Options{})
	require.NoError(t, err)
	_, err = p.Writes.Merge(p.admin, p.Path("visits"), write.MergeInput{Body: opstest.JSON(`[{"id":1,"city":"Wien"}]`), On: []string{"id"}},
		write.Options{})
	outside(t, err, "city")
	_, err = p.Writes.Delete(p.admin, p.Path("visits"), "true", write.Options{})
	require.NoError(t, err)

	_, err = p.Rules.ChangeColumn(p.admin, p.Path("visits"), "country", table.ColumnChange{Name: ptr("land")})
	require.NoError(t, err)
	outside(t, p.insert("visits", `[{"id":3,"land":"DE"}]`), "land")
	outside(t, p.insert("visits", `[{"id":3,"land":"CH","city":"Wien"}]`), "city")
}

func ptr[T any](v T) *T { return &v }

// from is the source of a reference to the column city of a table.
func (p places) from(name string) *catalog.DomainSource {
	t := p.table(name)
	return &catalog.DomainSource{Config: t.Config, Table: t.DeltaID, Column: "city"}
}

func TestReferencesAreReadWhenRowsAreWritten(t *testing.T) {
	p := newPlaces(t)
	cities := p.create("cities")
	p.create("visits")
	require.NoError(t, p.insert("cities", `[{"id":1,"city":"Wien"}]`))
	p.domain("visits", catalog.ColumnDomainAt{Column: "city"}, catalog.DomainReference, p.from("cities"))
	require.NoError(t, p.insert("visits", `[{"id":1,"city":"Wien"}]`))
	outside(t, p.insert("visits", `[{"id":2,"city":"Bern"}]`), "city")
	require.NoError(t, p.insert("cities", `[{"id":2,"city":"Bern"}]`))
	require.NoError(t, p.insert("visits", `[{"id":2,"city":"Bern"}]`))

	// The source is read unfiltered: enforcement is the same for everybody.
	p.Policy(cities, catalog.PolicyRows, "", `forbid (principal, action, resource);`)
	require.NoError(t, p.insert("visits", `[{"id":3,"city":"Bern"}]`))

	folder := filepath.Join(p.Dir, p.table("cities").Path)
	require.NoError(t, os.Rename(folder, filepath.Join(t.TempDir(), "away")))
	var unusable *write.SourceError
	require.ErrorAs(t, p.insert("visits", `[{"id":4,"city":"Bern"}]`), &unusable)
	require.Equal(t, "table_vanished", unusable.ProblemCode())
	require.Equal(t, "city", unusable.Column)
	require.NoError(t, p.insert("visits", `[{"id":4,"country":"AT"}]`), "the column is not written")

	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(p.Dir, p.table("visits").Path))))
	require.ErrorAs(t, p.insert("visits", `[{"id":5,"city":"Bern"}]`), &unusable)
	require.Equal(t, "table_identity_changed", unusable.ProblemCode())
}

func TestSourcesStayVisibleToEverybody(t *testing.T) {
	p := newPlaces(t)
	shared := p.Config
	base, err := p.Store.DefaultWorkspace(p.system, p.Org.ID)
	require.NoError(t, err)
	require.Equal(t, base.ID, shared.Workspace)
	team, mine, others := shared, shared, shared
	team.ID, team.Workspace = "team", "w"
	mine.ID, mine.Workspace, mine.Owner = "mine", "", "me"
	others.ID, others.Workspace, others.Owner = "others", "", "you"
	mineToo, teamToo := mine, team
	mineToo.ID, teamToo.ID = "mine too", "team too"
	for _, c := range []struct {
		table, source catalog.StorageConfig
		allowed       bool
	}{
		{shared, shared, true}, {team, shared, true}, {mine, shared, true}, {team, team, true}, {team, teamToo, true}, {mine, mineToo, true},
		{shared, team, false}, {mine, team, false}, {shared, mine, false}, {team, mine, false}, {mine, others, false},
	} {
		err := p.Tables.CheckShared(t.Context(), c.table, c.source)
		require.Equal(t, c.allowed, err == nil, "%s from %s: %v", c.table.ID, c.source.ID, err)
	}
}

func TestReplaceValue(t *testing.T) {
	p := newPlaces(t)
	made := p.create("visits")
	require.NoError(t, p.insert("visits", `[{"id":1,"country":"AT","city":"Wien"},{"id":2,"country":"CH","city":"Wien"}]`))
	require.NoError(t, p.insert("visits", `[{"id":3,"country":"AT","city":"Linz"},{"id":4}]`))
	p.Policy(made, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource has country && resource.country == "CH" };`)
	d := p.fixed("visits", "city", "Wien", "Vienna", "Linz")

	unfiltered, err := p.Tables.OpenUnfiltered(t.Context(), p.table("visits"))
	require.NoError(t, err)
	seen, err := p.Tables.Open(p.admin, p.Caller(p.admin), access.Ref{Path: p.Path("visits")})
	require.NoError(t, err)
	count := func(v write.ColumnValue) [2]int64 {
		all, err := p.Writes.CountValue(t.Context(), unfiltered.AsSeen(), v)
		require.NoError(t, err)
		visible, err := p.Writes.CountValue(p.admin, seen, v)
		require.NoError(t, err)
		return [2]int64{all, visible}
	}
	require.Equal(t, [2]int64{2, 1}, count(write.ColumnValue{Column: "city", Value: "Wien"}))
	require.Equal(t, [2]int64{1, 0}, count(write.ColumnValue{Column: "city", Value: "Wien", ParentColumn: "country", Parent: "AT"}))
	require.Equal(t, [2]int64{}, count(write.ColumnValue{Column: "lost", Value: "Wien"}))

	d.Domain.Kind = catalog.DomainFixed
	found, err := p.Writes.Outside(t.Context(), unfiltered.AsSeen(), d, []catalog.DomainValue{{Value: "Linz"}})
	require.NoError(t, err)
	require.Equal(t, write.Outside{Rows: 2, Values: []string{"Wien"}}, found)
	found, err = p.Writes.Outside(t.Context(), seen, d, []catalog.DomainValue{{Value: "Linz"}})
	require.NoError(t, err)
	require.Equal(t, write.Outside{Rows: 1, Values: []string{"Wien"}}, found)

	change := write.Replacement{Table: unfiltered, To: "Vienna", By: p.Org.Owner, ByName: "owner",
		ColumnValue: write.ColumnValue{Column: "city", Value: "Wien", ParentColumn: "country", Parent: "AT"}}
	done, err := p.Writes.ReplaceValue(t.Context(), change)
	require.NoError(t, err)
	require.Equal(t, write.Result{Version: 3, Updated: 1}, done)
	change.ColumnValue = write.ColumnValue{Column: "city", Value: "Wien"}
	done, err = p.Writes.ReplaceValue(t.Context(), change)
	require.NoError(t, err)
	require.Equal(t, write.Result{Version: 4, Updated: 1}, done, "hidden rows change, too")
	done, err = p.Writes.ReplaceValue(t.Context(), change)
	require.NoError(t, err)
	require.Equal(t, write.Result{Version: 4}, done, "no row has the value any more")

	change.ColumnValue.Value, change.To = "Vienna", "Nowhere"
	_, err = p.Writes.ReplaceValue(t.Context(), change)
	var refused *dml.RowsError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, dml.BrokenRule, refused.Kind)
}

// TestNarrowedDomainsMeetWrites races inserts of a value with its removal. Whoever removes a
// value and then waits for the commits under way sees each row that has it.
func TestNarrowedDomainsMeetWrites(t *testing.T) {
	pairs := 1000
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		pairs = 40
	}
	p := newPlaces(t)
	const workers = 2
	var group sync.WaitGroup
	var faster atomic.Int64
	for worker := range workers {
		writer := p
		writer.admin = p.Member(catalog.RoleAdmin)
		name := fmt.Sprintf("visits%d", worker)
		p.create(name)
		d, located := p.fixed(name, "city", "always"), p.table(name)
		target := catalog.DomainTarget{Org: p.Org.ID, Viewer: catalog.SystemViewer(p.Org.ID), Table: located.ID, Domain: d.Domain.ID}
		group.Go(func() {
			begun := time.Now()
			if err := writer.insert(name, `[{"id":0,"city":"always"}]`); err != nil {
				t.Errorf("insert: %v", err)
				return
			}
			took := time.Since(begun) // of the last insert
			for n := range pairs / workers {
				value := fmt.Sprintf("city %d", n)
				_, added, err := p.Store.AddDomainValues(p.system, target, []catalog.NewDomainValue{{Value: value}})
				if err != nil {
					t.Errorf("add: %v", err)
					return
				}
				var inserting sync.WaitGroup
				var inserted error
				insert := func() {
					begun = time.Now()
					inserting.Go(func() {
						if inserted = writer.insert(name, `[{"id":1,"city":"`+value+`"}]`); inserted == nil {
							took = time.Since(begun)
						}
					})
				}
				var seen int64
				pause := rand.N(took * 3 / 2)
				switch n {
				case 0: // the insert is faster
					insert()
					inserting.Wait()
					seen, err = p.narrow(located, target, added[0])
				case 1: // the removal is faster
					seen, err = p.narrow(located, target, added[0])
					insert()
				default:
					insert()
					<-time.After(pause)
					seen, err = p.narrow(located, target, added[0])
				}
				inserting.Wait()
				if err != nil {
					t.Errorf("narrow: %v", err)
					return
				}
				if inserted == nil {
					faster.Add(1)
				} else if !strings.Contains(inserted.Error(), "may not be written") && !errors.Is(inserted, sessions.ErrBusy) {
					t.Errorf("insert: %v", inserted)
				}
				if (seen > 0) != (inserted == nil) {
					t.Errorf("%d rows were seen after the removal of %s, and the insert returned %v", seen, value, inserted)
				}
			}
		})
	}
	group.Wait()
	require.NotZero(t, faster.Load())
	require.Less(t, faster.Load(), int64(pairs))
}

// narrow removes a value, waits for the commits under way, and counts the rows that have it.
func (p places) narrow(located catalog.LocatedTable, target catalog.DomainTarget, value catalog.DomainValue) (rows int64, err error) {
	change, err := p.Store.BeginValueChange(p.system, target, catalog.ValueChange{
		Kind: catalog.ValueDelete, Value: value.ID, By: p.Org.Owner, Holder: "test",
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Store.EndValueChange(p.system, change.ID)) }()
	now, err := p.Store.TableDomains(p.system, p.Org.ID, located.DeltaID)
	if err != nil {
		return 0, err
	}
	if err := p.Writes.Leases.AwaitWrites(p.system, p.Org.ID, located.DeltaID, now.Version); err != nil {
		return 0, err
	}
	t, err := p.Tables.OpenUnfiltered(p.system, located)
	if err != nil {
		return 0, err
	}
	for {
		n, err := p.Writes.CountValue(p.system, t.AsSeen(), write.ColumnValue{Column: "city", Value: value.Value})
		if !errors.Is(err, sessions.ErrBusy) {
			return n, err
		}
		<-time.After(time.Millisecond)
	}
}
