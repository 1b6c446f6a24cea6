package sqlguard

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// argValue is the value of a parameter as far as plans look at it.
type argValue struct {
	// lit is the value as a literal would say it, if hasLiteral.
	lit        literal
	hasLiteral bool
	// proven is the type that the engine gives to the value, if known.
	proven provenValue
	known  bool
	// kind tells apart the arguments for which a statement is proved in different
	// ways; it says nothing else of the value.
	kind string
}

// argValues are those of a statement by the name of the parameter, in lower case.
type argValues map[string]argValue

// argumentsOf leaves out what the engine will refuse: names that differ in case
// only, and values of both sorts.
func argumentsOf(args engine.Args) argValues {
	out := argValues{}
	if len(args.Positional) > 0 && len(args.Named) > 0 {
		return out
	}
	for i, v := range args.Positional {
		out[strconv.Itoa(i+1)] = argumentOf(v)
	}
	twice := map[string]bool{}
	for name, v := range args.Named {
		name = lower(name)
		_, seen := out[name]
		twice[name] = twice[name] || seen
		out[name] = argumentOf(v)
	}
	for name, again := range twice {
		if again {
			delete(out, name)
		}
	}
	return out
}

// of is the argument of a parameter of the tree; the zero value knows nothing.
func (a argValues) of(parameter *node) argValue { return a[lower(parameter.str("identifier"))] }

// argumentOf follows what the engine makes of bound values.
func argumentOf(v any) argValue {
	switch v := v.(type) {
	case nil:
		return argValue{proven: provenValue{kind: kindNull}, known: true, kind: "null"}
	case bool:
		return argValue{lit: literal{litBool, strconv.FormatBool(v)}, hasLiteral: true, proven: provenValue{kind: kindBoolean}, known: true, kind: "boolean"}
	case int64:
		return integerArgument(v)
	case float64:
		return argValue{kind: "double"} // which of equal doubles it is matters
	case string:
		return argValue{lit: literal{litText, v}, hasLiteral: true, proven: provenValue{kind: kindText}, known: true, kind: "text " + timeForm(v)}
	case json.Number:
		return numberArgument(v.String())
	}
	return argValue{}
}

func integerArgument(v int64) argValue {
	return argValue{lit: literal{litNumber, strconv.FormatInt(v, 10)}, hasLiteral: true, proven: integerValue(64), known: true, kind: "integer"}
}

// numberArgument is a number without exponent: others are doubles.
func numberArgument(text string) argValue {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return integerArgument(v)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-") + fraction
	if digits == "" || len(digits) > maxDecimal || strings.Trim(digits, "0123456789") != "" {
		return argValue{kind: "double"}
	}
	unscaled, _ := new(big.Int).SetString(digits, 10)
	if strings.HasPrefix(whole, "-") {
		unscaled.Neg(unscaled)
	}
	lit, ok := scaled(unscaled.String(), strconv.Itoa(len(fraction)))
	return argValue{
		lit: literal{litNumber, lit}, hasLiteral: ok,
		proven: decimalOf(len(digits), len(fraction), power10(len(digits))), known: true,
		kind: "decimal " + strconv.Itoa(len(digits)) + " " + strconv.Itoa(len(fraction)),
	}
}

// timeForm says which dates and times a text can stand for.
func timeForm(text string) string {
	if strictDate(text) {
		return "date"
	}
	if _, ok := strictTimestamp(text); ok {
		return "timestamp"
	}
	if _, ok := strictInstant(text); ok {
		return "instant"
	}
	return ""
}

// ArgumentKinds tells apart the arguments that need plans of their own: see
// [Query.Prepare]. It holds kinds of values and no value.
func (q *Query) ArgumentKinds(args engine.Args) string {
	values := argumentsOf(args)
	var out strings.Builder
	note := func(parameter string) { out.WriteString(strconv.Quote(values[parameter].kind) + ";") }
	for i := range q.params.Positional {
		note(strconv.Itoa(i + 1))
	}
	for _, name := range q.params.Named {
		note(lower(name))
	}
	return out.String()
}
