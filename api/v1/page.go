package v1

import "github.com/lakewarden/lakewarden/catalog"

// Page are the query parameters of every list.
type Page struct {
	PageSize  int    `query:"page_size" minimum:"1" maximum:"1000" default:"100" doc:"Largest number of items in the reply"`
	PageToken string `query:"page_token" maxLength:"2048" doc:"Token of the previous reply; empty for the first page"`
}

func (p Page) page() catalog.Page { return catalog.Page{Size: p.PageSize, Token: p.PageToken} }

// convert maps the items of a list; the result is never nil.
func convert[A, B any](items []A, f func(A) B) []B {
	out := make([]B, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
