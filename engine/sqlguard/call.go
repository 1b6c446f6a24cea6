package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// function visits a call in an expression (namespace scalar) or in FROM
// (namespace table).
func (a *analysis) function(n *sqltree.Node, namespace string, sc *scope) *refusal.Error {
	if namespace == "scalar" && printer.MethodCall(n) {
		a.rename()
	}
	if err := a.allowed(n, namespace); err != nil {
		return err
	}
	if args := n.List("children"); len(args) > 0 && n.Is("function_name", "unnest") {
		a.bounds.Unnested = args[0].(*sqltree.Node)
	}
	if functions.TakesLambda(n) {
		err := a.bounds.LambdaCall(n, func(arg *sqltree.Node) *refusal.Error {
			if arg.Is("class", "LAMBDA") {
				a.lambda = arg
			}
			return a.expr(arg, sc)
		})
		if err != nil {
			return err
		}
	} else if err := a.Fields(n, grammar.Expr, sc); err != nil {
		return err
	}
	if printer.IsInterval(n) {
		a.rename()
	}
	f, _ := functions.Lookup(namespace, n.Str("function_name"))
	switch f.Class {
	case functions.Volatile:
		a.q.volatile = true
	case functions.Constant:
		return a.constantCall(n, f)
	case functions.Cap:
		return a.bounds.Call(f, n, namespace)
	}
	return nil
}

// allowed checks the name of a call against the list.
func (a *analysis) allowed(n *sqltree.Node, namespace string) *refusal.Error {
	name := n.Function()
	a.mention(n, name)
	schema, catalog := strings.ToLower(n.Str("schema")), strings.ToLower(n.Str("catalog"))
	if schema != "" && schema != "main" || catalog != "" && catalog != "system" {
		return refusal.New(refusal.CodeFunction, name, "functions exist in the schema main only").At(n)
	}
	f, ok := functions.Lookup(namespace, name)
	if !ok {
		err := refusal.New(refusal.CodeFunctionUnknown, name, "there is no function %s here", name).At(n)
		err.Near = refusal.Near(name, functions.Callable(namespace))
		return err
	}
	if f.Class == functions.Deny {
		return refusal.New(refusal.CodeFunction, name, "the function %s is not allowed: %s", name, f.Rule).At(n)
	}
	return nil
}

// constantCall replaces a function about the session by a constant.
func (a *analysis) constantCall(n *sqltree.Node, f functions.Function) *refusal.Error {
	var value *sqltree.Node
	o := a.q.opts
	switch f.Rule {
	case "user":
		value = sqltree.Text(o.User)
	case "catalog":
		value = sqltree.Text(o.Catalog)
	case "schema":
		value = sqltree.Text(o.Schema)
	case "schemas":
		value = sqltree.Call("list_value", false, sqltree.Text(o.Schema))
	default:
		value = sqltree.Text(o.Version)
	}
	a.edits.Add(func() {
		value.Set("alias", n.Str("alias"))
		n.Become(value)
	})
	return nil
}
