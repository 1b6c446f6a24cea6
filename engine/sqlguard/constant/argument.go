package constant

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Argument is what plans know of the value of a parameter. The zero value knows nothing.
type Argument struct {
	// Null reports whether the value is NULL.
	Null bool
	// Literal is the value as a literal, if HasLiteral.
	Literal    sqltree.Literal
	HasLiteral bool
	// Precision and Scale are those of a DECIMAL; both are zero for an integer.
	Precision, Scale int
	// kind identifies arguments that share a plan. It reveals nothing else of the value.
	kind string
}

// Arguments maps the parameters of a statement, in lower case, to their arguments.
type Arguments map[string]Argument

// ArgumentsOf returns the arguments of a statement, except those that the engine will
// refuse: names that differ only in case, and named together with positional arguments.
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

// Of returns the argument of a parameter of the tree.
func (a Arguments) Of(parameter *sqltree.Node) Argument {
	return a[strings.ToLower(parameter.Str("identifier"))]
}

// argumentOf types a value as the engine types bound values.
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

// numberArgument returns the argument of a number without exponent. Other numbers are
// doubles.
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

// timeForm returns which kinds of date or time a text can represent.
func timeForm(text string) string {
	if _, ok := sqltype.ParseDate(text); ok {
		return "date"
	}
	if _, ok := sqltype.ParseTimestamp(text); ok {
		return "timestamp"
	}
	if _, ok := sqltype.ParseInstant(text); ok {
		return "instant"
	}
	return ""
}

// Kinds returns a text that is equal for arguments that share a plan. It contains kinds of
// values and no value.
func (a Arguments) Kinds(parameters []string) string {
	var out strings.Builder
	for _, p := range parameters {
		out.WriteString(strconv.Quote(a[strings.ToLower(p)].kind) + ";")
	}
	return out.String()
}
