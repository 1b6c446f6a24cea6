package command

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// makeDemoDomains restricts three columns of the demo: the carrier of a flight to the
// airlines, its origin to the airports of New York City, and the model of a plane to the
// models of its manufacturer. The demo's tables use no column mapping, so the names of
// columns are their physical names.
func makeDemoDomains(ctx context.Context, store catalog.Store, by catalog.UserID, config catalog.StorageConfig) error {
	viewer := catalog.Viewer{Org: config.Org, User: by}
	tables := map[string]catalog.Table{}
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return store.ListTables(ctx, viewer, catalog.TableFilter{Config: config.ID}, page)
	}, func(t catalog.LocatedTable) error {
		tables[t.Name] = t.Table
		return nil
	})
	if err != nil {
		return err
	}
	source := func(table, column, parent string) *catalog.DomainSource {
		return &catalog.DomainSource{Config: config.ID, Table: tables[table].DeltaID, Column: column, ParentKey: parent}
	}
	for _, def := range []struct {
		table  string
		at     catalog.ColumnDomainAt
		domain catalog.NewDomain
	}{
		{"flights", catalog.ColumnDomainAt{Column: "carrier"}, catalog.NewDomain{DomainSpec: catalog.DomainSpec{
			Kind: catalog.DomainReference, Source: source("airlines", "carrier", "")}}},
		{"flights", catalog.ColumnDomainAt{Column: "origin"}, catalog.NewDomain{
			DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed},
			Values: []catalog.NewDomainValue{
				{Value: "EWR", Label: "Newark"}, {Value: "JFK", Label: "Kennedy"}, {Value: "LGA", Label: "LaGuardia"},
			},
		}},
		{"planes", catalog.ColumnDomainAt{Column: "model", Parent: "manufacturer"}, catalog.NewDomain{DomainSpec: catalog.DomainSpec{
			Kind: catalog.DomainHierarchical, Source: source("models", "model", "manufacturer")}}},
	} {
		if _, err := store.SetColumnDomain(ctx, viewer, tables[def.table].ID, def.at, def.domain, by); err != nil {
			return err
		}
	}
	return nil
}
