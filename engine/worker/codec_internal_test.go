package worker

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
)

// exact compares messages: a missing list is an empty one, NaN is NaN.
var exact = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(engine.FileList{})}

// anything draws a value of type t by reflection, so that a field that the codec
// does not know fails the test on the day it is added.
func anything(t *rapid.T, typ reflect.Type) reflect.Value {
	out := reflect.New(typ).Elem()
	if typ == reflect.TypeFor[engine.Args]() {
		out.Set(reflect.ValueOf(engine.Args{
			Positional: rapid.SliceOfN(argument(2), 0, 4).Draw(t, "positional"),
			Named:      rapid.MapOfN(text(), argument(2), 0, 4).Draw(t, "named"),
		}))
		return out
	}
	if typ == reflect.TypeFor[engine.FieldID]() {
		out.Set(reflect.ValueOf(fieldID(2).Draw(t, "field")))
		return out
	}
	switch typ.Kind() {
	case reflect.String:
		out.SetString(text().Draw(t, "text"))
	case reflect.Uint8:
		out.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Int, reflect.Int64:
		out.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Bool:
		out.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			out.Set(reflect.New(typ.Elem()))
			out.Elem().Set(anything(t, typ.Elem()))
		}
	case reflect.Slice:
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			out.Set(reflect.Append(out, anything(t, typ.Elem())))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(typ))
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			out.SetMapIndex(anything(t, typ.Key()), anything(t, typ.Elem()))
		}
	case reflect.Struct:
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() {
				out.Field(i).Set(anything(t, typ.Field(i).Type))
			}
		}
	default:
		t.Fatalf("no way to draw a %s", typ)
	}
	return out
}

// fieldID draws a field whose members are nested that deep.
func fieldID(depth int) *rapid.Generator[engine.FieldID] {
	return rapid.Custom(func(t *rapid.T) engine.FieldID {
		f := engine.FieldID{Column: text().Draw(t, "column"), ID: rapid.Int().Draw(t, "id"), Void: rapid.Bool().Draw(t, "void")}
		if depth > 0 {
			f.Children = rapid.SliceOfN(fieldID(depth-1), 0, 2).Draw(t, "children")
		}
		return f
	})
}

// text draws any bytes: a path need not be UTF-8.
func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes")) })
}

// argument draws every kind of value that the contract has.
func argument(depth int) *rapid.Generator[any] {
	number := rapid.Custom(func(t *rapid.T) json.Number {
		return json.Number(rapid.StringMatching(`-?[0-9]{1,40}(\.[0-9]{1,5})?(e[0-9])?`).Draw(t, "number"))
	})
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), text().AsAny(), number.AsAny(),
		rapid.Just[any](math.NaN()), rapid.Just[any](math.Inf(-1)), rapid.Just[any](math.Copysign(0, -1)),
		rapid.SliceOfN(rapid.Bool(), 0, 3).AsAny(), rapid.SliceOfN(rapid.Int64(), 0, 3).AsAny(), rapid.SliceOfN(rapid.Float64(), 0, 3).AsAny(),
		rapid.SliceOfN(text(), 0, 3).AsAny(), rapid.SliceOfN(number, 0, 3).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.SliceOfN(argument(depth-1), 0, 3).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// roundTrip checks that every value of T arrives as it was sent, and that no part
// of its message is taken for the whole.
func roundTrip[T any](t *testing.T, write func(*encoder, T), read func(*decoder) T) {
	t.Run(reflect.TypeFor[T]().String(), rapid.MakeCheck(func(t *rapid.T) {
		want := anything(t, reflect.TypeFor[T]()).Interface().(T)
		var e encoder
		write(&e, want)
		d := decoder{b: e.b}
		got := read(&d)
		require.NoError(t, d.done())
		require.Empty(t, cmp.Diff(want, got, exact))
		if len(e.b) > 0 {
			cut := decoder{b: e.b[:rapid.IntRange(0, len(e.b)-1).Draw(t, "cut")]}
			read(&cut)
			require.ErrorIs(t, cut.done(), errWire)
		}
	}))
}

func TestMessagesArriveAsSent(t *testing.T) {
	roundTrip(t, (*encoder).statement, (*decoder).statement)
	roundTrip(t, (*encoder).sessionOptions, (*decoder).sessionOptions)
	roundTrip(t, (*encoder).columns, (*decoder).columns)
	roundTrip(t, (*encoder).writeStatement, (*decoder).writeStatement)
	roundTrip(t, (*encoder).dataFiles, (*decoder).dataFiles)
	roundTrip(t, func(e *encoder, v engine.Error) { e.failure(&v) }, func(d *decoder) engine.Error {
		var own *engine.Error
		if errors.As(d.failure(), &own) {
			return *own
		}
		return engine.Error{}
	})
}

func TestFileListKeepsItsAddress(t *testing.T) {
	value := "1"
	list := engine.NewFileList([]engine.Column{{Name: "a", Type: "BIGINT"}}, true,
		[]engine.FileGroup{{Partition: map[string]*string{"p": &value, "q": nil}, Paths: []string{"x", "\xff"}}})
	for _, l := range []*engine.FileList{list, list.WithPositions(engine.PositionColumns{File: "f", Row: "r"})} {
		src := engine.Source{Location: "/t", Version: 7, Incarnation: "i", Files: l}
		var e encoder
		e.source(src)
		d := decoder{b: e.b}
		require.Equal(t, src.Database(), d.source().Database())
		require.NoError(t, d.done())
	}
}

// TestMalformedMessages: whatever a child sends, the parent reads an error.
func TestMalformedMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bytes")
		for _, read := range []func(*decoder){
			func(d *decoder) { d.statement() }, func(d *decoder) { d.dataFiles() }, func(d *decoder) { _ = d.failure() },
			func(d *decoder) { d.columns() }, func(d *decoder) { d.sessionOptions() }, func(d *decoder) { d.writeStatement() },
		} {
			read(&decoder{b: b})
		}
	})
}

func TestErrorsWithACodeOfTheirOwn(t *testing.T) {
	var e encoder
	e.failure(&codedError{text: "extension gone", code: "engine_failed"})
	d := decoder{b: e.b}
	var coded interface{ ProblemCode() string }
	require.ErrorAs(t, d.failure(), &coded)
	require.Equal(t, "engine_failed", coded.ProblemCode())
}
