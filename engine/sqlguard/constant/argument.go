package constant

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Argument is the value of a parameter as far as plans look at it. The zero value
// knows nothing.
type Argument struct {
	// Null says that the value is NULL.
	Null bool
	// Literal is the value as a literal would say it, if HasLiteral.
	Literal    sqltree.Literal
	HasLiteral bool
	// Precision and Scale are those of a DECIMAL; an integer has none.
	Precision, Scale int
	// Kind tells apart the arguments for which a statement is proved in different
	// ways; it says nothing else of the value.
	kind string
}

// Arguments are those of a statement by the name of the parameter, in lower case.
type Arguments map[string]Argument

// ArgumentsOf leaves out what the engine will refuse: names that differ in case
// only, and values of both sorts.
func ArgumentsOf(args engine.Args) Arguments {
	out := Arguments{}
	if len(args.Positional) > 0 && len(args.Named) > 0 {
		return out
	}
	for i, v := range args.Positional {
		out[strconv.Itoa(i+1)] = argumentOf(v)
	}
	twice := map[string]bool{}
	for name, v := range args.Named {
		name = strings.ToLower(name)
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

// Of is the argument of a parameter of the tree; the zero value knows nothing.
func (a Arguments) Of(parameter *sqltree.Node) Argument {
	return a[strings.ToLower(parameter.Str("identifier"))]
}

// argumentOf follows what the engine makes of bound values.
func argumentOf(v any) Argument {
	switch v := v.(type) {
	case nil:
		return Argument{Null: true, kind: "null"}
	case bool:
		return literalArgument("boolean", sqltree.Boolean, strconv.FormatBool(v))
	case int64:
		return literalArgument("integer", sqltree.ExactNumber, strconv.FormatInt(v, 10))
	case float64:
		return Argument{kind: "double"} // which of equal doubles it is matters
	case string:
		return literalArgument("text "+timeForm(v), sqltree.TextLiteral, v)
	case json.Number:
		return numberArgument(v.String())
	}
	return Argument{}
}

func literalArgument(kind string, family sqltree.Family, text string) Argument {
	return Argument{Literal: sqltree.Literal{Family: family, Text: text}, HasLiteral: true, kind: kind}
}

// maxDecimal is the engine's largest width of a DECIMAL.
const maxDecimal = 38

// numberArgument is a number without exponent: others are doubles.
func numberArgument(text string) Argument {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return argumentOf(v)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-") + fraction
	if digits == "" || len(digits) > maxDecimal || strings.Trim(digits, "0123456789") != "" {
		return Argument{kind: "double"}
	}
	unscaled, _ := new(big.Int).SetString(digits, 10)
	if strings.HasPrefix(whole, "-") {
		unscaled.Neg(unscaled)
	}
	width, scale := strconv.Itoa(len(digits)), strconv.Itoa(len(fraction))
	decimal, ok := sqltree.Scaled(unscaled.String(), scale)
	out := literalArgument("decimal "+width+" "+scale, sqltree.ExactNumber, decimal)
	out.HasLiteral, out.Precision, out.Scale = ok, len(digits), len(fraction)
	return out
}

// timeForm says which dates and times a text can stand for.
func timeForm(text string) string {
	if IsDate(text) {
		return "date"
	}
	if _, ok := AsTimestamp(text); ok {
		return "timestamp"
	}
	if _, ok := strictInstant(text); ok {
		return "instant"
	}
	return ""
}

// Kinds tells apart the arguments of the given parameters that need plans of their
// own. It holds kinds of values and no value.
func (a Arguments) Kinds(parameters []string) string {
	var out strings.Builder
	for _, p := range parameters {
		out.WriteString(strconv.Quote(a[strings.ToLower(p)].kind) + ";")
	}
	return out.String()
}
