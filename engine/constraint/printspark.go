package constraint

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// spark prints a portable expression in Spark's SQL.
func (e *expr) spark() string {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = a.spark()
	}
	switch e.op {
	case opColumn:
		names := make([]string, len(e.path))
		for i, name := range e.path {
			names[i] = "`" + name + "`"
		}
		return strings.Join(names, ".")
	case opLiteral:
		return e.sparkLiteral()
	case opLike:
		return "(" + args[0] + " LIKE " + args[1] + ")"
	case opCast:
		return "CAST(" + args[0] + " AS " + sparkType(e.typ) + ")"
	case opCall:
		switch e.text {
		case "year", "month", "day": // delta-rs has no function of the name
			return "extract(" + strings.ToUpper(e.text) + " FROM " + args[0] + ")"
		}
		return e.text + "(" + strings.Join(args, ", ") + ")"
	}
	return e.common(args)
}

// sparkLiteral prints a constant so that it has the same type in every engine. delta-rs reads a
// plain decimal as a double, so it is cast from a text.
func (e *expr) sparkLiteral() string {
	quoted := "'" + e.text + "'"
	switch familyOf(e.typ) {
	case famText:
		return quoted
	case famDate:
		return "DATE " + quoted
	case famInstant:
		return "TIMESTAMP " + quoted
	case famLocal:
		return "TIMESTAMP_NTZ " + quoted
	case famDecimal, famFloat, famDouble:
		return "CAST(" + quoted + " AS " + sparkType(e.typ) + ")"
	case famInt:
		// Plain digits are an INT, or a BIGINT if they do not fit.
		if n, err := (builder{}).number(e.text); err != nil || n.typ != e.typ {
			return "CAST(" + quoted + " AS " + sparkType(e.typ) + ")"
		}
	}
	if strings.HasPrefix(e.text, "-") {
		return "(" + e.text + ")"
	}
	return e.text
}

var sparkNames = map[delta.Primitive]string{
	delta.Byte: "TINYINT", delta.Short: "SMALLINT", delta.Integer: "INT", delta.Long: "BIGINT", delta.Float: "FLOAT",
	delta.Double: "DOUBLE", delta.String: "STRING", delta.Boolean: "BOOLEAN", delta.Date: "DATE", delta.Timestamp: "TIMESTAMP",
}

func sparkType(t delta.DataType) string {
	if p, ok := t.(delta.Primitive); ok {
		return sparkNames[p]
	}
	return strings.ToUpper(t.String())
}
