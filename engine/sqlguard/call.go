package sqlguard

import "strings"

// function visits a call in an expression (namespace scalar) or in FROM
// (namespace table).
func (a *analysis) function(n *node, namespace string, sc *scope) *Error {
	if namespace == "scalar" {
		a.method(n)
	}
	if err := a.allowed(n, namespace); err != nil {
		return err
	}
	if args := n.list("children"); len(args) > 0 && n.is("function_name", "unnest") {
		a.unnested = args[0].(*node)
	}
	if takesLambda(n) {
		if err := a.lambdaCall(n, sc); err != nil {
			return err
		}
	} else if err := a.fields(n, kExpr, sc); err != nil {
		return err
	}
	if isInterval(n) {
		a.rename()
	}
	f, _ := LookupFunction(namespace, n.str("function_name"))
	switch f.Class {
	case Volatile:
		a.q.volatile = true
	case Constant:
		return a.constantCall(n, f)
	case Cap:
		if err := argumentRules[f.Rule](a, n, namespace); err != nil {
			err.Name = f.Name
			return err.at(n)
		}
	}
	return nil
}

// schemasOfFunctions holds the engine's own schemas. A column with such a name has no
// methods.
var schemasOfFunctions = set("main", "pg_catalog", "information_schema")

// methodLocation marks the columns that [analysis.method] makes. The parser never gives
// it as a position.
const methodLocation = number("18446744073709551614")

// method turns a call such as id.abs() or t.id.abs() into abs(id), as the engine does for
// columns. The parser takes it for a call of a function in the schema id.
func (a *analysis) method(n *node) {
	schema, catalog := n.str("schema"), n.str("catalog")
	if schema == "" || schemasOfFunctions[lower(schema)] || n.flag("is_operator") {
		return
	}
	parts := []string{schema}
	if catalog != "" {
		parts = []string{catalog, schema}
	}
	column := columnNode(parts...)
	column.set("query_location", methodLocation)
	n.set("children", append([]any{column}, n.list("children")...))
	n.set("schema", "")
	n.set("catalog", "")
	a.rename()
}

// allowed holds the name of a call against the list.
func (a *analysis) allowed(n *node, namespace string) *Error {
	name := strings.ToLower(n.str("function_name"))
	a.mention(n, name)
	schema, catalog := strings.ToLower(n.str("schema")), strings.ToLower(n.str("catalog"))
	if schema != "" && schema != "main" || catalog != "" && catalog != "system" {
		return refuse(CodeFunction, name, "functions stand in no schema but main").at(n)
	}
	f, ok := LookupFunction(namespace, name)
	if !ok {
		err := refuse(CodeFunctionUnknown, name, "there is no function %s here", name).at(n)
		err.Near = Near(name, callable[namespace])
		return err
	}
	if f.Class == Deny {
		return refuse(CodeFunction, name, "the function %s is not allowed: %s", name, f.Rule).at(n)
	}
	return nil
}

// constantCall replaces a function about the session by a value of ours.
func (a *analysis) constantCall(n *node, f Function) *Error {
	var value *node
	o := a.q.opts
	switch f.Rule {
	case "user":
		value = textNode(o.User)
	case "catalog":
		value = textNode(o.Catalog)
	case "schema":
		value = textNode(o.Schema)
	case "schemas":
		value = callNode("list_value", false, textNode(o.Schema))
	default:
		value = textNode(o.Version)
	}
	a.edit(func() {
		value.set("alias", n.str("alias"))
		n.become(value)
	})
	return nil
}

func lower(s string) string { return strings.ToLower(s) }
