package policy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Suits reports whether a text can be a policy of this kind and columnName. For kinds cls and mask
// the scope must name that column, and conditions may test the user only, because a column is shown
// or hidden for all rows alike. With columns, a mask must fit the column's type. Errors are of type
// [*TextError] or [*FieldError].
func (p Parsed) Suits(kind Kind, columnName string, columns []engine.Column) error {
	if kind != KindMask && p.annotation() != "" {
		return p.text.mask().errorf("@mask is for policies of kind mask only")
	}
	if kind == KindRLS {
		if !rowScope(p.Tree) {
			return p.text.action().errorf("a policy of kind rls is about rows: the scope is (principal, action, resource)")
		}
		return nil
	}
	switch column, ok := ColumnScope(p.Tree); {
	case !kind.Valid():
		return invalid("kind", "must be rls, cls or mask")
	case columnName == "":
		return &FieldError{"columnName", CodeRequired, "is required for policies of kind cls and mask"}
	case !ok || FoldName(column) != FoldName(columnName):
		return p.text.resource().errorf("a policy of kind " + string(kind) + " is about its column: write resource == Column::" +
			strconv.Quote(columnName))
	case readsRow(p.Tree):
		return p.text.condition("resource").errorf("a policy of kind " + string(kind) +
			" decides for all rows alike: its conditions cannot look at resource")
	}
	if kind != KindMask {
		return nil
	}
	return maskFits("policyText", p.Mask(), columnName, columns)
}

// ColumnScope returns the column in a policy's scope.
func ColumnScope(p *ast.Policy) (string, bool) {
	column, ok := p.Resource.(ast.ScopeTypeEq)
	action, named := p.Action.(ast.ScopeTypeEq)
	return string(column.Entity.ID), ok && column.Entity.Type == columnEnt && (!named || action.Entity == unmaskUID)
}

// rowScope reports whether a policy's action and resource are those of reading
// rows.
func rowScope(p *ast.Policy) bool {
	_, about := p.Resource.(ast.ScopeTypeEq)
	action, named := p.Action.(ast.ScopeTypeEq)
	return !about && (!named || action.Entity == ReadUID)
}

// Mask returns the mask under which a policy of kind mask shows its column.
func (p Parsed) Mask() string {
	if mask := p.annotation(); mask != "" {
		return mask
	}
	return MaskNull
}

// annotation returns the value of @mask, or "" if the policy has none.
func (p Parsed) annotation() string {
	for _, a := range p.Tree.Annotations {
		if a.Key == maskAnnotation {
			return string(a.Value)
		}
	}
	return ""
}

// readsRow reports whether a condition of the policy reads a column of the row.
func readsRow(p *ast.Policy) bool {
	reads := false
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			v, ok := n.(ast.NodeTypeVariable)
			reads = reads || ok && v.Name == "resource"
			return !reads
		})
	}
	return reads
}

func maskFits(field, mask, column string, columns []engine.Column) error {
	c, ok := FindColumn(columns, column)
	if !ok || MaskFits(mask, c.Type) {
		return nil
	}
	return &FieldError{field, CodeTypeNotSupported, fmt.Sprintf("%s does not mask columns of type %s", mask, c.Type)}
}

func validMask(mask string) bool {
	return slices.Contains([]string{MaskNull, MaskHash, MaskLast4, MaskYear}, mask)
}

// hashable reports whether [MaskHash] fits a type.
func hashable(t sqltype.Type) bool {
	switch t {
	case sqltype.Varchar, sqltype.Blob, sqltype.Boolean, sqltype.Date, sqltype.Timestamp, sqltype.TimestampTZ, sqltype.Float, sqltype.Double,
		sqltype.TinyInt, sqltype.SmallInt, sqltype.Integer, sqltype.BigInt, sqltype.HugeInt,
		sqltype.UTinyInt, sqltype.USmallInt, sqltype.UInteger, sqltype.UBigInt:
		return true
	}
	_, isDecimal := t.(sqltype.Decimal)
	return isDecimal
}

// MaskFits reports whether columns of a type can be shown under a mask.
func MaskFits(mask string, typ sqltype.Type) bool {
	switch mask {
	case MaskNull:
		return true
	case MaskHash:
		return hashable(typ)
	case MaskLast4:
		return typ == sqltype.Varchar
	case MaskYear:
		return typ == sqltype.Date || typ == sqltype.Timestamp || typ == sqltype.TimestampTZ
	}
	return false
}
