package duckdb

import (
	"maps"
	"slices"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// instance is one in-memory database with one connection. Its methods block and
// are not safe for concurrent use, except interrupt.
type instance struct {
	db   duck.Database
	conn duck.Connection
}

// baseConfig holds for every instance, whatever it is for.
func baseConfig() map[string]string {
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

// openInstance opens an empty database. config must be complete: nothing is
// inherited from the environment or from another instance.
func openInstance(config map[string]string) (*instance, error) {
	var cfg duck.Config
	if duck.CreateConfig(&cfg) != duck.StateSuccess {
		return nil, internalError("open", "configuration could not be created")
	}
	defer duck.DestroyConfig(&cfg)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if duck.SetConfig(cfg, name, config[name]) != duck.StateSuccess {
			return nil, internalError("open", "setting refused: "+name)
		}
	}
	in := &instance{}
	var message string
	if duck.OpenExt(":memory:", &in.db, cfg, &message) != duck.StateSuccess {
		duck.Close(&in.db)
		return nil, translate(message)
	}
	if duck.Connect(in.db, &in.conn) != duck.StateSuccess {
		duck.Close(&in.db)
		return nil, internalError("open", "connection refused")
	}
	return in, nil
}

// close destroys the connection and the database. No call may be under way.
func (in *instance) close() {
	duck.Disconnect(&in.conn)
	duck.Close(&in.db)
}

// exec runs statements of ours whose results do not matter.
func (in *instance) exec(sql string) error {
	if err := checkText(sql); err != nil {
		return err
	}
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.Query(in.conn, sql, &res) != duck.StateSuccess {
		return translate(duck.ResultError(&res))
	}
	return nil
}

// execOne runs one statement that holds text of somebody else's making, and
// refuses to run any of it if that text turns out to be more than one.
func (in *instance) execOne(sql string) error {
	if err := in.onlyOne(sql); err != nil {
		return err
	}
	return in.exec(sql)
}

// onlyOne refuses text that is not exactly one statement.
func (in *instance) onlyOne(sql string) error {
	if err := checkText(sql); err != nil {
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

// int64s returns the first column of a small result, NULL as 0.
func (in *instance) int64s(sql string) ([]int64, error) {
	var out []int64
	err := in.each(sql, engine.Args{}, func(r rowReader) error {
		out = append(out, r.int64(0))
		return nil
	})
	return out, err
}

// register makes the scalar function f, whose name is given, known to the database.
func (in *instance) register(f duck.ScalarFunction, name string) error {
	if duck.RegisterScalarFunction(in.conn, f) != duck.StateSuccess {
		return internalError("open", "function refused: "+name)
	}
	return nil
}

// columnOf returns the values of a flat column of a chunk that has n rows. They are
// valid as long as the chunk.
func columnOf[T any](chunk duck.DataChunk, column duck.IdxT, n int) []T {
	return unsafe.Slice((*T)(duck.VectorGetData(duck.DataChunkGetVector(chunk, column))), n)
}
