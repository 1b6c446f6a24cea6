package policy

import (
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/lakewarden/lakewarden/engine"
)

// maxName bounds the length of names of columns, roles and attributes.
const maxName = 256

// Validate checks that d is a valid policy of this kind and columnName ("" for none). With columns,
// every column must exist and every operator and value must fit its type; without them (a policy
// for all tables) these checks are omitted. It returns the first error, of type [*FieldError].
func (d Definition) Validate(kind Kind, columnName string, columns []engine.Column) error {
	v := validator{columnName: columnName, columns: columns}
	switch {
	case !kind.Valid():
		return invalid("kind", "must be rls, cls or mask")
	case d.Effect == "":
		return &FieldError{root + ".effect", CodeRequired, "is required"}
	case d.Effect != Permit && d.Effect != Forbid:
		return invalid(root+".effect", "must be permit or forbid")
	}
	if columnName != "" {
		if err := v.column("columnName", columnName); err != nil {
			return err
		}
	}
	if err := v.Mask(kind, d.Mask, columnName); err != nil {
		return err
	}
	if err := v.subject(kind, d.Subject); err != nil {
		return err
	}
	if kind != KindRLS {
		if columnName == "" {
			return &FieldError{"columnName", CodeRequired, "is required for policies of kind cls and mask"}
		}
		if d.Condition != nil {
			return invalid(root+".condition", "must be null for policies of kind cls and mask")
		}
		return nil
	}
	if d.Condition == nil {
		return nil
	}
	return v.condition(root+".condition", *d.Condition, 1)
}

type validator struct {
	columnName string
	columns    []engine.Column
	leaves     int
}

func (v *validator) Mask(kind Kind, mask *string, column string) error {
	const path = root + ".mask"
	switch {
	case mask == nil:
		return nil
	case kind != KindMask:
		return invalid(path, "is for policies of kind mask only")
	case !validMask(*mask):
		return invalid(path, "must be null, hash, last4 or year")
	}
	return maskFits(path, *mask, column, v.columns)
}

func (v *validator) subject(kind Kind, s Subject) error {
	const path = root + ".subject"
	n := 0
	if s.Everyone != nil && *s.Everyone {
		n++
	}
	if s.Role != nil {
		n++
		if err := checkName(path+".role", *s.Role); err != nil {
			return err
		}
	}
	if s.Attribute != nil {
		n++
		if err := checkName(path+".attribute", *s.Attribute); err != nil {
			return err
		}
	}
	switch {
	case n == 0:
		return &FieldError{path, CodeRequired, "must set everyone to true, or give role or attribute"}
	case n > 1:
		return invalid(path, "must have only one of everyone, role and attribute")
	case s.Attribute == nil && s.Op != nil:
		return invalid(path+".op", "needs attribute")
	case s.Attribute == nil && s.Value != nil:
		return invalid(path+".value", "needs attribute")
	case s.Attribute == nil:
		return nil
	case s.Op == nil:
		return &FieldError{path + ".op", CodeRequired, "is required with attribute"}
	}
	op := *s.Op
	if err := checkOp(path+".op", op); err != nil {
		return err
	}
	if op.NeedsOperand() && s.Value == nil {
		if kind != KindRLS {
			return &FieldError{path + ".value", CodeRequired, "is required for policies of kind cls and mask"}
		}
		// A row filter compares the policy's column with the attribute.
		return v.attributeTest(path, v.columnName, "columnName", op)
	}
	if err := checkValue(path, op, s.Value); err != nil {
		return err
	}
	return checkSubjectOrder(path, op, s.Value)
}

// checkSubjectOrder checks that an operator suits an attribute. The attribute has the type of the
// value it is compared with, and only some types have an order.
func checkSubjectOrder(path string, op Op, value any) error {
	if !op.ordered() {
		return nil
	}
	v, _ := fromJSON(value)
	if s, ok := v.(types.String); ok {
		if _, ok := asDatetime(s); !ok {
			return notSupported(path+".op", op, "text")
		}
	}
	return nil
}

