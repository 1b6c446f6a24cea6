package catalog

import (
	"encoding/base64"
	"encoding/json"
)

// Bounds of a page.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
)

// Page asks for a part of a list.
type Page struct {
	// Size is the largest number of items; 0 means [DefaultPageSize].
	Size int
	// Token is [List.Next] of the page before; empty means the first page.
	Token string
}

// List is one page of a list. Items that are added or removed between two pages may or
// may not be returned. All other items are returned exactly once.
type List[T any] struct {
	// Items is never nil.
	Items []T
	// Next is empty on the last page.
	Next string
}

// Each calls visit for every item of a list, page by page. It stops at the first
// error.
func Each[T any](list func(Page) (List[T], error), visit func(T) error) error {
	page := Page{Size: MaxPageSize}
	for {
		items, err := list(page)
		if err != nil {
			return err
		}
		for _, item := range items.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if items.Next == "" {
			return nil
		}
		page.Token = items.Next
	}
}

// Cursor is the position after an item in the order of a list. It is for
// implementations of [Store]. Clients see it as an opaque token.
type Cursor struct {
	// List names the list, so that a token of another list is refused.
	List string
	// Key is the sort key and ID breaks ties.
	Key string
	ID  string
}

// Token returns the cursor as an opaque text.
func (c Cursor) Token() string {
	raw, err := json.Marshal([]string{c.List, c.Key, c.ID})
	if err != nil { // strings always marshal
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Limit returns the effective page size.
func (p Page) Limit() int {
	if p.Size == 0 {
		return DefaultPageSize
	}
	return p.Size
}

// Cursor parses the page's token for the named list. ok is false on the first page. It
// returns [FieldErrors] for a size out of bounds or a token that does not belong to
// this list.
func (p Page) Cursor(list string) (c Cursor, ok bool, err error) {
	var e FieldErrors
	if p.Size < 0 || p.Size > MaxPageSize {
		e.add("page_size", "must be between 1 and %d", MaxPageSize)
	}
	if p.Token != "" {
		var parts []string
		raw, decodeErr := base64.RawURLEncoding.DecodeString(p.Token)
		if decodeErr == nil {
			decodeErr = json.Unmarshal(raw, &parts)
		}
		if decodeErr != nil || len(parts) != 3 || parts[0] != list || !storableText(parts[1]) || !storableText(parts[2]) {
			e.add("page_token", "must be a token of an earlier reply")
		} else {
			c, ok = Cursor{List: parts[0], Key: parts[1], ID: parts[2]}, true
		}
	}
	return c, ok && len(e) == 0, e.Err()
}
