package native

import (
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// Cursor is one running statement on a connection. Its methods block until DuckDB answers; a
// [Guard] stops it early.
type Cursor struct {
	conn     duck.Connection
	prepared duck.PreparedStatement
	result   duck.Result
	options  duck.ArrowOptions
	Schema   *arrow.Schema
	Columns  []engine.Column
	// named are the columns of the original statement if the one that runs is that of exactSQL.
	named []engine.Column
	// keep, if set, takes over the prepared statement after it has run to its end.
	keep func()
	// live reports whether DuckDB holds tasks and buffers of the statement.
	live bool
	err  error
}

// selects admits SELECT, the only type of statement that callers may run.
func selects(t duck.StatementType) bool { return t == duck.StatementTypeSelect }

// explains admits EXPLAIN. The type does not reveal the explained statement, which
// EXPLAIN ANALYZE executes.
func explains(t duck.StatementType) bool { return t == duck.StatementTypeExplain }

// Writes admits COPY, for data files.
func Writes(t duck.StatementType) bool { return t == duck.StatementTypeCopy }

// Creates admits CREATE TABLE AS, for filtered copies.
func Creates(t duck.StatementType) bool { return t == duck.StatementTypeCreate }

// Open prepares the one statement in sql, binds args and starts it. step is called between the
// phases; its error ends the statement.
func (in *Instance) Open(sql string, args engine.Args, allowed func(duck.StatementType) bool, step func() error) (*Cursor, error) {
	if err := CheckText(sql); err != nil {
		return nil, err
	}
	c := &Cursor{conn: in.conn}
	if err := c.prepare(sql, allowed); err != nil {
		c.Close()
		return nil, err
	}
	if err := c.start(args, step); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Measure runs the single query in sql and returns the engine's measurements. It first
// checks that sql is a single query.
func (in *Instance) Measure(sql string, args engine.Args, step func() error) (*Cursor, error) {
	if err := CheckText(sql); err != nil {
		return nil, err
	}
	c := &Cursor{conn: in.conn}
	err := c.prepare(sql, selects)
	c.Close()
	if err != nil {
		return nil, err
	}
	return in.Open("EXPLAIN (ANALYZE, FORMAT json) "+sql, args, explains, step)
}

// start binds args to the prepared statement and starts it.
func (c *Cursor) start(args engine.Args, step func() error) error {
	if err := step(); err != nil {
		return err
	}
	if err := bindArgs(c.prepared, args); err != nil {
		return err
	}
	if err := c.execute(); err != nil {
		return err
	}
	return c.Describe()
}

// prepare refuses anything but exactly one statement before any of it runs: the
// engine's own prepare would execute all statements but the last.
func (c *Cursor) prepare(sql string, allowed func(duck.StatementType) bool) error {
	var extracted duck.ExtractedStatements
	defer duck.DestroyExtracted(&extracted)
	count := duck.ExtractStatements(c.conn, sql, &extracted)
	if count == 0 {
		if text := duck.ExtractStatementsError(extracted); text != "" {
			err := c.translate(text)
			if err.Kind == engine.KindSyntax {
				err.Position = ByteOffset(sql, err.Position)
			}
			return err
		}
	}
	if count != 1 {
		return &engine.Error{Kind: engine.KindNotSelect, Class: "not_one_statement", Position: -1}
	}
	if duck.PrepareExtractedStatement(c.conn, extracted, 0, &c.prepared) != duck.StateSuccess {
		return c.translate(duck.PrepareError(c.prepared))
	}
	if t := duck.PreparedStatementType(c.prepared); !allowed(t) {
		return &engine.Error{Kind: engine.KindNotSelect, Class: "not_select", Position: -1}
	}
	return nil
}

// execute starts the statement as a stream. The pending result is destroyed once the first rows are
// ready.
func (c *Cursor) execute() error {
	var pending duck.PendingResult
	defer duck.DestroyPending(&pending)
	if duck.PendingPreparedStreaming(c.prepared, &pending) != duck.StateSuccess {
		return c.translate(duck.PendingError(pending))
	}
	work(pending)
	if duck.ExecutePending(pending, &c.result) != duck.StateSuccess {
		return c.translate(duck.ResultError(&c.result))
	}
	c.live = true
	return nil
}

// work runs tasks of a statement until its result can be read or it has failed. While other threads
// run the last tasks it sleeps, each time for at most waitShare of the time that it has waited
// already: DuckDB's own loop polls, which occupies a whole processor.
func work(pending duck.PendingResult) {
	var since time.Time
	for {
		switch duck.PendingExecuteTask(pending) {
		case duck.PendingStateResultNotReady:
			since = time.Time{}
		case duck.PendingStateNoTasksAvailable:
			if since.IsZero() {
				since = time.Now()
			}
			if wait := time.Since(since) / waitShare; wait < waitLeast {
				runtime.Gosched()
			} else {
				time.Sleep(min(wait, waitMost)) //nolint:forbidigo // the engine has no notification of their end
			}
		default:
			return
		}
	}
}

const (
	waitShare           = 16
	waitLeast, waitMost = 10 * time.Microsecond, time.Millisecond
)

// Describe reads the result's columns and builds their Arrow schema.
func (c *Cursor) Describe() error {
	n := duck.ColumnCount(&c.result)
	names := make([]string, n)
	types := make([]duck.LogicalType, n)
	defer func() {
		for i := range types {
			duck.DestroyLogicalType(&types[i])
		}
	}()
	c.Columns = make([]engine.Column, n)
	for i := range n {
		names[i] = duck.ColumnName(&c.result, i)
		types[i] = duck.ColumnLogicalType(&c.result, i)
		c.Columns[i] = engine.Column{Name: names[i], Type: TypeOf(types[i]), Nullable: true}
		if c.named != nil {
			names[i], c.Columns[i] = c.named[i].Name, c.named[i]
		}
	}
	c.options = duck.ResultGetArrowOptions(&c.result)
	schema, failed := duck.NewArrowSchema(c.options, types, names)
	if err := errorData(failed); err != nil {
		return err
	}
	for _, f := range schema.Fields() {
		if deeperThan(maxResultDepth, f.Type) {
			return &engine.Error{Kind: engine.KindBind, Class: "type_too_deep", Position: -1}
		}
	}
	c.Schema = schema
	return nil
}

// Next returns the next batch or io.EOF. DuckDB returns no chunk both at the end and after a
// failure; only the result's error distinguishes them.
func (c *Cursor) Next() (arrow.RecordBatch, error) {
	if c.err != nil {
		return nil, c.err
	}
	for {
		chunk := duck.FetchChunk(c.result)
		if chunk.Ptr == nil {
			c.err = io.EOF
			if text := duck.ResultError(&c.result); text != "" {
				c.err = c.translate(text)
			}
			c.live = false
			return nil, c.err
		}
		if duck.DataChunkGetSize(chunk) == 0 {
			duck.DestroyDataChunk(&chunk)
			continue
		}
		batch, failed := duck.DataChunkToArrowArray(c.options, c.Schema, chunk)
		duck.DestroyDataChunk(&chunk)
		if err := errorData(failed); err != nil {
			c.err = err
			return nil, c.err
		}
		clearNulls(batch)
		return batch, nil
	}
}

// Close frees the statement. If a result is closed before its end, DuckDB retains its tasks and
// buffers until the connection starts another statement, so Close starts one.
func (c *Cursor) Close() {
	live := c.live
	c.live = false
	if live {
		duck.Interrupt(c.conn)
	}
	duck.DestroyArrowOptions(&c.options)
	duck.DestroyResult(&c.result)
	if c.keep != nil && errors.Is(c.err, io.EOF) {
		c.keep()
		c.prepared = duck.PreparedStatement{}
	} else {
		duck.DestroyPrepare(&c.prepared)
	}
	c.keep = nil
	if live {
		var res duck.Result
		duck.Query(c.conn, "SELECT 1", &res)
		duck.DestroyResult(&res)
	}
	if c.err == nil {
		c.err = io.EOF
	}
}

// translate is [translate] with a position in the original statement.
func (c *Cursor) translate(text string) *engine.Error {
	err := translate(text)
	if c.named != nil && err.Position >= 0 {
		err.Position = max(err.Position-len(exactPrefix), -1)
	}
	return err
}

func errorData(data duck.ErrorData) error {
	defer duck.DestroyErrorData(&data)
	if data.Ptr == nil || !duck.ErrorDataHasError(data) {
		return nil
	}
	return translate(duck.ErrorDataMessage(data))
}

// maxResultDepth bounds the nesting of result types. Arrow's encoder fails at 64 levels, of which a
// map takes two, and would do so only after rows were sent.
const maxResultDepth = 60

// deeperThan reports whether a type nests more than n levels.
func deeperThan(n int, t arrow.DataType) bool {
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return false
	}
	if n == 0 {
		return true
	}
	if m, ok := t.(*arrow.MapType); ok {
		return deeperThan(n-1, m.ElemField().Type) // the struct of key and value
	}
	for _, f := range nested.Fields() {
		if deeperThan(n-1, f.Type) {
			return true
		}
	}
	return false
}
