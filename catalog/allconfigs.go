package catalog

import (
	"context"
	"iter"
)

// AllStorageConfigs yields the storage configurations of all organisations. The
// first error ends the sequence.
func AllStorageConfigs(ctx context.Context, store interface {
	Organisations
	StorageConfigs
}) iter.Seq2[StorageConfig, error] {
	return func(yield func(StorageConfig, error) bool) {
		for org, err := range pages(ctx, store.ListOrganisations) {
			if err != nil {
				yield(StorageConfig{}, err)
				return
			}
			configs := func(ctx context.Context, page Page) (List[StorageConfig], error) {
				return store.ListStorageConfigs(ctx, SystemViewer(org.ID), page)
			}
			for c, err := range pages(ctx, configs) {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// pages yields the items of every page of a list. The first error ends the sequence.
func pages[T any](ctx context.Context, list func(context.Context, Page) (List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := (Page{Size: MaxPageSize}); ; {
			items, err := list(ctx, page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Token = items.Next; page.Token == "" {
				return
			}
		}
	}
}
