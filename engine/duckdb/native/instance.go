package native

import (
	"maps"
	"slices"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// Instance is one in-memory database with one connection. Its methods block and are not safe for
// concurrent use, except interrupt.
type Instance struct {
	db   duck.Database
	conn duck.Connection
}

// BaseConfig returns the settings of every instance, whatever its purpose.
func BaseConfig() map[string]string {
	return map[string]string{
		"autoload_known_extensions":    "false",
		"autoinstall_known_extensions": "false",
		"allow_community_extensions":   "false",
		"allow_persistent_secrets":     "false",
		"errors_as_json":               "true",
		"preserve_insertion_order":     "true",
		"threads":                      "1",
	}
}

// Open opens an empty database. config must be complete: no settings are taken from the environment
// or from another instance.
func Open(config map[string]string) (*Instance, error) {
	var cfg duck.Config
	if duck.CreateConfig(&cfg) != duck.StateSuccess {
		return nil, InternalError("open", "configuration could not be created")
	}
	defer duck.DestroyConfig(&cfg)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if duck.SetConfig(cfg, name, config[name]) != duck.StateSuccess {
			return nil, InternalError("open", "setting refused: "+name)
		}
	}
	in := &Instance{}
	var message string
	if duck.OpenExt(":memory:", &in.db, cfg, &message) != duck.StateSuccess {
		duck.Close(&in.db)
		return nil, translate(message)
	}
	if duck.Connect(in.db, &in.conn) != duck.StateSuccess {
		duck.Close(&in.db)
		return nil, InternalError("open", "connection refused")
	}
	return in, nil
}

// Close destroys the connection and the database. No call may be running.
func (in *Instance) Close() {
	duck.Disconnect(&in.conn)
	duck.Close(&in.db)
}

// Exec runs statements of the server whose results are irrelevant.
func (in *Instance) Exec(sql string) error {
	if err := CheckText(sql); err != nil {
		return err
	}
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.Query(in.conn, sql, &res) != duck.StateSuccess {
		return translate(duck.ResultError(&res))
	}
	return nil
}

// ExecOne runs one statement that contains text from elsewhere. It runs nothing if the text
// consists of several statements.
func (in *Instance) ExecOne(sql string) error {
	if err := in.OnlyOne(sql); err != nil {
		return err
	}
	return in.Exec(sql)
}

// OnlyOne refuses text that is not exactly one statement.
func (in *Instance) OnlyOne(sql string) error {
	if err := CheckText(sql); err != nil {
		return err
	}
	var extracted duck.ExtractedStatements
	defer duck.DestroyExtracted(&extracted)
	switch count := duck.ExtractStatements(in.conn, sql, &extracted); {
	case count == 1:
		return nil
	case count == 0:
		if text := duck.ExtractStatementsError(extracted); text != "" {
			return translate(text)
		}
	}
	return &engine.Error{Kind: engine.KindNotSelect, Class: "not_one_statement", Position: -1}
}

// Int64s returns the first column of a small result, NULL as 0.
func (in *Instance) Int64s(sql string) ([]int64, error) {
	var out []int64
	err := in.Each(sql, engine.Args{}, func(r engine.Row) error {
		out = append(out, r.Int64(0))
		return nil
	})
	return out, err
}

// Register registers the scalar function f, which must have this name, with the database.
func (in *Instance) Register(f duck.ScalarFunction, name string) error {
	if duck.RegisterScalarFunction(in.conn, f) != duck.StateSuccess {
		return InternalError("open", "function refused: "+name)
	}
	return nil
}

// Column returns the values of a flat column of a chunk with n rows. They are valid as long as the
// chunk.
func Column[T any](chunk duck.DataChunk, column duck.IdxT, n int) []T {
	return unsafe.Slice((*T)(duck.VectorGetData(duck.DataChunkGetVector(chunk, column))), n)
}
