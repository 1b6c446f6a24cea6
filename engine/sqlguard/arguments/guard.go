package arguments

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// guardArg is the parameter of the lambdas in guards.
const guardArg = "lw_arg"

func guardError() *sqltree.Node {
	return sqltree.Call("error", false, sqltree.Text("argument exceeds the limit"))
}

// operand is an expression that a guard measures and uses.
type operand struct {
	name string
	expr *sqltree.Node
}

// guard returns an expression over operands that evaluates each operand once, although body
// may use it several times. Plain columns are repeated; anything else becomes the parameter
// of a lambda, which is the only way in SQL to name a value inside an expression.
func guard(operands []operand, body func(use func(name string) *sqltree.Node) *sqltree.Node) *sqltree.Node {
	if use, ok := plainOperands(operands); ok {
		return body(use)
	}
	subject := operands[0].expr
	use := func(string) *sqltree.Node { return sqltree.Column(guardArg) }
	if len(operands) > 1 {
		fields := make([]any, len(operands))
		for i, o := range operands {
			o.expr.Set("alias", o.name)
			fields[i] = o.expr
		}
		subject = sqltree.Call("struct_pack", false, fields...)
		use = func(name string) *sqltree.Node { return sqltree.Column(guardArg, name) }
	} else {
		subject.Set("alias", "")
	}
	lambda := sqltree.Expression("LAMBDA", "LAMBDA", "lhs", sqltree.Column(guardArg), "expr", body(use))
	list := sqltree.Call("list_transform", false, sqltree.Call("list_value", false, subject), lambda)
	return sqltree.Call("list_extract", false, list, sqltree.Integer(1))
}

// plainOperands returns copies of operands that may be repeated. A bare word such as
// current_user may not, because it is replaced later in one place.
func plainOperands(operands []operand) (func(string) *sqltree.Node, bool) {
	byName := map[string]*sqltree.Node{}
	for _, o := range operands {
		_, constant := sqltree.LiteralOf(o.expr)
		names := o.expr.Strings("column_names")
		if !constant && (!o.expr.Is("class", "COLUMN_REF") || len(names) == 1 && functions.BareWords[strings.ToLower(names[0])] != "") {
			return nil, false
		}
		byName[o.name] = o.expr
	}
	return func(name string) *sqltree.Node {
		c := byName[name].Clone()
		c.Set("alias", "")
		return c
	}, true
}

// typed casts a parameter to the type that the function would have given it.
func typed(n *sqltree.Node, typ string) *sqltree.Node {
	if n.Is("class", "PARAMETER") {
		return sqltree.Cast(n, typ)
	}
	return n
}

// measureText measures a value of any type by its text.
const measureText = "text"

// Bound limits the i-th argument. If measure is empty, the value itself is limited,
// otherwise the result of the function that measure names.
func (b *Bounds) Bound(n *sqltree.Node, i int, measure string, limit int64) *refusal.Error {
	return b.boundLater(n, i, measure, limit, func() int64 { return limit })
}

// boundLater is Bound with a limit that is known after the whole statement was walked. most
// is the largest possible limit.
func (b *Bounds) boundLater(n *sqltree.Node, i int, measure string, most int64, limit func() int64) *refusal.Error {
	arg := n.Argument(i)
	if arg == nil {
		return nil
	}
	if lit, ok := sqltree.LiteralOf(arg); ok {
		over := lit.Family == sqltree.TextLiteral && int64(len(lit.Text)) > most
		if measure == "" {
			v, isNum := new(big.Float).SetString(lit.Text)
			over = isNum && v.Cmp(new(big.Float).SetInt64(most)) > 0
		}
		if over {
			return refusal.New(refusal.CodeArgument, "", "argument %d exceeds the limit of %d", i+1, most)
		}
		if measure == "" && lit.Family != sqltree.TextLiteral || measure != "" && lit.Family == sqltree.TextLiteral {
			return nil
		}
	}
	b.edits.Add(func() {
		alias := arg.Str("alias")
		subject := arg
		switch measure {
		case "":
			subject = typed(arg, "INTEGER")
		case "strlen":
			subject = typed(arg, "VARCHAR")
		}
		guarded := guard([]operand{{"x", subject}}, func(use func(string) *sqltree.Node) *sqltree.Node {
			size := use("x")
			switch measure {
			case "":
			case measureText:
				size = sqltree.Call("strlen", false, sqltree.Cast(size, "VARCHAR"))
			default:
				size = sqltree.Call(measure, false, size)
			}
			return sqltree.Case(sqltree.Greater(size, sqltree.Integer(limit())), guardError(), use("x"))
		})
		guarded.Set("alias", alias)
		n.List("children")[i] = guarded
	})
	return nil
}

