package constraint

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// prefix stands before a user's expression when it is parsed.
const prefix = "SELECT (\n"

// fromDuckDB reads an expression of a user with the engine's own parser. The
// errors are [CheckError] and those of the parser that are not about the text.
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

// tree is a node as DuckDB writes it. It has the fields of all classes that we
// read; a node that has others is not of such a class.
type tree struct {
	Class         string   `json:"class"`
	Type          string   `json:"type"`
	Alias         string   `json:"alias"`
	QueryLocation uint64   `json:"query_location"`
	ColumnNames   []string `json:"column_names"`
	Value         *value   `json:"value"`
	Left          *tree    `json:"left"`
	Right         *tree    `json:"right"`
	Children      []*tree  `json:"children"`
	Input         *tree    `json:"input"`
	Lower         *tree    `json:"lower"`
	Upper         *tree    `json:"upper"`
	CaseChecks    []struct {
		When *tree `json:"when_expr"`
		Then *tree `json:"then_expr"`
	} `json:"case_checks"`
	Else         *tree           `json:"else_expr"`
	Child        *tree           `json:"child"`
	CastType     *typeNode       `json:"cast_type"`
	TryCast      bool            `json:"try_cast"`
	FunctionName string          `json:"function_name"`
	Schema       string          `json:"schema"`
	Catalog      string          `json:"catalog"`
	Distinct     bool            `json:"distinct"`
	IsOperator   bool            `json:"is_operator"`
	ExportState  bool            `json:"export_state"`
	Filter       json.RawMessage `json:"filter"`
	OrderBys     *struct {
		Type   string            `json:"type"`
		Orders []json.RawMessage `json:"orders"`
	} `json:"order_bys"`
}

type value struct {
	Type   typeNode        `json:"type"`
	IsNull bool            `json:"is_null"`
	Value  json.RawMessage `json:"value"`
}

type typeNode struct {
	ID   string `json:"id"`
	Info *struct {
		Type      string          `json:"type"`
		Alias     string          `json:"alias"`
		Extension json.RawMessage `json:"extension_info"`
		Width     int             `json:"width"`
		Scale     int             `json:"scale"`
	} `json:"type_info"`
}

// onlyExpression takes the one expression out of SELECT (…), and refuses
// everything else that the text may have made of it.
func onlyExpression(raw []byte) (*tree, error) {
	var reply struct {
		Statements []struct {
			Node map[string]json.RawMessage `json:"node"`
		} `json:"statements"`
	}
	only := invalid("it is not one expression over the table's columns")
	if json.Unmarshal(raw, &reply) != nil || len(reply.Statements) != 1 {
		return nil, only
	}
	node := reply.Statements[0].Node
	var list []json.RawMessage
	if json.Unmarshal(node["select_list"], &list) != nil || len(list) != 1 {
		return nil, only
	}
	for field, text := range node {
		if expected, known := plainSelect[field]; field != "select_list" && (!known || !strings.HasPrefix(string(text), expected)) {
			return nil, only
		}
	}
	decoder := json.NewDecoder(strings.NewReader(string(list[0])))
	decoder.DisallowUnknownFields()
	var n tree
	if err := decoder.Decode(&n); err != nil {
		return nil, invalid("it has a part that is not served in constraints")
	}
	return &n, nil
}

// plainSelect has the fields of a SELECT of one expression and nothing else, with
// the beginning of their values.
var plainSelect = map[string]string{
	"type": `"SELECT_NODE"`, "modifiers": "[]", "cte_map": `{"map":[]}`, "from_table": `{"type":"EMPTY"`, "where_clause": "null",
	"group_expressions": "[]", "group_sets": "[]", "aggregate_handling": `"STANDARD_HANDLING"`, "having": "null",
	"sample": "null", "qualify": "null",
}

var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