func (v *validator) condition(path string, c Condition, depth int) error {
	if depth > MaxDepth {
		return &FieldError{path, CodeTooLarge, fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
	}
	if c.And == nil && c.Or == nil && c.Not == nil {
		return v.test(path, c)
	}
	forms := 0
	for _, set := range []bool{c.And != nil, c.Or != nil, c.Not != nil, c.Op != "" || c.Column != nil || c.Value != nil ||
		c.Attribute != nil} {
		if set {
			forms++
		}
	}
	if forms > 1 {
		return invalid(path, "must be one test, or exactly one of and, or, not")
	}
	if c.Not != nil {
		return v.condition(path+".not", *c.Not, depth+1)
	}
	name, list := ".and", c.And
	if c.Or != nil {
		name, list = ".or", c.Or
	}
	if len(list) == 0 {
		return invalid(path+name, "must hold at least one condition")
	}
	for i, item := range list {
		if err := v.condition(fmt.Sprintf("%s%s[%d]", path, name, i), item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) test(path string, c Condition) error {
	if v.leaves++; v.leaves > MaxLeaves {
		return &FieldError{root + ".condition", CodeTooLarge, fmt.Sprintf("has more than %d tests", MaxLeaves)}
	}
	if c.Op == "" {
		return &FieldError{path + ".op", CodeRequired, "is required"}
	}
	if err := checkOp(path+".op", c.Op); err != nil {
		return err
	}
	column, field := v.columnName, "columnName"
	if c.Column != nil {
		column, field = *c.Column, path+".column"
	}
	if c.Attribute != nil {
		if c.Value != nil {
			return invalid(path, "must have value or attribute, not both")
		}
		if !c.Op.NeedsOperand() {
			return invalid(path+".attribute", "does not go with %s", c.Op)
		}
		if err := checkName(path+".attribute", *c.Attribute); err != nil {
			return err
		}
		return v.attributeTest(path, column, field, c.Op)
	}
	if err := v.column(field, column); err != nil {
		return err
	}
	if err := checkValue(path, c.Op, c.Value); err != nil {
		return err
	}
	return v.fits(path, column, c.Op, c.Value)
}

// attributeTest checks a comparison of a column with an attribute.
func (v *validator) attributeTest(path, column, field string, op Op) error {
	if op.pattern() {
		return invalid(path+".op", "%s compares with a value, not with an attribute", op)
	}
	if err := v.column(field, column); err != nil {
		return err
	}
	return v.fits(path, column, op, nil)
}

func (v *validator) column(field, name string) error {
	if name == "" {
		return &FieldError{field, CodeRequired, "is required: the test names no column"}
	}
	if err := checkName(field, name); err != nil {
		return err
	}
	if v.columns != nil && !HasColumn(v.columns, name) {
		return &FieldError{field, CodeUnknownColumn, "is not a column of the table"}
	}
	return nil
}

// fits checks operator and value against the column's type, if it is known.
func (v *validator) fits(path, column string, op Op, value any) error {
	if v.columns == nil {
		return nil
	}
	c, _ := FindColumn(v.columns, column)
	t := Classify(c.Type)
	if !t.Class.Supports(op) {
		return notSupported(path+".op", op, "columns of type "+typeName(c.Type))
	}
	if op.pattern() || value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return fitsOne(path+".value", c, value)
	}
	for i, item := range list {
		if err := fitsOne(fmt.Sprintf("%s.value[%d]", path, i), c, item); err != nil {
			return err
		}
	}
	return nil
}

// fitsOne checks that a value is one of the column's type, in the notation of definitions.
func fitsOne(path string, c engine.Column, value any) error {
	t := Classify(c.Type)
	datum, ok := fromJSON(value)
	if !ok {
		return invalid(path, "is not a value of type %s", typeName(c.Type))
	}
	_, fits := ReadNotation.Literal(t, datum)
	_, isString := datum.(types.String)
	if _, ok := t.Coerce(datum); ok && fits {
		return nil
	} else if fits || isString && (t.Class == classDecimal || t.Class == ClassDate || t.Class == classTimestamp) {
		return invalid(path, "is not a value of column %s, which is of type %s", clip(c.Name), typeName(c.Type))
	}
	return invalid(path, "is %s, but column %s is of type %s", literalKind(datum), clip(c.Name), typeName(c.Type))
}

func notSupported(field string, op Op, what string) error {
	return &FieldError{field, CodeTypeNotSupported, fmt.Sprintf("%s is not supported for %s", op, what)}
}

func checkOp(field string, op Op) error {
	if !op.valid() {
		return invalid(field, "must be one of eq, neq, lt, lte, gt, gte, in, not_in, like, starts_with, contains, is_null, is_not_null")
	}
	return nil
}

func checkName(field, name string) error {
	switch {
	case name == "":
		return invalid(field, "must not be empty")
	case len(name) > maxName:
		return invalid(field, "must have at most %d bytes", maxName)
	case !Storable(name):
		return invalid(field, "must be valid UTF-8 without NUL")
	}
	return nil
}

// checkValue checks the shape of a value against its operator.
func checkValue(path string, op Op, value any) error {
	field := path + ".value"
	list, isList := value.([]any)
	switch {
	case !op.NeedsOperand():
		if value != nil {
			return invalid(field, "does not go with %s", op)
		}
		return nil
	case value == nil:
		return &FieldError{field, CodeRequired, "is required with " + string(op) + "; to test for NULL use is_null"}
	case isList != op.list():
		if isList {
			return invalid(field, "must be one value with %s", op)
		}
		return invalid(field, "must be an array with %s", op)
	case !isList:
		return checkScalar(field, op, value)
	case len(list) == 0:
		return invalid(field, "must hold at least one value")
	case len(list) > MaxListValues:
		return &FieldError{field, CodeTooLarge, fmt.Sprintf("holds more than %d values", MaxListValues)}
	}
	for i, item := range list {
		if err := checkScalar(fmt.Sprintf("%s[%d]", field, i), op, item); err != nil {
			return err
		}
		if kindOf(item) != kindOf(list[0]) {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "must have the same JSON type as the first value")
		}
	}
	return nil
}

func checkScalar(field string, op Op, value any) error {
	datum, ok := fromJSON(value)
	if !ok {
		return invalid(field, "must be a string, a number of at most 64 bits and 4 fractional digits, or a boolean")
	}
	s, isString := datum.(types.String)
	if _, isBool := datum.(types.Boolean); isBool && op.ordered() {
		return notSupported(strings.TrimSuffix(field, ".value")+".op", op, "booleans")
	}
	if isString && len(s) > MaxStringBytes {
		return &FieldError{field, CodeTooLarge, fmt.Sprintf("has more than %d bytes", MaxStringBytes)}
	}
	if isString && !Storable(string(s)) {
		return invalid(field, "must be valid UTF-8 without NUL")
	}
	if !op.pattern() {
		return nil
	}
	if !isString || s == "" {
		return invalid(field, "must be a string that is not empty")
	}
	if op == OpLike {
		pieces, err := likePieces(string(s))
		if err == nil {
			err = checkPattern(pieces)
		}
		if err != nil {
			return invalid(field, "%s", err.Error())
		}
	}
	return nil
}

func kindOf(v any) string { return fmt.Sprintf("%T", v) }
