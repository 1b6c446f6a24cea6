package ops

import "github.com/lakewarden/lakewarden/catalog"

// eachItem walks a list of the catalog from its first page to its last. It stops
// at the first error.
func eachItem[T any](list func(catalog.Page) (catalog.List[T], error), each func(T) error) error {
	page := catalog.Page{Size: catalog.MaxPageSize}
	for {
		items, err := list(page)
		if err != nil {
			return err
		}
		for _, item := range items.Items {
			if err := each(item); err != nil {
				return err
			}
		}
		if items.Next == "" {
			return nil
		}
		page.Token = items.Next
	}
}
