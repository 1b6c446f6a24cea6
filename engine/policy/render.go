package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/lakewarden/lakewarden/engine"
)

// MaxTextBytes bounds a policy text.
const MaxTextBytes = 64 << 10

// Render returns the Cedar text of a definition. Equal arguments give equal
// texts. With columns, literals have the columns' types; without them they stay
// as written and take the type of each table's column when compiled. Render
// validates first; errors are of type [*FieldError].
//
// The text negates single tests only, and each test follows guards that decide it if an
// operand is missing: false in a permit, true in a forbid. No part of it can be an error
// for Cedar.
//
// A policy of kind cls or mask is about the action "unmask" on one column: a
// permit selects who sees it clear, a forbid who does not. Its mask is an
// annotation, @mask("hash").
func Render(d Definition, columnName string, kind Kind, columns []engine.Column) (string, error) {
	if err := d.Validate(kind, columnName, columns); err != nil {
		return "", err
	}
	r := renderer{effect: d.Effect, columnName: columnName, columns: columns}
	var parts []string
	principal := "principal"
	switch s := d.Subject; {
	case s.Role != nil:
		principal += " in " + RoleUID(*s.Role).String()
	case s.Attribute != nil && s.Op.NeedsOperand() && s.Value == nil:
		parts = append(parts, r.test(Condition{Op: *s.Op, Attribute: s.Attribute}, false))
	case s.Attribute != nil:
		parts = append(parts, r.attribute(*s.Attribute, *s.Op, s.Value))
	}
	if d.Condition != nil {
		parts = append(parts, r.condition(*d.Condition, false))
	}
	action, resource := "action", "resource"
	if kind != KindRLS {
		action += " == " + unmaskUID.String()
		resource += " == " + columnUID(columnName).String()
	}
	text := fmt.Sprintf("%s (%s, %s, %s)", d.Effect, principal, action, resource)
	if d.Mask != nil && *d.Mask != MaskNull {
		text = "@" + maskAnnotation + `("` + *d.Mask + "\")\n" + text
	}
	if len(parts) > 0 {
		text += "\nwhen { " + group(parts, " && ") + " }"
	}
	text += ";"
	if len(text) > MaxTextBytes {
		return "", &FieldError{root, CodeTooLarge, fmt.Sprintf("makes a policy text of more than %d bytes", MaxTextBytes)}
	}
	return text, nil
}

// maskAnnotation names a mask in a text. Cedar's decisions ignore annotations.
const maskAnnotation = "mask"

// The entities of a policy text.
const (
	// UserType is the type of the entity of a user.
	UserType   = types.EntityType("User")
	roleType   = types.EntityType("Role")
	actionType = types.EntityType("Action")
	columnEnt  = types.EntityType("Column")
	rowType    = types.EntityType("Row")
)

var (
	// ReadUID is the action of row policies.
	ReadUID   = types.NewEntityUID(actionType, "read")
	unmaskUID = types.NewEntityUID(actionType, "unmask")
)

// RoleUID returns the entity of a role.
func RoleUID(role string) types.EntityUID { return types.NewEntityUID(roleType, types.String(role)) }

func columnUID(name string) types.EntityUID { return types.NewEntityUID(columnEnt, types.String(name)) }

type renderer struct {
	effect     Effect
	columnName string
	columns    []engine.Column
}

// condition renders c, or its negation.
func (r renderer) condition(c Condition, not bool) string {
	switch {
	case c.Not != nil:
		return r.condition(*c.Not, !not)
	case c.And == nil && c.Or == nil:
		return r.test(c, not)
	}
	list, join := c.And, " && "
	if c.Or != nil {
		list = c.Or
	}
	if (c.Or != nil) != not {
		join = " || "
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = r.condition(item, not)
	}
	return group(parts, join)
}

// group joins parts, with parentheses around each where there are several.
func group(parts []string, join string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = "(" + p + ")"
	}
	return strings.Join(out, join)
}

