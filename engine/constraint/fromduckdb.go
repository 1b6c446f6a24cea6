package constraint

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// prefix precedes a user's expression when it is parsed.
const prefix = "SELECT (\n"

// fromDuckDB parses an expression of a user with the engine's own parser. Errors are of type
// [*CheckError], or errors of the parser that are not about the text.
func (b builder) fromDuckDB(ctx context.Context, parser engine.Parser, text string) (*expr, error) {
	e, err := b.readDuckDB(ctx, parser, text)
	if err != nil {
		return nil, err
	}
	return e, condition(e)
}

// readDuckDB parses an expression of any type.
func (b builder) readDuckDB(ctx context.Context, parser engine.Parser, text string) (*expr, error) {
	if len(text) > maxText {
		return nil, invalid("it is longer than %d bytes", maxText)
	}
	raw, err := parser.Serialize(ctx, prefix+text+"\n)")
	if err != nil {
		return nil, syntaxError(err)
	}
	n, err := onlyExpression(raw)
	if err != nil {
		return nil, err
	}
	return b.tree(n, 0)
}

func syntaxError(err error) error {
	var failure *engine.Error
	if !errors.As(err, &failure) || failure.Kind != engine.KindSyntax && failure.Kind != engine.KindNotSelect {
		return err
	}
	e := invalid("it is not valid SQL")
	if failure.Position >= len(prefix) {
		e.Position = failure.Position - len(prefix)
	}
	return e
}

// maxTreeDepth allows more nesting than an expression of maxDepth has: each level of the expression
// is an object in the tree, usually inside a list.
const maxTreeDepth = 10 * maxDepth

// onlyExpression returns the one expression of SELECT (…). It refuses a text that parses as more
// than that.
func onlyExpression(raw []byte) (*sqltree.Node, error) {
	root, err := sqltree.Decode(raw, maxTreeDepth, false)
	if errors.Is(err, sqltree.ErrDepth) {
		return nil, invalid("it is nested deeper than %d", maxDepth)
	}
	query := sqltree.StatementOf(root).Child("node")
	list := query.List("select_list")
	if err != nil || len(root.List("statements")) != 1 || len(list) != 1 || !sqltree.Equal(query, sqltree.Select(list, sqltree.EmptyFrom())) {
		return nil, invalid("it is not one expression over the table's columns")
	}
	e := query.Nodes("select_list")[0]
	if !served(e) {
		return nil, errUnserved
	}
	return e, nil
}

var errUnserved = invalid("it has a part that is not served in constraints")

// fieldsOf maps the classes of expressions that constraints may contain to their fields, and "" to
// the fields of the objects that are parts of expressions. An expression with an unlisted field is
// refused, because the field would be ignored.
var fieldsOf = map[string][]string{
	"COLUMN_REF":  {"column_names"},
	"CONSTANT":    {"value"},
	"COMPARISON":  {"left", "right"},
	"CONJUNCTION": {"children"},
	"BETWEEN":     {"input", "lower", "upper"},
	"CASE":        {"case_checks", "else_expr"},
	"CAST":        {"child", "cast_type", "try_cast"},
	"OPERATOR":    {"children"},
	"FUNCTION": {"function_name", "schema", "catalog", "children", "filter", "order_bys", "distinct", "is_operator",
		"export_state"},
	"": {"when_expr", "then_expr", "is_null", "value", "id", "type_info", "extension_info", "width", "scale", "orders"},
}