// tree reads a node. What a class does not use must be absent; fields that stay
// unread would be a hole, so every class names what it takes.
func (b builder) tree(n *tree, depth int) (*expr, error) {
	switch {
	case depth > maxDepth:
		return nil, invalid("it is nested deeper than %d", maxDepth)
	case n == nil || n.Alias != "":
		return nil, invalid("it has a part that is not served in constraints")
	}
	switch n.Class {
	case "COLUMN_REF":
		return b.column(n.ColumnNames)
	case "CONSTANT":
		return b.constant(n.Value)
	case "COMPARISON":
		return b.comparison(n, depth)
	case "CONJUNCTION":
		args, err := b.trees(n.Children, depth)
		if err != nil {
			return nil, err
		}
		if n.Type == "CONJUNCTION_AND" {
			return b.logic(opAnd, args...)
		}
		return b.logic(opOr, args...)
	case "BETWEEN":
		args, err := b.trees([]*tree{n.Input, n.Lower, n.Upper}, depth)
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
	return nil, invalid("%s is not served in constraints", strings.ToLower(n.Class))
}

func (b builder) trees(nodes []*tree, depth int) ([]*expr, error) {
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

func (b builder) comparison(n *tree, depth int) (*expr, error) {
	text, ok := comparisons[n.Type]
	if !ok {
		return nil, invalid("%s is not served in constraints", strings.ToLower(n.Type))
	}
	args, err := b.trees([]*tree{n.Left, n.Right}, depth)
	if err != nil {
		return nil, err
	}
	return b.compare(text, args[0], args[1])
}

func (b builder) caseOf(n *tree, depth int) (*expr, error) {
	var nodes []*tree
	for _, c := range n.CaseChecks {
		nodes = append(nodes, c.When, c.Then)
	}
	if n.Else != nil {
		nodes = append(nodes, n.Else)
	}
	args, err := b.trees(nodes, depth)
	if err != nil {
		return nil, err
	}
	return b.choose(args)
}

func (b builder) castOf(n *tree, depth int) (*expr, error) {
	t, ok := n.CastType.delta()
	if n.TryCast || !ok {
		return nil, invalid("this cast is not served in constraints")
	}
	args, err := b.trees([]*tree{n.Child}, depth)
	if err != nil {
		return nil, err
	}
	return b.cast(args[0], t)
}

// delta is the type of a cast; only types without members and modifiers.
func (t *typeNode) delta() (delta.DataType, bool) {
	if t == nil {
		return nil, false
	}
	if t.Info != nil {
		return delta.Decimal{Precision: t.Info.Width, Scale: t.Info.Scale}, t.ID == "DECIMAL" && t.Info.Type == "DECIMAL_TYPE_INFO"
	}
	switch t.ID {
	case "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		parsed, err := delta.ParseType(t.ID)
		return parsed, err == nil
	}
	return nil, false
}

func (b builder) operator(n *tree, depth int) (*expr, error) {
	args, err := b.trees(n.Children, depth)
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) == 0:
	case n.Type == "OPERATOR_NOT":
		return b.not(args[0])
	case n.Type == "OPERATOR_IS_NULL":
		return b.isNull(args[0]), nil
	case n.Type == "OPERATOR_IS_NOT_NULL":
		return b.not(b.isNull(args[0]))
	case n.Type == "COMPARE_IN":
		return b.in(args[0], args[1:])
	case n.Type == "COMPARE_NOT_IN":
		in, err := b.in(args[0], args[1:])
		if err != nil {
			return nil, err
		}
		return b.not(in)
	case n.Type == "OPERATOR_COALESCE":
		return b.call("coalesce", args)
	}
	return nil, invalid("%s is not served in constraints", strings.ToLower(n.Type))
}

func (b builder) function(n *tree, depth int) (*expr, error) {
	plainOrder := n.OrderBys == nil || len(n.OrderBys.Orders) == 0
	plainFilter := len(n.Filter) == 0 || string(n.Filter) == "null"
	if n.Catalog != "" || n.Schema != "" && n.Schema != "main" || n.Distinct || n.ExportState || !plainOrder || !plainFilter {
		return nil, invalid("this way of calling %.50q is not served in constraints", n.FunctionName)
	}
	args, err := b.trees(n.Children, depth)
	if err != nil {
		return nil, err
	}
	switch name := n.FunctionName; {
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
	return b.call(n.FunctionName, args)
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

func (b builder) constant(v *value) (*expr, error) {
	var text string
	switch {
	case v == nil:
	case v.IsNull:
		return b.null(), nil
	case v.Type.ID == "VARCHAR" && json.Unmarshal(v.Value, &text) == nil:
		return b.text(text)
	case v.Type.ID == "BOOLEAN":
		return b.boolean(string(v.Value) == "true"), nil
	case v.Type.ID == "DOUBLE":
		return b.double(string(v.Value))
	case v.Type.ID == "DECIMAL" && v.Type.Info != nil:
		return b.number(scaled(string(v.Value), v.Type.Info.Scale))
	case v.Type.ID == "INTEGER" || v.Type.ID == "BIGINT" || v.Type.ID == "HUGEINT" && len(v.Value) > 0 && v.Value[0] != '{':
		return b.number(string(v.Value))
	}
	return nil, invalid("a constant of this type is not served in constraints")
}

// scaled puts the point into a decimal that is stored as an integer.
func scaled(digits string, scale int) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if scale <= 0 || scale > maxDigits {
		return sign + digits
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
