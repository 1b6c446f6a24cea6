package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
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
	if typ == reflect.TypeFor[sqltype.Type]() {
		out.Set(reflect.ValueOf(sqltype.MustParse(rapid.SampledFrom([]string{
			"BIGINT", "DECIMAL(12,2)", `STRUCT("a b" INTEGER[], c MAP(VARCHAR, DATE[3]))`, "ENUM('a', 'b')", "TIMESTAMP WITH TIME ZONE",
		}).Draw(t, "type"))))
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
func roundTrip[T any](t *testing.T, write func(T) []byte, read func([]byte) (T, error)) {
	t.Run(reflect.TypeFor[T]().String(), rapid.MakeCheck(func(t *rapid.T) {
		want := anything(t, reflect.TypeFor[T]()).Interface().(T)
		message := write(want)
		got, err := read(message)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got, exact))
		_, err = read(message[:rapid.IntRange(0, len(message)-1).Draw(t, "cut")])
		require.ErrorIs(t, err, errWire)
	}))
}

// plain reads a message that holds a T and nothing else.
func plain[T any](message []byte) (out T, err error) {
	err = decode(message, &out)
	return out, err
}

// reply reads a message of a child that holds a T and nothing else.
func reply[T any](message []byte) (out T, err error) {
	err = decodeReply(message, &out)
	return out, err
}

func TestMessagesArriveAsSent(t *testing.T) {
	roundTrip(t, (*sentSources)(nil).statement, new(heldSources).statement)
	roundTrip(t, func(o engine.SessionOptions) []byte { return encode(o) }, plain[engine.SessionOptions])
	roundTrip(t, func(m columnsMessage) []byte { return encode(m) }, reply[columnsMessage])
	roundTrip(t, func(f engine.DataFile) []byte { return encode(f) }, reply[engine.DataFile])
	roundTrip(t, func(v engine.Error) []byte { return encode(newFailure(false, &v)) }, func(message []byte) (engine.Error, error) {
		m, err := reply[failureMessage](message)
		if err != nil {
			return engine.Error{}, err
		}
		return *m.Engine, nil
	})
}

func TestValuesOutsideTheContractStayUnbindable(t *testing.T) {
	for _, v := range []any{uint8(1), map[string]any{}, struct{}{}, []uint16{1}, []any{int64(1), int32(2)}} {
		message := (*sentSources)(nil).statement(engine.WriteStatement{Statement: engine.Statement{Args: engine.Args{Positional: []any{v}}}})
		got, err := new(heldSources).statement(message)
		require.NoError(t, err)
		value := got.Args.Positional[0]
		if list, ok := value.([]any); ok {
			value = list[1]
		}
		require.Equal(t, unbindable{}, value)
	}
}

func TestFileListKeepsItsAddress(t *testing.T) {
	value := "1"
	list := engine.NewFileList([]engine.Column{{Name: "a", Type: sqltype.BigInt}}, true,
		[]engine.FileGroup{{Partition: map[string]*string{"p": &value, "q": nil}, Paths: []string{"x", "\xff"}}})
	for _, l := range []*engine.FileList{list, list.WithPositions(engine.PositionColumns{File: "f", Row: "r"})} {
		src := engine.Source{Location: "/t", Version: 7, Identity: "i", Files: l}
		st := engine.WriteStatement{Statement: engine.Statement{Sources: []engine.Source{src}}}
		got, err := new(heldSources).statement((*sentSources)(nil).statement(st))
		require.NoError(t, err)
		require.Equal(t, src.Database(), got.Sources[0].Database())
	}
}

// replies read the messages of children.
var replies = []func([]byte) error{
	func(b []byte) error { _, err := reply[columnsMessage](b); return err },
	func(b []byte) error { _, err := dataFile(frame{kind: kindFile, head: b}); return err },
	func(b []byte) error { _, err := reply[int64](b); return err },
	func(b []byte) error {
		m, err := reply[failureMessage](b)
		_ = m.err()
		return err
	},
}

// readers read the messages of parents and children.
var readers = append([]func([]byte) error{
	func(b []byte) error { _, err := new(heldSources).statement(b); return err },
	func(b []byte) error { _, err := plain[engine.SessionOptions](b); return err },
}, replies...)

// TestMalformedMessages reads messages of any bytes: none makes a reader panic.
func TestMalformedMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bytes")
		for _, read := range readers {
			_ = read(b)
		}
	})
}

// TestHostileMessagesTakeBoundedMemory reads messages that announce or cause as much memory
// as they can.
func TestHostileMessagesTakeBoundedMemory(t *testing.T) {
	const size = 1 << 20
	array := func(n int, item string) string {
		return string(binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n))) + strings.Repeat(item, n)
	}
	for name, text := range map[string]string{
		"announced list":       "\x9b\x00\x00\x00\x00\xff\xff\xff\xff",
		"announced text":       "\x7b\x00\x00\x00\x00\xff\xff\xff\xff",
		"announced dictionary": "\xbb\x00\x00\x00\x00\xff\xff\xff\xff",
		"announced in members": "\xa1\x67Columns\x9b\x00\x00\x00\x00\xff\xff\xff\xff",
		"nulls":                array(size, "\xf6"),
		"empty dictionaries":   array(size, "\xa0"),
		"null columns":         "\xa1\x67Columns" + array(size, "\xf6"),
		"empty columns":        "\xa1\x67Columns" + array(size, "\xa0"),
		"paths":                "\xa1\x67Columns\x81\xa1\x64Path" + array(size, "\xf6"),
		"nested":               strings.Repeat("\x81", size) + "\x01",
		"endless":              strings.Repeat("\x9f", size),
	} {
		t.Run(name, func(t *testing.T) {
			for i, read := range readers {
				taken := allocated(func() { _ = read([]byte(text)) })
				require.LessOrEqual(t, taken, uint64(64<<10+128*len(text)), "reader %d", i)
			}
		})
	}
}

