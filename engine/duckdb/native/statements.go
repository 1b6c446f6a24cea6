package native

import (
	duck "github.com/duckdb/duckdb-go-bindings"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
)

const (
	// maxStatements is the maximum number of prepared statements that an instance caches.
	maxStatements = 16
	// maxStatementText bounds the text of each, in bytes.
	maxStatementText = 16 << 10
)

// Statements caches the most recent prepared statements of an instance by their text, because
// programs repeat their statements. The engine plans a statement again if necessary: for other
// values of parameters, for functions of the time, and after a change of anything that its names
// refer to. A statement that is running, or that did not run to its end, is not in the cache.
type Statements struct {
	inst *Instance
	held *simplelru.LRU[string, duck.PreparedStatement]
}

// NewStatements returns an empty cache for an instance.
func NewStatements(in *Instance) *Statements {
	held, _ := simplelru.NewLRU[string, duck.PreparedStatement](maxStatements+1, nil) // fails for size 0 only
	return &Statements{inst: in, held: held}
}

// Open is [Instance.Open] for a SELECT.
func (k *Statements) Open(sql string, args engine.Args, step func() error) (*Cursor, error) {
	prepared, ok := k.held.Peek(sql)
	if !ok {
		c, err := k.inst.Open(sql, args, selects, step)
		if err == nil && len(sql) <= maxStatementText {
			c.keep = func() { k.put(sql, c.prepared) }
		}
		return c, err
	}
	k.held.Remove(sql)
	c := &Cursor{conn: k.inst.conn, prepared: prepared}
	if err := c.start(args, step); err != nil {
		c.Close()
		return nil, err
	}
	c.keep = func() { k.put(sql, c.prepared) }
	return c, nil
}

// put caches a statement that ran to its end.
func (k *Statements) put(sql string, prepared duck.PreparedStatement) {
	k.held.Add(sql, prepared)
	k.Shrink(maxStatements)
}

// Shrink destroys the least recently used statements beyond limit.
func (k *Statements) Shrink(limit int) {
	for k.held.Len() > limit {
		_, prepared, _ := k.held.RemoveOldest()
		duck.DestroyPrepare(&prepared)
	}
}
