package domain_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// joining is a catalog in which a column begins to use a domain just before a change of it.
type joining struct {
	catalog.Store
	join func()
	once sync.Once
}

func (s *joining) ReplaceDomain(ctx context.Context, t catalog.DomainTarget, n catalog.NewDomain) (catalog.Domain, error) {
	s.once.Do(s.join)
	return s.Store.ReplaceDomain(ctx, t, n)
}

func (s *joining) AddDomainValues(ctx context.Context, t catalog.DomainTarget, values []catalog.NewDomainValue) (
	catalog.Domain, []catalog.DomainValue, error) {
	s.once.Do(s.join)
	return s.Store.AddDomainValues(ctx, t, values)
}

func (s *joining) DescribeDomainValue(ctx context.Context, t catalog.DomainTarget, id catalog.ValueID, label, description string) (
	catalog.Domain, error) {
	s.once.Do(s.join)
	return s.Store.DescribeDomainValue(ctx, t, id, label, description)
}

func (s *joining) BeginValueChange(ctx context.Context, t catalog.DomainTarget, c catalog.ValueChange) (catalog.ValueChange, error) {
	s.once.Do(s.join)
	return s.Store.BeginValueChange(ctx, t, c)
}

// TestColumnsThatJoinMeanwhileAreNotChangedUnjudged checks that a shared domain is changed only
// if the columns that use it are those that the caller was judged by. The column that joins is
// one of a table of which the caller sees a part.
func TestColumnsThatJoinMeanwhileAreNotChangedUnjudged(t *testing.T) {
	content := domain.SharedInput{Name: "shared", Kind: catalog.DomainFixed, Values: []domain.Value{{Value: "a"}}}
	none := func(domain.Changed) any { return nil }
	for name, change := range map[string]func(context.Context, domain.Service, domain.Owner, catalog.ValueID) error{
		"replace": func(ctx context.Context, o domain.Service, at domain.Owner, _ catalog.ValueID) error {
			_, err := o.ReplaceShared(ctx, at.Org, at.Domain, catalog.AnyVersion, content)
			return err
		},
		"add a value": func(ctx context.Context, o domain.Service, at domain.Owner, _ catalog.ValueID) error {
			_, err := o.AddValue(ctx, at, domain.Value{Value: "new"})
			return err
		},
		"describe a value": func(ctx context.Context, o domain.Service, at domain.Owner, id catalog.ValueID) error {
			label := "label"
			_, _, err := o.ChangeValue(ctx, at, id, domain.ValuePatch{Label: &label}, none)
			return err
		},
		"delete a value": func(ctx context.Context, o domain.Service, at domain.Owner, id catalog.ValueID) error {
			_, _, err := o.RemoveValue(ctx, at, domain.Removal{Value: id}, none)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			made := l.Create("t", table.ColumnDefinition{Name: "c", Type: "string"})
			l.Policy(made, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource.c == "a" };`)
			system := authz.System(t.Context(), "test")
			shared, err := l.Store.CreateDomain(system, l.Org.ID, catalog.NewDomain{Name: "shared",
				DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}, Values: []catalog.NewDomainValue{{Value: "a"}, {Value: "b"}}}, l.Org.Owner)
			require.NoError(t, err)
			store := &joining{Store: l.Store, join: func() {
				at := catalog.ColumnDomainAt{Column: "c"}
				_, err := l.Store.UseDomain(system, catalog.SystemViewer(l.Org.ID), made.ID, at, shared.ID, l.Org.Owner)
				require.NoError(t, err)
			}}
			domains := domain.Service{Store: store, Tables: l.Tables, Queries: l.Queries, Writes: l.Writes, Confirmed: l.Queries.Confirmed,
				Operations: operation.Service{}}
			domains.Changes = domain.NewChanges(domains, nil, nil, "test")
			values, err := l.Store.DomainValues(system, l.Org.ID, shared.ID)
			require.NoError(t, err)
			err = change(l.Member(catalog.RoleBuilder), domains, domain.Owner{Org: l.Org.ID, Domain: shared.ID}, values.Values[1].ID)
			require.ErrorIs(t, err, catalog.ErrVersionConflict)
			after, err := l.Store.DomainValues(system, l.Org.ID, shared.ID)
			require.NoError(t, err)
			require.Equal(t, values.Values, after.Values)
		})
	}
}