// served reports whether an expression consists of listed classes and fields.
func served(e *sqltree.Node) bool {
	return e != nil && !sqltree.Walk(e, func(n *sqltree.Node) sqltree.Step {
		own, ok := fieldsOf[n.Str("class")]
		for field := range n.Fields() {
			common := field == "class" || field == "type" || field == "alias" || field == "query_location"
			ok = ok && (common || slices.Contains(own, field))
		}
		if !ok || n.Str("alias") != "" {
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

// tree converts an expression of the parser.
func (b builder) tree(n *sqltree.Node, depth int) (*expr, error) {
	if depth > maxDepth {
		return nil, invalid("it is nested deeper than %d", maxDepth)
	}
	switch n.Str("class") {
	case "COLUMN_REF":
		return b.column(n.Strings("column_names"))
	case "CONSTANT":
		return b.constant(n.Child("value"))
	case "COMPARISON":
		return b.comparison(n, depth)
	case "CONJUNCTION":
		args, err := b.trees(n.Nodes("children"), depth)
		if err != nil {
			return nil, err
		}
		if n.Is("type", "CONJUNCTION_AND") {
			return b.logic(opAnd, args...)
		}
		return b.logic(opOr, args...)
	case "BETWEEN":
		args, err := b.trees([]*sqltree.Node{n.Child("input"), n.Child("lower"), n.Child("upper")}, depth)
		if err != nil {
			return nil, err
		}
		return b.between(args[0], args[1], args[2])
	case "CASE":
		return b.caseOf(n, depth)
	case "CAST":
		return b.castOf(n, depth)
	case "OPERATOR":
		return b.operator(n, depth)
	case "FUNCTION":
		return b.function(n, depth)
	}
	return nil, errUnserved
}

func (b builder) trees(nodes []*sqltree.Node, depth int) ([]*expr, error) {
	out := make([]*expr, len(nodes))
	for i, n := range nodes {
		e, err := b.tree(n, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func (b builder) comparison(n *sqltree.Node, depth int) (*expr, error) {
	text, ok := comparisons[n.Str("type")]
	if !ok {
		return nil, invalid("%s is not served in constraints", strings.ToLower(n.Str("type")))
	}
	args, err := b.trees([]*sqltree.Node{n.Child("left"), n.Child("right")}, depth)
	if err != nil {
		return nil, err
	}
	return b.compare(text, args[0], args[1])
}

func (b builder) caseOf(n *sqltree.Node, depth int) (*expr, error) {
	var nodes []*sqltree.Node
	for c := range n.Each("case_checks") {
		nodes = append(nodes, c.Child("when_expr"), c.Child("then_expr"))
	}
	if otherwise := n.Child("else_expr"); otherwise != nil {
		nodes = append(nodes, otherwise)
	}
	args, err := b.trees(nodes, depth)
	if err != nil {
		return nil, err
	}
	return b.choose(args)
}

func (b builder) castOf(n *sqltree.Node, depth int) (*expr, error) {
	t, ok := castType(n.Child("cast_type"))
	if n.Flag("try_cast") || !ok {
		return nil, invalid("this cast is not served in constraints")
	}
	args, err := b.trees([]*sqltree.Node{n.Child("child")}, depth)
	if err != nil {
		return nil, err
	}
	return b.cast(args[0], t)
}

// castType returns the type of a cast. Types with members and modifiers are refused, except
// decimals.
func castType(n *sqltree.Node) (delta.DataType, bool) {
	id := n.Str("id")
	if info := n.Child("type_info"); info != nil {
		t := delta.Decimal{Precision: sqltree.IndexOf(info.Get("width")), Scale: sqltree.IndexOf(info.Get("scale"))}
		return t, id == "DECIMAL" && info.Is("type", "DECIMAL_TYPE_INFO") && info.Str("alias") == "" && t.Precision >= 0 && t.Scale >= 0
	}
	switch id {
	case "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		parsed, err := deltasql.ParseType(id)
		return parsed, err == nil
	}
	return nil, false
}

func (b builder) operator(n *sqltree.Node, depth int) (*expr, error) {
	args, err := b.trees(n.Nodes("children"), depth)
	if err != nil {
		return nil, err
	}
	switch typ := n.Str("type"); {
	case len(args) == 0:
	case typ == "OPERATOR_NOT":
		return b.not(args[0])
	case typ == "OPERATOR_IS_NULL":
		return b.isNull(args[0]), nil
	case typ == "OPERATOR_IS_NOT_NULL":
		return b.not(b.isNull(args[0]))
	case typ == "COMPARE_IN":
		return b.in(args[0], args[1:])
	case typ == "COMPARE_NOT_IN":
		in, err := b.in(args[0], args[1:])
		if err != nil {
			return nil, err
		}
		return b.not(in)
	case typ == "OPERATOR_COALESCE":
		return b.call("coalesce", args)
	}
	return nil, invalid("%s is not served in constraints", strings.ToLower(n.Str("type")))
}

func (b builder) function(n *sqltree.Node, depth int) (*expr, error) {
	name, schema := n.Str("function_name"), n.Str("schema")
	ownSchema := n.Str("catalog") == "" && (schema == "" || schema == "main")
	ordered := len(n.Child("order_bys").List("orders")) > 0
	if !ownSchema || ordered || n.Get("filter") != nil || n.Flag("distinct") || n.Flag("export_state") {
		return nil, invalid("this way of calling %.50q is not served in constraints", name)
	}
	args, err := b.trees(n.Nodes("children"), depth)
	if err != nil {
		return nil, err
	}
	switch {
	case (name == "year" || name == "date_part") && len(args) == 2 && args[0].op == opLiteral && familyOf(args[0].typ) == famText:
		return b.part(args[0].text, args[1])
	case len(args) == 1 && name == "-":
		return b.negate(args[0])
	case len(args) == 1 && name == "+":
		return args[0], nil
	case len(args) == 2 && strings.Contains(" + - * / // % ", " "+name+" "):
		return b.arith(name, args[0], args[1])
	case len(args) == 2 && name == "mod":
		return b.arith("%", args[0], args[1])
	case len(args) == 2 && (name == "~~" || name == "!~~"):
		return b.negated(name == "!~~", args)
	case len(args) == 3 && (name == "like_escape" || name == "not_like_escape"):
		return b.negated(name == "not_like_escape", args)
	case name == "!~~*" && len(args) == 2:
		like, err := b.call("ilike", args)
		if err != nil {
			return nil, err
		}
		return b.not(like)
	}
	return b.call(name, args)
}

func (b builder) negated(negated bool, args []*expr) (*expr, error) {
	var escape *expr
	if len(args) == 3 {
		escape = args[2]
	}
	like, err := b.like(args[0], args[1], escape)
	if err != nil || !negated {
		return like, err
	}
	return b.not(like)
}

func (b builder) constant(v *sqltree.Node) (*expr, error) {
	if v.Flag("is_null") {
		return b.null(), nil
	}
	if lit, ok := sqltree.LiteralValue(v); ok {
		switch lit.Family {
		case sqltree.TextLiteral:
			return b.text(lit.Text)
		case sqltree.Boolean:
			return b.boolean(lit.Text == "true"), nil
		case sqltree.Float:
			return b.double(lit.Text)
		case sqltree.ExactNumber:
			return b.number(lit.Text)
		}
	}
	return nil, invalid("a constant of this type is not served in constraints")
}
