package native

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxDecimalDigits is the widest DECIMAL.
const maxDecimalDigits = 38

// bindArgs binds every parameter of p. Each parameter needs its value and each
// value its parameter.
func bindArgs(p duck.PreparedStatement, args engine.Args) error {
	if len(args.Positional) > 0 && len(args.Named) > 0 {
		return bindError("parameter_mix", "", "positional and named values together")
	}
	n := int(duck.NParams(p))
	values, err := matchArgs(p, n, args)
	if err != nil {
		return err
	}
	for i, v := range values {
		name := duck.ParameterName(p, duck.IdxT(i+1))
		val, err := newValue(v)
		if err != nil {
			return bindError("parameter_type", name, err.Error())
		}
		state := duck.BindValue(p, duck.IdxT(i+1), val)
		duck.DestroyValue(&val)
		if state != duck.StateSuccess {
			return bindError("parameter_type", name, duck.PrepareError(p))
		}
	}
	return nil
}

// matchArgs orders the values by parameter index.
func matchArgs(p duck.PreparedStatement, n int, args engine.Args) ([]any, error) {
	values := make([]any, n)
	if len(args.Named) == 0 {
		if len(args.Positional) > n {
			return nil, bindError("parameter_unknown", strconv.Itoa(n+1), "more values than parameters")
		}
		for i := range n {
			name := duck.ParameterName(p, duck.IdxT(i+1))
			at, err := strconv.Atoi(name)
			if err != nil || at < 1 || at > len(args.Positional) {
				return nil, bindError("parameter_missing", name, "no value")
			}
			values[i] = args.Positional[at-1]
		}
		return values, nil
	}
	// Parameter names are identifiers, so their case is ignored.
	left := make(map[string]any, len(args.Named))
	for name, v := range args.Named {
		left[strings.ToLower(name)] = v
	}
	if len(left) != len(args.Named) {
		return nil, bindError("parameter_mix", "", "names that differ in case only")
	}
	for i := range n {
		name := duck.ParameterName(p, duck.IdxT(i+1))
		v, ok := left[strings.ToLower(name)]
		if !ok {
			return nil, bindError("parameter_missing", name, "no value")
		}
		values[i] = v
		delete(left, strings.ToLower(name))
	}
	if extra := slices.Sorted(maps.Keys(left)); len(extra) > 0 {
		return nil, bindError("parameter_unknown", extra[0], "no such parameter")
	}
	return values, nil
}

// newValue returns a DuckDB value that the caller destroys.
func newValue(v any) (duck.Value, error) {
	switch v := v.(type) {
	case nil:
		return duck.CreateNullValue(), nil
	case bool:
		return duck.CreateBool(v), nil
	case int64:
		return duck.CreateInt64(v), nil
	case float64:
		return duck.CreateDouble(v), nil
	case string:
		if !utf8.ValidString(v) {
			return duck.Value{}, fmt.Errorf("text is not valid UTF-8")
		}
		return duck.CreateVarchar(v), nil
	case json.Number:
		return newNumber(v)
	}
	items, ok := listItems(v)
	if !ok {
		return duck.Value{}, fmt.Errorf("a value of Go type %T cannot be bound", v)
	}
	return newList(items)
}

// newNumber converts a number without loss: to a BIGINT, HUGEINT or DECIMAL as its digits require,
// and to a DOUBLE only if it has an exponent or more than 38 digits.
func newNumber(n json.Number) (duck.Value, error) {
	text := n.String()
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return duck.CreateInt64(i), nil
	}
	if width, scale, unscaled, ok := decimalOf(text); ok {
		return duck.CreateDecimal(duck.NewDecimal(width, scale, unscaled)), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return duck.Value{}, fmt.Errorf("not a number")
	}
	return duck.CreateDouble(f), nil
}

// decimalOf parses digits with an optional sign and point.
func decimalOf(text string) (width, scale uint8, unscaled duck.HugeInt, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-") + fraction
	if digits == "" || len(digits) > maxDecimalDigits || strings.Trim(digits, "0123456789") != "" {
		return 0, 0, duck.HugeInt{}, false
	}
	i, good := new(big.Int).SetString(digits, 10)
	if !good {
		return 0, 0, duck.HugeInt{}, false
	}
	if strings.HasPrefix(whole, "-") {
		i.Neg(i)
	}
	return uint8(len(digits)), uint8(len(fraction)), hugeInt(i), true
}

// hugeInt splits i, which fits 128 bits, into its two's complement halves.
func hugeInt(i *big.Int) duck.HugeInt {
	mask := new(big.Int).SetUint64(^uint64(0))
	lower := new(big.Int).And(i, mask).Uint64()
	upper := new(big.Int).Rsh(i, 64).Int64()
	return duck.NewHugeInt(lower, upper)
}

// listItems returns the items of a slice of any type that may be bound.
func listItems(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []bool:
		return anys(v), true
	case []int64:
		return anys(v), true
	case []float64:
		return anys(v), true
	case []string:
		return anys(v), true
	case []json.Number:
		return anys(v), true
	}
	return nil, false
}

func anys[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

// newList returns a LIST whose elements share one type. Numbers of different kinds become DOUBLE;
// other mixtures are refused.
func newList(items []any) (duck.Value, error) {
	child, items, err := commonType(items)
	if err != nil {
		return duck.Value{}, err
	}
	values := make([]duck.Value, 0, len(items))
	defer func() {
		for i := range values {
			duck.DestroyValue(&values[i])
		}
	}()
	for _, item := range items {
		v, err := newValue(item)
		if err != nil {
			return duck.Value{}, err
		}
		values = append(values, v)
	}
	t := duck.CreateLogicalType(child)
	defer duck.DestroyLogicalType(&t)
	list := duck.CreateListValue(t, values)
	if list.Ptr == nil {
		return duck.Value{}, fmt.Errorf("the list cannot be bound")
	}
	return list, nil
}

func commonType(items []any) (duck.Type, []any, error) {
	kind := duck.TypeSQLNull
	for _, item := range items {
		k, err := itemType(item)
		if err != nil {
			return 0, nil, err
		}
		switch {
		case k == duck.TypeSQLNull || k == kind:
		case kind == duck.TypeSQLNull:
			kind = k
		case (k == duck.TypeDouble || k == duck.TypeBigInt) && (kind == duck.TypeDouble || kind == duck.TypeBigInt):
			kind = duck.TypeDouble
		default:
			return 0, nil, fmt.Errorf("the list mixes types")
		}
	}
	if kind != duck.TypeDouble {
		return kind, items, nil
	}
	out := make([]any, len(items))
	for i, item := range items {
		switch v := item.(type) {
		case int64:
			out[i] = float64(v)
		case json.Number:
			f, err := v.Float64()
			if err != nil {
				return 0, nil, fmt.Errorf("not a number")
			}
			out[i] = f
		default:
			out[i] = item
		}
	}
	return kind, out, nil
}

func itemType(item any) (duck.Type, error) {
	switch v := item.(type) {
	case nil:
		return duck.TypeSQLNull, nil
	case bool:
		return duck.TypeBoolean, nil
	case int64:
		return duck.TypeBigInt, nil
	case float64:
		return duck.TypeDouble, nil
	case string:
		return duck.TypeVarchar, nil
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return duck.TypeBigInt, nil
		}
		return duck.TypeDouble, nil
	}
	return 0, fmt.Errorf("a list element of Go type %T cannot be bound", item)
}

func bindError(class, name, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindBind, Class: class, Name: name, Position: -1, Text: Clip(text)}
}