// test renders one test of a column, with its guards.
func (r renderer) test(c Condition, not bool) string {
	name := r.columnName
	if c.Column != nil {
		name = *c.Column
	}
	t, known := ColumnType{}, false
	if r.columns != nil {
		column, ok := FindColumn(r.columns, name)
		if ok {
			name, t, known = column.Name, Classify(column.Type), true
		}
	}
	op := c.Op
	if opposite := op.Opposite(); opposite != "" && not {
		op, not = opposite, false
	}
	left := "resource" + MemberText(name)
	guards := []string{"resource" + has(name)}
	if !op.NeedsOperand() {
		return presence(guards[0], op)
	}
	if c.Attribute != nil {
		guards = append([]string{"principal" + has(*c.Attribute)}, guards...)
		return r.guarded(guards, compareText(left, op, "principal"+MemberText(*c.Attribute), t.Class == classDecimal))
	}
	if op.pattern() {
		return r.guarded(guards, r.matchText(left, op, c.Value, not))
	}
	return r.guarded(guards, literalTest(left, op, c.Value, t, known))
}

// attribute renders a test of a user's attribute against a value.
func (r renderer) attribute(name string, op Op, value any) string {
	left, guard := "principal"+MemberText(name), "principal"+has(name)
	switch {
	case !op.NeedsOperand():
		return presence(guard, op)
	case op.pattern():
		return r.guarded([]string{guard}, r.matchText(left, op, value, false))
	}
	t, known := ColumnType{}, false
	if op.ordered() {
		if _, isString := value.(string); isString {
			// Validation let it pass as a point in time.
			t, known = ColumnType{Class: classTimestamp}, true
		}
	}
	return r.guarded([]string{guard}, literalTest(left, op, value, t, known))
}

func presence(has string, op Op) string {
	if op == OpIsNull {
		return "!(" + has + ")"
	}
	return has
}

// guarded puts test behind guards, so that a missing operand decides it.
func (r renderer) guarded(guards []string, test string) string {
	if r.effect == Permit {
		return strings.Join(append(slices.Clone(guards), test), " && ")
	}
	var b strings.Builder
	for _, g := range guards {
		b.WriteString("!(" + g + ") || ")
	}
	return b.String() + test
}

func (r renderer) matchText(left string, op Op, value any, not bool) string {
	pieces, err := opPieces(op, value.(string))
	if err != nil {
		// Validated before.
		return "false"
	}
	test := left + " like " + string(CedarPattern(pieces).MarshalCedar())
	if not {
		return "!(" + test + ")"
	}
	return test
}

// literalTest renders a comparison with a value or a list of values.
func literalTest(left string, op Op, value any, t ColumnType, known bool) string {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	values := make([]types.Value, len(items))
	decimals := false
	for i, item := range items {
		v, _ := fromJSON(item)
		if known {
			v, _ = t.Coerce(v)
		}
		_, isDecimal := v.(types.Decimal)
		decimals = decimals || isDecimal
		values[i] = v
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if decimals {
			// One list has one type.
			if d, ok := asDecimal(v); ok {
				v = d
			}
		}
		texts[i] = literalText(v, t)
	}
	if isList {
		return compareText(left, op, "["+strings.Join(texts, ", ")+"]", decimals)
	}
	return compareText(left, op, texts[0], decimals)
}

var cedarCompare = map[Op][2]string{
	OpEq: {"==", ""}, OpNeq: {"!=", ""},
	OpLt: {"<", "lessThan"}, OpLte: {"<=", "lessThanOrEqual"},
	OpGt: {">", "greaterThan"}, OpGte: {">=", "greaterThanOrEqual"},
}

// compareText renders a comparison. Cedar orders decimals by methods, and asks
// a set whether it contains a value.
func compareText(left string, op Op, right string, decimals bool) string {
	switch {
	case op == OpIn:
		return right + ".contains(" + left + ")"
	case op == OpNotIn:
		return "!(" + right + ".contains(" + left + "))"
	case decimals && op.ordered():
		return left + "." + cedarCompare[op][1] + "(" + right + ")"
	}
	return left + " " + cedarCompare[op][0] + " " + right
}

func literalText(v types.Value, t ColumnType) string {
	if d, ok := v.(types.Datetime); ok && t.Class == ClassDate {
		return `datetime("` + d.Time().UTC().Format("2006-01-02") + `")`
	}
	return string(v.MarshalCedar())
}

var plainIdent = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var reserved = []string{"true", "false", "if", "then", "else", "in", "like", "has", "is", "__cedar"}

func isIdent(s string) bool { return plainIdent.MatchString(s) && !slices.Contains(reserved, s) }

// MemberText returns the Cedar text that selects a member of principal or resource.
func MemberText(name string) string {
	if isIdent(name) {
		return "." + name
	}
	return "[" + string(types.String(name).MarshalCedar()) + "]"
}

func has(name string) string {
	if isIdent(name) {
		return " has " + name
	}
	return " has " + string(types.String(name).MarshalCedar())
}
