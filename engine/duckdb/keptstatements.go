package duckdb

import (
	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

const (
	// maxKeptStatements is how many prepared statements a cell keeps.
	maxKeptStatements = 16
	// maxKeptText bounds the text of each, in bytes.
	maxKeptText = 16 << 10
)

// keptStatements are the prepared statements that a cell ran last, by their text:
// a program sends the same again and again. The engine plans one anew where that
// is called for: for other values of parameters, for functions of the time, and
// after any change of what there is under the names in it. One that is running, or
// that did not run to its end, is not among them.
type keptStatements struct {
	inst  *instance
	names *recent
	held  map[string]duck.PreparedStatement
}

func newKeptStatements(in *instance) *keptStatements {
	return &keptStatements{inst: in, names: newRecent(), held: map[string]duck.PreparedStatement{}}
}

// open is that of the instance, for a statement that callers run.
func (k *keptStatements) open(sql string, args engine.Args, step func() error) (*cursor, error) {
	prepared, ok := k.held[sql]
	if !ok {
		c, err := k.inst.open(sql, args, selects, step)
		if err == nil && len(sql) <= maxKeptText {
			c.keep = func() { k.put(sql, c.prepared) }
		}
		return c, err
	}
	k.names.remove(sql)
	delete(k.held, sql)
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
	k.names.add(sql)
	k.held[sql] = prepared
	k.shrink(maxKeptStatements)
}

// shrink destroys the least recently used statements beyond the limit.
func (k *keptStatements) shrink(limit int) {
	for _, sql := range k.names.excess(limit, nil) {
		prepared := k.held[sql]
		duck.DestroyPrepare(&prepared)
		k.names.remove(sql)
		delete(k.held, sql)
	}
}
