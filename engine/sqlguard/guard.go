package sqlguard

import (
	"math/big"
	"strconv"
)

// guardArg is the lambda's parameter in our guards.
const guardArg = "lw_arg"

func guardError() *node { return callNode("error", false, textNode("argument exceeds the limit")) }

// operand is an expression that a guard measures and uses.
type operand struct {
	name string
	expr *node
}

// guard builds an expression over operands that evaluates each of them once,
// although body names it several times: plain columns stand for themselves,
// anything else becomes the parameter of a lambda, which is the one expression
// of SQL that can name a value.
func guard(operands []operand, body func(use func(name string) *node) *node) *node {
	if use, ok := plainOperands(operands); ok {
		return body(use)
	}
	subject := operands[0].expr
	use := func(string) *node { return columnNode(guardArg) }
	if len(operands) > 1 {
		fields := make([]any, len(operands))
		for i, o := range operands {
			o.expr.set("alias", o.name)
			fields[i] = o.expr
		}
		subject = callNode("struct_pack", false, fields...)
		use = func(name string) *node { return columnNode(guardArg, name) }
	} else {
		subject.set("alias", "")
	}
	lambda := expression("LAMBDA", "LAMBDA", "lhs", columnNode(guardArg), "expr", body(use))
	list := callNode("list_transform", false, callNode("list_value", false, subject), lambda)
	return callNode("list_extract", false, list, intNode(1))
}

// plainOperands serves operands that may be repeated as they are. A bare word
// such as current_user is none: it is replaced later, in one place.
func plainOperands(operands []operand) (func(string) *node, bool) {
	byName := map[string]*node{}
	for _, o := range operands {
		_, constant := constantOf(o.expr)
		names := o.expr.strings("column_names")
		if !constant && (!o.expr.is("class", "COLUMN_REF") || len(names) == 1 && bareWords[lower(names[0])] != "") {
			return nil, false
		}
		byName[o.name] = o.expr
	}
	return func(name string) *node {
		c := byName[name].clone()
		c.set("alias", "")
		return c
	}, true
}

// typed gives a parameter the type that the function would have given it.
func typed(n *node, typ string) *node {
	if n.is("class", "PARAMETER") {
		return castNode(n, typ)
	}
	return n
}

// measureText measures a value of any type by the text that it casts to.
const measureText = "text"

// bound limits an argument: its value when measure is empty, else what the
// function of that name says about it.
func (a *analysis) bound(n *node, i int, measure string, limit int64) *Error {
	return a.boundLater(n, i, measure, limit, func() int64 { return limit })
}

// boundLater is bound for a limit that is known when the whole statement was
// seen; most is the largest that it can be.
func (a *analysis) boundLater(n *node, i int, measure string, most int64, limit func() int64) *Error {
	arg := argument(n, i)
	if arg == nil {
		return nil
	}
	if lit, ok := constantOf(arg); ok {
		over := lit.family == litText && int64(len(lit.text)) > most
		if measure == "" {
			v, isNum := new(big.Float).SetString(lit.text)
			over = isNum && v.Cmp(new(big.Float).SetInt64(most)) > 0
		}
		if over {
			return refuse(CodeArgument, "", "argument %d exceeds the limit of %d", i+1, most)
		}
		if measure == "" && lit.family != litText || measure != "" && lit.family == litText {
			return nil
		}
	}
	a.edit(func() {
		alias := arg.str("alias")
		subject := arg
		switch measure {
		case "":
			subject = typed(arg, "INTEGER")
		case "strlen":
			subject = typed(arg, "VARCHAR")
		}
		guarded := guard([]operand{{"x", subject}}, func(use func(string) *node) *node {
			size := use("x")
			switch measure {
			case "":
			case measureText:
				size = callNode("strlen", false, castNode(size, "VARCHAR"))
			default:
				size = callNode(measure, false, size)
			}
			return caseNode(greaterNode(size, intNode(limit())), guardError(), use("x"))
		})
		guarded.set("alias", alias)
		n.list("children")[i] = guarded
	})
	return nil
}

// replaceCall replaces an expression by another one under the same alias.
func (a *analysis) replaceCall(n *node, build func() *node) {
	a.edit(func() {
		alias := n.str("alias")
		guarded := build()
		guarded.set("alias", alias)
		n.become(guarded)
	})
}

// repeatRule bounds the product of length and count.
func repeatRule(a *analysis, n *node, _ string) *Error {
	text, count := argument(n, 0), argument(n, 1)
	if text == nil || count == nil || argument(n, 2) != nil {
		return nil // not a call that exists
	}
	t, okText := constantOf(text)
	c, okCount := constantOf(count)
	if okText && okCount && t.family == litText && c.family == litNumber {
		v, err := strconv.ParseInt(c.text, 10, 64)
		if err != nil || v > 0 && int64(len(t.text)) > maxRepeatText/v {
			return refuse(CodeArgument, "", "the result exceeds the limit of %d bytes", maxRepeatText)
		}
		return nil
	}
	a.replaceCall(n, func() *node {
		operands := []operand{{"t", typed(text, "VARCHAR")}, {"n", typed(count, "BIGINT")}}
		return guard(operands, func(use func(string) *node) *node {
			size := callNode("*", true, callNode("strlen", false, use("t")), use("n"))
			return caseNode(greaterNode(size, intNode(maxRepeat)), guardError(),
				callNode("repeat", false, use("t"), use("n")))
		})
	})
	return nil
}

// replaceRule bounds how much longer a text can become by replacements, which
// the engine's memory limit does not see.
func replaceRule(a *analysis, n *node, _ string) *Error {
	name := lower(n.str("function_name"))
	if count := len(n.list("children")); count < 3 || count > 4 {
		return nil // not a call that exists
	}
	text, from, to := argument(n, 0), argument(n, 1), argument(n, 2)
	f, okFrom := constantOf(from)
	t, okTo := constantOf(to)
	if okTo && t.family == litText {
		if len(t.text) == 0 || name == "replace" && okFrom && len(f.text) >= len(t.text) {
			return nil // it can only become shorter
		}
		if len(t.text) > maxReplace/100 {
			return refuse(CodeArgument, "", "the replacement is longer than %d bytes", maxReplace/100)
		}
	}
	options := argument(n, 3)
	if options != nil {
		if _, ok := constantOf(options); !ok {
			return refuse(CodeArgument, "", "the options must be a constant text")
		}
	}
	a.replaceCall(n, func() *node {
		operands := []operand{{"s", typed(text, "VARCHAR")}}
		if !okFrom {
			operands = append(operands, operand{"f", typed(from, "VARCHAR")})
		}
		if !okTo {
			operands = append(operands, operand{"r", typed(to, "VARCHAR")})
		}
		return guard(operands, func(use func(string) *node) *node {
			args := []any{use("s"), from, to}
			if !okFrom {
				args[1] = use("f")
			}
			var factor *node
			if okTo {
				factor = intNode(int64(len(t.text)) + 1)
			} else {
				args[2] = use("r")
				factor = callNode("+", true, callNode("strlen", false, use("r")), intNode(1))
			}
			if options != nil {
				args = append(args, options)
			}
			size := callNode("*", true, callNode("strlen", false, use("s")), factor)
			return caseNode(greaterNode(size, intNode(maxReplace)), guardError(), callNode(name, false, args...))
		})
	})
	return nil
}
