package duckdb

import (
	duck "github.com/duckdb/duckdb-go-bindings"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
)

const (
	// maxKeptStatements is how many prepared statements an instance caches.
	maxKeptStatements = 16
	// maxKeptText bounds the text of each, in bytes.
	maxKeptText = 16 << 10
)

// keptStatements caches the prepared statements that an instance ran last, by their
// text: programs repeat their statements. The engine plans a statement again where
// that is necessary: for other values of parameters, for functions of the time, and
// after a change of anything that its names refer to. A statement that is running, or
// that did not run to its end, is not in the cache.
type keptStatements struct {
	inst *instance
	held *simplelru.LRU[string, duck.PreparedStatement]
}

func newKeptStatements(in *instance) *keptStatements {
	held, _ := simplelru.NewLRU[string, duck.PreparedStatement](maxKeptStatements+1, nil) // fails at size 0 only
	return &keptStatements{inst: in, held: held}
}

// open is [instance.open] for a SELECT.
func (k *keptStatements) open(sql string, args engine.Args, step func() error) (*cursor, error) {
	prepared, ok := k.held.Peek(sql)
	if !ok {
		c, err := k.inst.open(sql, args, selects, step)
		if err == nil && len(sql) <= maxKeptText {
			c.keep = func() { k.put(sql, c.prepared) }
		}
		return c, err
	}
	k.held.Remove(sql)
	c := &cursor{conn: k.inst.conn, prepared: prepared}
	if err := c.start(args, step); err != nil {
		c.close()
		return nil, err
	}
	c.keep = func() { k.put(sql, c.prepared) }
	return c, nil
}

// put takes over a statement that ran to its end.
func (k *keptStatements) put(sql string, prepared duck.PreparedStatement) {
	k.held.Add(sql, prepared)
	k.shrink(maxKeptStatements)
}

// shrink destroys the least recently used statements beyond limit.
func (k *keptStatements) shrink(limit int) {
	for k.held.Len() > limit {
		_, prepared, _ := k.held.RemoveOldest()
		duck.DestroyPrepare(&prepared)
	}
}
