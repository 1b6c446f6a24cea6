package v1

import (
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
)

// Page holds the query parameters of every list.
type Page struct {
	PageSize  int    `query:"page_size" minimum:"1" maximum:"1000" default:"100" doc:"Largest number of items in the reply"`
	PageToken string `query:"page_token" maxLength:"2048" doc:"Token of the previous reply; empty for the first page"`
}

// Catalog returns the page as the catalog's lists take it.
func (p Page) Catalog() catalog.Page { return catalog.Page{Size: p.PageSize, Token: p.PageToken} }

// Map returns f of each item. The result is never nil.
func Map[A, B any](items []A, f func(A) B) []B {
	out := make([]B, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// SplitList splits values at commas.
func SplitList(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}
