package worlds_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
)

// signature is one overload of a function that users may call.
type signature struct {
	name, kind string
	args       []string
}

// oracle is a session of the engine that knows its functions.
type oracle struct {
	t       testing.TB
	session engine.Session
	empty   string
}

func newOracle(t testing.TB, config config.Settings) *oracle {
	t.Helper()
	eng, err := duckdb.New(t.Context(), duckdb.Options{ExtensionDirs: config.ExtensionDirs(), TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	session, err := eng.Open(t.Context(), engine.SessionOptions{})
	require.NoError(t, err)
	var items []string
	for _, c := range worldSchema() {
		typ, err := deltasql.ParseType(c[1])
		require.NoError(t, err)
		items = append(items, "NULL::"+deltasql.Type(typ).String()+" AS "+c[0])
	}
	return &oracle{t: t, session: session, empty: "SELECT " + strings.Join(items, ", ")}
}

// binds reports whether the types of an expression fit.
func (o *oracle) binds(e string) bool {
	return tryRows(o.t.Context(), o.session, engine.Statement{SQL: "DESCRIBE SELECT " + e + " FROM (" + o.empty + ") t"},
		func([]string) {}) == nil
}

// signatures asks the engine for the overloads of every function that the guard
// lets pass.
func (o *oracle) signatures() []signature {
	o.t.Helper()
	var out []signature
	eachRow(o.t, o.session, engine.Statement{SQL: `SELECT DISTINCT function_name, function_type,
		array_to_string(list_transform(parameter_types, lambda p: coalesce(p, 'ANY')), ';') || CASE WHEN varargs IS NULL THEN '' ELSE ';' || varargs || ';' || varargs END
		FROM system.main.duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL`},
		func(row []string) {
			f, ok := functions.Lookup("scalar", row[0])
			if !ok || f.Class == functions.Deny || f.Class == functions.Volatile || strings.Contains(row[0], "__") {
				return
			}
			s := signature{name: row[0], kind: row[1]}
			for arg := range strings.SplitSeq(row[2], ";") {
				if arg != "" {
					s.args = append(s.args, arg)
				}
			}
			out = append(out, s)
		})
	return out
}

// eachRow runs SQL of the test on a session, with all values as text.
func eachRow(t testing.TB, session engine.Session, st engine.Statement, f func([]string)) {
	t.Helper()
	require.NoError(t, tryRows(t.Context(), session, st, f))
}

func tryRows(ctx context.Context, session engine.Session, st engine.Statement, f func([]string)) error {
	result, err := session.Query(ctx, st)
	if err != nil {
		return err
	}
	defer func() { _ = result.Close() }()
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range int(batch.NumRows()) {
			values := make([]string, batch.NumCols())
			for i := range values {
				if c, ok := batch.Column(i).(*array.String); ok {
					values[i] = strings.Clone(c.Value(row))
				} else {
					values[i] = batch.Column(i).ValueStr(row)
				}
			}
			f(values)
		}
		batch.Release()
	}
}

// operands gives, for a parameter's type, the column of hidden poison, a sound
// column, and constants.
func operands(typ string) (poison, sound string, constants []string) {
	column := func(name string) (string, string) { return "x_" + name, "v_" + name }
	cast := func(name, to string) (string, string) {
		return "CAST(x_" + name + " AS " + to + ")", "CAST(v_" + name + " AS " + to + ")"
	}
	switch typ {
	case "VARCHAR":
		poison, sound = column("s")
		return poison, sound, []string{"'day'", "'a'", "'{}'", "'%Y'", "'1'", "'$.a'"}
	case "BOOLEAN":
		poison, sound = column("b")
		return poison, sound, []string{"true"}
	case "BIGINT":
		poison, sound = column("i64")
		return poison, sound, []string{"1", "3"}
	case "INTEGER":
		poison, sound = column("i32")
		return poison, sound, []string{"1::INT"}
	case "SMALLINT":
		poison, sound = column("i16")
		return poison, sound, []string{"1::SMALLINT"}
	case "TINYINT":
		poison, sound = column("i8")
		return poison, sound, []string{"1::TINYINT"}
	case "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT", "HUGEINT", "UHUGEINT":
		poison, sound = cast("i64", typ)
		return poison, sound, []string{"1::" + typ}
	case "FLOAT":
		poison, sound = column("f32")
		return poison, sound, []string{"1::FLOAT"}
	case "DOUBLE":
		poison, sound = column("f64")
		return poison, sound, []string{"0.5::DOUBLE"}
	case "DECIMAL":
		poison, sound = column("dec")
		return poison, sound, []string{"1.5"}
	case "DATE":
		poison, sound = column("d")
		return poison, sound, []string{"DATE '2020-02-02'"}
	case "TIMESTAMP", "TIMESTAMP_NS":
		poison, sound = cast("ts", typ)
		return poison, sound, []string{"'2020-02-02 00:00:00'::" + typ}
	case "TIMESTAMP WITH TIME ZONE":
		poison, sound = column("ts")
		return poison, sound, []string{"TIMESTAMPTZ '2020-02-02 00:00:00+00'"}
	case "TIME", "TIME WITH TIME ZONE", "TIME_NS":
		poison, sound = cast("ts", "TIME")
		return poison, sound, []string{"TIME '01:02:03'"}
	case "INTERVAL":
		return "to_months(x_i32)", "to_days(v_i32)", []string{"INTERVAL 1 DAY"}
	case "BLOB":
		poison, sound = column("bin")
		return poison, sound, []string{"'a'::BLOB"}
	case "BIT":
		poison, _ = cast("s", "BIT")
		return poison, "v_i8::BIT", []string{"'101'::BIT"}
	case "UUID":
		poison, _ = cast("s", "UUID")
		return poison, "NULL::UUID", []string{"'00000000-0000-0000-0000-000000000001'::UUID"}
	case "JSON":
		poison, _ = cast("s", "JSON")
		return poison, "to_json(v_s)", []string{`'{"a": 1}'::JSON`}
	case "VARCHAR[]", "ANY[]", "T[]", "K[]", "V[]":
		poison, sound = column("ls")
		return poison, sound, []string{"['a', 'b']"}
	case "BIGINT[]":
		poison, sound = column("li")
		return poison, sound, []string{"[1, 2]"}
	case "DOUBLE[]", "FLOAT[]", "BOOLEAN[]", "FLOAT[3]", "DOUBLE[3]":
		poison, sound = cast("li", typ)
		return poison, sound, []string{"[1, 2, 3]::" + typ}
	case "FLOAT[ANY]", "DOUBLE[ANY]":
		typ = strings.Replace(typ, "ANY", "3", 1)
		poison, sound = cast("li", typ)
		return poison, sound, []string{"[1, 2, 3]::" + typ}
	case "T[][]":
		return "[x_ls]", "[v_ls]", []string{"[['a']]"}
	case "MAP(K, V)":
		poison, sound = column("mp")
		return poison, sound, []string{"MAP {'a': 1}"}
	case "STRUCT(K, V)[]":
		return "map_entries(x_mp)", "map_entries(v_mp)", []string{"map_entries(MAP {'a': 1})"}
	case "STRUCT":
		poison, sound = column("st")
		return poison, sound, []string{"{'a': 1, 'b': 'x'}"}
	case "LAMBDA":
		return "lambda q: CASE WHEN q IS NULL THEN NULL ELSE q[1:1] || x_s END IS NULL", "lambda q: q IS NULL", []string{"lambda q: q = 'a'"}
	}
	return "", "", nil
}

// anyOperands are the types that are tried where a parameter takes every type.
var anyOperands = []string{"VARCHAR", "BIGINT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "BIGINT[]", "BLOB",
	"STRUCT", "MAP(K, V)", "BOOLEAN"}

// Call prints a call of s in which the argument at poisoned (all when it is -1)
// comes from the hidden poison and the others from sound columns or constants.
func (s signature) Call(poisoned int, r *rand.Rand) (string, bool) {
	// Equal type variables stand for one type in one call.
	anything := anyOperands[r.IntN(len(anyOperands))]
	for _, typ := range s.args {
		switch typ {
		case "T[]", "ANY[]", "LAMBDA":
			anything = "VARCHAR"
			if slices.Contains(s.args[1:], "ANY") && r.IntN(2) == 0 {
				anything = "BIGINT"
			}
		case "MAP(K, V)":
			anything = "VARCHAR"
		}
	}
	args := make([]string, len(s.args))
	for i, typ := range s.args {
		switch typ {
		case "ANY", "T", "K", "V", "UNION", "TYPE":
			typ = anything
			switch {
			case s.kind == "macro" && i == 0 && (strings.HasPrefix(s.name, "list_") || strings.HasPrefix(s.name, "array_")):
				typ = []string{"VARCHAR[]", "BIGINT[]"}[r.IntN(2)]
			case s.kind == "macro" && r.IntN(2) == 0:
				typ = anyOperands[r.IntN(len(anyOperands))]
			}
		}
		poison, sound, constants := operands(typ)
		if poison == "" {
			return "", false
		}
		choice := constants[r.IntN(len(constants))]
		if r.IntN(3) == 0 {
			choice = sound
		}
		if poisoned == i || poisoned == -1 {
			choice = poison
		}
		args[i] = choice
	}
	if s.name[0] != '_' && (s.name[0] < 'a' || s.name[0] > 'z') && (s.name[0] < 'A' || s.name[0] > 'Z') {
		return infix(s.name, args)
	}
	return s.name + "(" + strings.Join(args, ", ") + ")", true
}

func infix(op string, args []string) (string, bool) {
	switch {
	case len(args) == 1 && op != "*" && op != "||":
		return "(" + op + " " + args[0] + ")", true
	case len(args) == 2:
		return "(" + args[0] + " " + op + " " + args[1] + ")", true
	}
	return "", false
}

// expression is a generated expression.
type expression struct {
	function  string
	sql       string
	aggregate bool
}

// expressions yields about n calls that bind, in an order that the seed decides:
// at first one of each function, then another of each, and so on.
func (o *oracle) expressions(all []signature, seed uint64, n int) []expression {
	r := rand.New(rand.NewPCG(seed, 7))
	byName := map[string][]expression{}
	var names []string
	seen := map[string]bool{}
	for _, s := range all {
		if _, ok := byName[s.name]; !ok {
			names = append(names, s.name)
			byName[s.name] = nil
		}
		for at := -1; at < max(len(s.args), 1); at++ {
			for range 3 {
				if sql, ok := s.Call(at, r); ok && !seen[sql] {
					seen[sql] = true
					byName[s.name] = append(byName[s.name], expression{s.name, sql, s.kind == "aggregate"})
				}
			}
		}
	}
	for _, name := range names {
		list := byName[name]
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	var out []expression
	for len(out) < n {
		before := len(out)
		for _, name := range names {
			for tries := 0; tries < 12 && len(byName[name]) > 0; tries++ {
				e := byName[name][0]
				byName[name] = byName[name][1:]
				if o.binds(e.sql) {
					out = append(out, e)
					break
				}
			}
		}
		if len(out) == before {
			break
		}
	}
	return out
}
