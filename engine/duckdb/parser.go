package duckdb

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

var _ engine.Parser = (*Parser)(nil)

// MaxSQL is the longest text that a parser takes, in bytes.
const MaxSQL = 256 << 10

const (
	parserInstances = 2
	parserMemory    = "512MB"
	// Names are qualified and the text is bound, so that nothing in the text can replace the
	// function that parses it.
	serializeSQL   = `SELECT system.main.json_serialize_sql($1::VARCHAR)`
	deserializeSQL = `SELECT system.main.json_deserialize_sql($1::VARCHAR)`
)

// Parser parses and prints SQL on instances of its own, without tables, extensions and access
// to files. It is safe for concurrent use.
type Parser struct {
	// pool holds the instances that are not in use; nil is one that is not open yet.
	pool    chan *parserInstance
	closing chan struct{}
	close1  sync.Once
}

// NewParser returns a parser. Its instances open on first use.
func NewParser() *Parser {
	p := &Parser{pool: make(chan *parserInstance, parserInstances), closing: make(chan struct{})}
	for range parserInstances {
		p.pool <- nil
	}
	return p
}

// Serialize parses sql into DuckDB's JSON tree.
func (p *Parser) Serialize(ctx context.Context, sql string) ([]byte, error) {
	if len(sql) > MaxSQL {
		return nil, &engine.Error{Kind: engine.KindSyntax, Class: "too_long", Position: MaxSQL, Text: "longer than " +
			strconv.Itoa(MaxSQL) + " bytes"}
	}
	if err := native.CheckText(sql); err != nil {
		return nil, err
	}
	var tree []byte
	err := p.call(ctx, serializeSQL, sql, func(reply engine.Row) { tree = reply.Bytes(0) })
	if err != nil {
		if e := native.AsError(err); e != nil && e.Kind == engine.KindSyntax {
			e.Position = native.ByteOffset(sql, e.Position)
		}
		return nil, err
	}
	if err := refusal(sql, tree); err != nil {
		return nil, err
	}
	return tree, nil
}

// Deserialize prints tree as SQL. A tree that cannot be printed is a defect of the code that
// built it.
func (p *Parser) Deserialize(ctx context.Context, tree []byte) (string, error) {
	text := string(tree)
	if err := native.CheckText(text); err != nil {
		return "", native.InternalError("tree", native.AsError(err).Text)
	}
	var sql string
	err := p.call(ctx, deserializeSQL, text, func(reply engine.Row) { sql = reply.Text(0) })
	if e := native.AsError(err); e != nil && e.Kind != engine.KindInterrupted && e.Kind != engine.KindFatal {
		return "", native.InternalError("tree", e.Text)
	}
	return sql, err
}

// Close waits for calls under way and frees the instances. It is idempotent.
func (p *Parser) Close() error {
	p.close1.Do(func() {
		close(p.closing)
		for range parserInstances {
			if in := <-p.pool; in != nil {
				in.close()
			}
		}
	})
	return nil
}

// call runs one of the two functions on a free instance.
func (p *Parser) call(ctx context.Context, sql, arg string, take func(reply engine.Row)) error {
	var in *parserInstance
	select {
	case <-p.closing:
		return engine.Interrupted(engine.CauseClosed)
	case <-ctx.Done():
		return engine.Interrupted(engine.CauseContext)
	case in = <-p.pool:
	}
	defer func() { p.pool <- in }()
	if in == nil {
		opened, err := openParser()
		if err != nil {
			return err
		}
		in = opened
	}
	g := native.NewGuard(ctx, p.closing, 0, in.Instance, nil)
	defer g.End()
	c, err := in.statements.Open(sql, engine.Args{Positional: []any{arg}}, g.Err)
	if err == nil {
		err = c.Each(func(r engine.Row) error {
			take(r)
			return nil
		})
		c.Close()
	}
	if err != nil {
		err = g.InterruptCause(err)
		if e := native.AsError(err); e != nil && e.Kind == engine.KindFatal {
			g.End()
			in.close()
			in = nil
		}
		return err
	}
	return nil
}

// parserInstance is an instance that caches both statements: to prepare one costs as
// much as to parse a small statement.
type parserInstance struct {
	*native.Instance
	statements *native.Statements
}

func openParser() (*parserInstance, error) {
	config := native.BaseConfig()
	config["memory_limit"] = parserMemory
	opened, err := native.Open(config)
	if err != nil {
		return nil, err
	}
	if err := opened.Exec("SET enable_external_access=false; SET lock_configuration=true"); err != nil {
		opened.Close()
		return nil, err
	}
	return &parserInstance{opened, native.NewStatements(opened)}, nil
}

func (in *parserInstance) close() {
	in.statements.Shrink(0)
	in.Instance.Close()
}

// refusal returns the error that a reply describes, if any. Only a reply that begins like an
// error is decoded.
func refusal(sql string, reply []byte) error {
	if !bytes.HasPrefix(reply, []byte(`{"error":true`)) {
		return nil
	}
	var r struct {
		Type     string `json:"error_type"`
		Message  string `json:"error_message"`
		Position string `json:"position"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return native.InternalError("tree", err.Error())
	}
	out := &engine.Error{Kind: engine.KindSyntax, Class: "syntax", Position: -1, Text: native.Clip(r.Message)}
	if r.Type == "not implemented" {
		out.Kind, out.Class = engine.KindNotSelect, "not_select"
	}
	if n, err := strconv.Atoi(r.Position); err == nil {
		out.Position = native.ByteOffset(sql, n)
	}
	return out
}
