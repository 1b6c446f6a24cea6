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
	held *simplelru.LRU[string, heldStatement]
}

// heldStatement is a prepared statement, with the columns of the original one if it is that of
// exactSQL.
type heldStatement struct {
	prepared duck.PreparedStatement
	named    []engine.Column
}

// NewStatements returns an empty cache for an instance.
func NewStatements(in *Instance) *Statements {
	held, _ := simplelru.NewLRU[string, heldStatement](maxStatements+1, nil) // fails for size 0 only
	return &Statements{inst: in, held: held}
}

// Open is [Instance.Open] for a SELECT. Values whose type Arrow does not represent exactly are text;
// the columns of the cursor have the types of the statement.
func (k *Statements) Open(sql string, args engine.Args, step func() error) (*Cursor, error) {
	c, err := k.prepare(sql)
	if err != nil {
		return nil, err
	}
	if err := c.start(args, step); err != nil {
		c.Close()
		return nil, err
	}
	// The types of some columns are those of parameters.
	if exact := exactSQL(sql, c.Columns); exact != "" && c.named == nil {
		named := c.Columns
		c.Close()
		if c, err = k.prepareExact(exact, named); err != nil {
			return nil, err
		}
		if err := c.start(args, step); err != nil {
			c.Close()
			return nil, err
		}
	}
	if len(sql) <= maxStatementText {
		c.keep = func() { k.put(sql, heldStatement{c.prepared, c.named}) }
	}
	return c, nil
}

// prepare returns a cursor with the prepared statement, which has not started.
func (k *Statements) prepare(sql string) (*Cursor, error) {
	if held, ok := k.held.Peek(sql); ok {
		k.held.Remove(sql)
		return &Cursor{conn: k.inst.conn, prepared: held.prepared, named: held.named}, nil
	}
	if err := CheckText(sql); err != nil {
		return nil, err
	}
	c := &Cursor{conn: k.inst.conn}
	if err := c.prepare(sql, selects); err != nil {
		c.Close()
		return nil, err
	}
	named := c.preparedColumns()
	exact := exactSQL(sql, named)
	if exact == "" {
		return c, nil
	}
	c.Close()
	return k.prepareExact(exact, named)
}

func (k *Statements) prepareExact(exact string, named []engine.Column) (*Cursor, error) {
	c := &Cursor{conn: k.inst.conn, named: named}
	if err := c.prepare(exact, selects); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// put caches a statement that ran to its end.
func (k *Statements) put(sql string, held heldStatement) {
	k.held.Add(sql, held)
	k.Shrink(maxStatements)
}

// Shrink destroys the least recently used statements beyond limit.
func (k *Statements) Shrink(limit int) {
	for k.held.Len() > limit {
		_, held, _ := k.held.RemoveOldest()
		duck.DestroyPrepare(&held.prepared)
	}
}
