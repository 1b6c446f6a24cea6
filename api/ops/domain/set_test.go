package domain_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// interleaved is a catalog in which another request sets or removes the domain of a column
// just before the first request does. Writes never settle, so that the latter is undone.
type interleaved struct {
	catalog.Store
	other func()
	once  sync.Once
}

var errUnsettled = errors.New("writes do not end")

func (s *interleaved) SetColumnDomain(ctx context.Context, v catalog.Viewer, id catalog.TableID, at catalog.ColumnDomainAt,
	n catalog.NewDomain, by catalog.UserID) (catalog.ColumnDomain, error) {
	s.once.Do(s.other)
	return s.Store.SetColumnDomain(ctx, v, id, at, n, by)
}

func (s *interleaved) PublishingBefore(context.Context, catalog.OrgID, catalog.DeltaID, int64, time.Time) (bool, error) {
	return false, errUnsettled
}

// TestUndoneDomainDoesNotBringBackAnOlderOne checks that a domain that could not be set
// leaves the one that another request set meanwhile, not the one before that.
func TestUndoneDomainDoesNotBringBackAnOlderOne(t *testing.T) {
	fixed := func(values ...string) catalog.NewDomain {
		n := catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}}
		for _, v := range values {
			n.Values = append(n.Values, catalog.NewDomainValue{Value: v})
		}
		return n
	}
	set := func(values ...string) func(*testing.T, setting) {
		return func(t *testing.T, s setting) {
			_, err := s.lake.Store.SetColumnDomain(s.system, s.viewer, s.table, catalog.ColumnDomainAt{Column: s.column}, fixed(values...),
				s.lake.Org.Owner)
			require.NoError(t, err)
		}
	}
	remove := func(t *testing.T, s setting) {
		require.NoError(t, s.lake.Store.RemoveColumnDomain(s.system, s.viewer, s.table, catalog.ColumnDomainAt{Column: s.column}))
	}
	for name, c := range map[string]struct {
		before, meanwhile func(*testing.T, setting)
		want              []string // nil means no domain
	}{
		"another domain":         {set("a"), set("b"), []string{"b"}},
		"the first domain":       {nil, set("b"), []string{"b"}},
		"no domain any more":     {set("a"), remove, nil},
		"nothing changed":        {set("a"), nil, []string{"a"}},
		"still without a domain": {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			made := l.Create("t", table.ColumnDefinition{Name: "c", Type: "string"})
			s := setting{lake: l, system: authz.System(t.Context(), "test"), viewer: catalog.SystemViewer(l.Org.ID), table: made.ID, column: "c"}
			if c.before != nil {
				c.before(t, s)
			}
			store := &interleaved{Store: l.Store, other: func() {
				if c.meanwhile != nil {
					c.meanwhile(t, s)
				}
			}}
			leases := l.Writes.Leases
			leases.Store = store
			writes := l.Writes
			writes.Leases = leases
			domains := domain.Service{Store: store, Tables: l.Tables, Queries: l.Queries, Writes: writes, Confirmed: l.Queries.Confirmed}
			_, err := domains.SetFixed(l.Member(catalog.RoleAdmin), domain.Place{Table: l.Path("t"), Column: "c"}, []domain.Value{{Value: "new"}})
			require.ErrorIs(t, err, errUnsettled)

			got, err := l.Store.TableDomains(s.system, l.Org.ID, made.DeltaID)
			require.NoError(t, err)
			if c.want == nil {
				require.Empty(t, got.Columns)
				return
			}
			require.Len(t, got.Columns, 1)
			values, err := l.Store.DomainValues(s.system, l.Org.ID, got.Columns[0].Domain.ID)
			require.NoError(t, err)
			var texts []string
			for _, v := range values.Values {
				texts = append(texts, v.Value)
			}
			require.Equal(t, c.want, texts)
		})
	}
}

// setting is a column of a table.
type setting struct {
	lake   *opstest.Lake
	system context.Context
	viewer catalog.Viewer
	table  catalog.TableID
	column string
}