// repeatRule bounds the product of the length and the count.
func repeatRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	text, count := n.Argument(0), n.Argument(1)
	if text == nil || count == nil || n.Argument(2) != nil {
		return nil // not a call that exists
	}
	t, okText := sqltree.LiteralOf(text)
	c, okCount := sqltree.LiteralOf(count)
	if okText && okCount && t.Family == sqltree.TextLiteral && c.Family == sqltree.ExactNumber {
		v, err := strconv.ParseInt(c.Text, 10, 64)
		if err != nil || v > 0 && int64(len(t.Text)) > maxRepeatText/v {
			return refusal.New(refusal.CodeArgument, "", "the result exceeds the limit of %d bytes", maxRepeatText)
		}
		return nil
	}
	b.edits.Replace(n, func() *sqltree.Node {
		operands := []operand{{"t", typed(text, "VARCHAR")}, {"n", typed(count, "BIGINT")}}
		return guard(operands, func(use func(string) *sqltree.Node) *sqltree.Node {
			size := sqltree.Call("*", true, sqltree.Call("strlen", false, use("t")), use("n"))
			return sqltree.Case(sqltree.Greater(size, sqltree.Integer(maxRepeat)), guardError(),
				sqltree.Call("repeat", false, use("t"), use("n")))
		})
	})
	return nil
}

// replaceRule bounds how much longer a text becomes by replacements, which the engine's
// memory limit does not cover.
func replaceRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	name := n.Function()
	if count := len(n.List("children")); count < 3 || count > 4 {
		return nil // not a call that exists
	}
	text, from, to := n.Argument(0), n.Argument(1), n.Argument(2)
	f, okFrom := sqltree.LiteralOf(from)
	t, okTo := sqltree.LiteralOf(to)
	if okTo && t.Family == sqltree.TextLiteral {
		if len(t.Text) == 0 || name == "replace" && okFrom && len(f.Text) >= len(t.Text) {
			return nil // it can only become shorter
		}
		if len(t.Text) > maxReplace/100 {
			return refusal.New(refusal.CodeArgument, "", "the replacement is longer than %d bytes", maxReplace/100)
		}
	}
	options := n.Argument(3)
	if options != nil {
		if _, ok := sqltree.LiteralOf(options); !ok {
			return refusal.New(refusal.CodeArgument, "", "the options must be a constant text")
		}
	}
	b.edits.Replace(n, func() *sqltree.Node {
		operands := []operand{{"s", typed(text, "VARCHAR")}}
		if !okFrom {
			operands = append(operands, operand{"f", typed(from, "VARCHAR")})
		}
		if !okTo {
			operands = append(operands, operand{"r", typed(to, "VARCHAR")})
		}
		return guard(operands, func(use func(string) *sqltree.Node) *sqltree.Node {
			args := []any{use("s"), from, to}
			if !okFrom {
				args[1] = use("f")
			}
			var factor *sqltree.Node
			if okTo {
				factor = sqltree.Integer(int64(len(t.Text)) + 1)
			} else {
				args[2] = use("r")
				factor = sqltree.Call("+", true, sqltree.Call("strlen", false, use("r")), sqltree.Integer(1))
			}
			if options != nil {
				args = append(args, options)
			}
			size := sqltree.Call("*", true, sqltree.Call("strlen", false, use("s")), factor)
			return sqltree.Case(sqltree.Greater(size, sqltree.Integer(maxReplace)), guardError(), sqltree.Call(name, false, args...))
		})
	})
	return nil
}