// TestHostileRepliesTakeBoundedMemory reads the longest replies that a child may send, with as many
// items as they can have.
func TestHostileRepliesTakeBoundedMemory(t *testing.T) {
	array := func(n int, item string) string {
		return string(binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n))) + strings.Repeat(item, n)
	}
	full := array(maxReplyItems, "\xf6")
	lists := maxReply/maxReplyItems - 1
	for name, text := range map[string]string{
		"columns":          "\xa1\x67Columns" + full,
		"empty columns":    "\xa1\x67Columns" + array(maxReplyItems, "\xa0"),
		"too many columns": "\xa1\x67Columns" + array(maxReply-100, "\xf6"),
		"repeated columns": string(append([]byte{0xb8}, byte(lists))) + strings.Repeat("\x67Columns"+full, lists),
		"paths":            "\xa1\x67Columns" + array(lists, "\xa1\x64Path"+full),
		"partitions":       "\xa1\x69Partition" + string(binary.BigEndian.AppendUint32([]byte{0xba}, maxReplyItems)) + distinct(maxReplyItems),
		"nested":           strings.Repeat("\x81", maxReply),
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(text), maxReply)
			for i, read := range replies {
				require.LessOrEqual(t, allocated(func() { _ = read([]byte(text)) }), uint64(18*maxReply), "reader %d", i)
			}
		})
	}
}

// distinct is n pairs of a dictionary with different keys.
func distinct(n int) string {
	var pairs strings.Builder
	for i := range n {
		pairs.WriteString("\x63" + string([]byte{byte(i >> 16), byte(i >> 8), byte(i)}) + "\xf6")
	}
	return pairs.String()
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFilesWithoutNamesAreRefused: many of them would fit into a short message.
func TestFilesWithoutNamesAreRefused(t *testing.T) {
	read := func(f engine.DataFile) error {
		_, err := dataFile(frame{kind: kindFile, head: encode(f)})
		return err
	}
	require.NoError(t, read(engine.DataFile{Name: "f", Columns: []engine.ColumnStats{{Path: []string{"a"}}}}))
	require.ErrorIs(t, read(engine.DataFile{Columns: []engine.ColumnStats{{Path: []string{"a"}}}}), errWire)
	require.ErrorIs(t, read(engine.DataFile{Name: "f", Columns: []engine.ColumnStats{{}}}), errWire)
	_, err := dataFile(frame{kind: kindRows, head: encode(engine.DataFile{Name: "f"})})
	require.ErrorIs(t, err, errWire)
}

// TestLongRepliesAreRefused: the parent reads no reply that is longer than allowed, and the child
// sends none.
func TestLongRepliesAreRefused(t *testing.T) {
	ours, theirs, err := newPair()
	require.NoError(t, err)
	defer ours.close()
	child, err := wireOf(theirs)
	require.NoError(t, err)
	defer child.close()
	require.NoError(t, holdReply(child, kindFile, 1, nil))
	require.Error(t, holdReply(child, kindFile, 1, make([]byte, maxReply+1)))
	sent := appendHeader(nil, kindFailed, 1, maxReply+1, 0)
	require.NoError(t, child.send(kindFile, 1, nil))
	_, err = child.conn.Write(sent)
	require.NoError(t, err)
	for range 2 {
		_, err = ours.receive()
		require.NoError(t, err)
	}
	require.LessOrEqual(t, allocated(func() { _, err = ours.receive() }), uint64(1<<20))
	require.ErrorIs(t, err, errWire)
	long := strings.Repeat("x", maxReply)
	for _, failed := range []error{&engine.Error{Text: long}, &codedError{Text: long}, errors.New(long)} {
		require.LessOrEqual(t, len(encode(newFailure(false, failed))), maxReply)
	}
}

func TestErrorsWithACodeOfTheirOwn(t *testing.T) {
	m, err := reply[failureMessage](encode(newFailure(true, &codedError{Text: "extension gone", Code: "engine_failed"})))
	require.NoError(t, err)
	require.True(t, m.Broken)
	var coded interface{ ProblemCode() string }
	require.ErrorAs(t, m.err(), &coded)
	require.Equal(t, "engine_failed", coded.ProblemCode())
	require.ErrorIs(t, failureMessage{}.err(), errWire)
}

// TestColumnsWithoutTypesAreRefused: the columns of a hostile child may lack types, which
// decodes, or be fewer than the fields of its schema.
func TestColumnsWithoutTypesAreRefused(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	message, err := cbor.Marshal(map[string]any{"Columns": []any{nil}})
	require.NoError(t, err)
	var m columnsMessage
	require.NoError(t, decodeReply(message, &m))
	require.Len(t, m.Columns, 1)
	require.False(t, describes(m.Columns, schema))
	require.False(t, describes(nil, schema))
	require.True(t, describes([]engine.Column{{Name: "a", Type: sqltype.BigInt}}, schema))
}
