package sqldb

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// Paging defines the order of a list and the position of an item in it.
type Paging[T any] struct {
	// List is the name in the token.
	List string
	// Key and ID are the columns of the order.
	Key, ID string
	// Number reports that Key holds integers.
	Number bool
	// Descending reports that the largest keys come first.
	Descending bool
	// Position returns the values of Key and ID of an item.
	Position func(T) (key, id string)
}

// Fetch reads one page of a SELECT without WHERE, ORDER BY and LIMIT.
func (p Paging[T]) Fetch(ctx context.Context, s Session, page catalog.Page, scan func(Row) (T, error), selectFrom string,
	w Where) (catalog.List[T], error) {
	cursor, resumed, err := page.Cursor(p.List)
	if err != nil {
		return catalog.List[T]{}, err
	}
	order, sign := " ASC", ">"
	if p.Descending {
		order, sign = " DESC", "<"
	}
	if resumed {
		var key any = cursor.Key
		if p.Number {
			if key, err = strconv.ParseInt(cursor.Key, 10, 64); err != nil {
				return catalog.List[T]{}, catalog.FieldErrors{{Field: "page_token", Message: "must be a token of an earlier reply"}}
			}
		}
		w.And("("+p.Key+" "+sign+" ? OR ("+p.Key+" = ? AND "+p.ID+" "+sign+" ?))", key, key, cursor.ID)
	}
	limit := page.Limit()
	statement := strings.Join([]string{
		selectFrom, "WHERE", w.Text,
		"ORDER BY", p.Key + order + ",", p.ID + order,
		"LIMIT ?",
	}, " ")
	items, err := List(ctx, s, scan, statement, append(w.Args, limit+1)...)
	if err != nil {
		return catalog.List[T]{}, err
	}
	var next string
	if len(items) > limit {
		items = items[:limit]
		key, id := p.Position(items[limit-1])
		next = catalog.Cursor{List: p.List, Key: key, ID: id}.Token()
	}
	return catalog.List[T]{Items: items, Next: next}, nil
}

// TimeKey returns the form of a time as the key of a position.
func TimeKey(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }
