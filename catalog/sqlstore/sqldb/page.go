package sqlstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// paging defines the order of a list and the position of an item in it.
type paging[T any] struct {
	// list is the name in the token.
	list string
	// key and id are the columns of the order.
	key, id string
	// number reports that key holds integers.
	number bool
	// newest reports that the newest items come first.
	descending bool
	position   func(T) (key, id string)
}

// fetch reads one page of a SELECT without WHERE, ORDER BY and LIMIT.
func (p paging[T]) fetch(ctx context.Context, s session, page catalog.Page, scan func(row) (T, error), selectFrom string,
	w where) (catalog.List[T], error) {
	cursor, resumed, err := page.Cursor(p.list)
	if err != nil {
		return catalog.List[T]{}, err
	}
	order, sign := " ASC", ">"
	if p.descending {
		order, sign = " DESC", "<"
	}
	if resumed {
		var key any = cursor.Key
		if p.number {
			if key, err = strconv.ParseInt(cursor.Key, 10, 64); err != nil {
				return catalog.List[T]{}, catalog.FieldErrors{{Field: "page_token", Message: "must be a token of an earlier reply"}}
			}
		}
		w.and("("+p.key+" "+sign+" ? OR ("+p.key+" = ? AND "+p.id+" "+sign+" ?))", key, key, cursor.ID)
	}
	limit := page.Limit()
	statement := strings.Join([]string{
		selectFrom, "WHERE", w.text,
		"ORDER BY", p.key + order + ",", p.id + order,
		"LIMIT ?",
	}, " ")
	items, err := list(ctx, s, scan, statement, append(w.args, limit+1)...)
	if err != nil {
		return catalog.List[T]{}, err
	}
	var next string
	if len(items) > limit {
		items = items[:limit]
		key, id := p.position(items[limit-1])
		next = catalog.Cursor{List: p.list, Key: key, ID: id}.Token()
	}
	return catalog.List[T]{Items: items, Next: next}, nil
}

func timeKey(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }
