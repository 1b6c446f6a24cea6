package policy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
)

// disclosure is how much of a column a user sees, from all of it to nothing. Of
// several policies the strictest, the greatest one, wins.
type disclosure int

const (
	shownClear disclosure = iota
	shownYear
	shownLast4
	shownHash
	shownNull
	shownNever
)

// masks names what is between the ends.
var masks = [...]string{shownYear: MaskYear, shownLast4: MaskLast4, shownHash: MaskHash, shownNull: MaskNull}

// under is what a mask leaves of a column. What is no mask leaves nothing.
func under(mask string) disclosure {
	for of := shownYear; of < shownNever; of++ {
		if masks[of] == mask {
			return of
		}
	}
	return shownNever
}

func validMask(mask string) bool { return under(mask) != shownNever }

// Suits reports whether a text can be a policy of this kind and columnName. For
// kinds cls and mask the text must be about that column and nothing else: its
// conditions may look at the user only, because a column is shown or not for all
// rows alike. With columns, a mask must fit the column's type. Errors are of
// type [*TextError] or [*FieldError].
func (p Parsed) Suits(kind Kind, columnName string, columns []engine.Column) error {
	if kind != KindMask && p.annotation() != "" {
		return p.text.mask().errorf("@mask is for policies of kind mask only")
	}
	if kind == KindRLS {
		if !rowScope(p.policy) {
			return p.text.action().errorf("a policy of kind rls is about rows: the scope is (principal, action, resource)")
		}
		return nil
	}
	switch column, ok := columnScope(p.policy); {
	case !kind.Valid():
		return invalid("kind", "must be rls, cls or mask")
	case columnName == "":
		return &FieldError{"columnName", CodeRequired, "is required for policies of kind cls and mask"}
	case !ok || foldASCII(column) != foldASCII(columnName):
		return p.text.resource().errorf("a policy of kind " + string(kind) + " is about its column: write resource == Column::" + strconv.Quote(columnName))
	case readsRow(p.policy):
		return p.text.condition("resource").errorf("a policy of kind " + string(kind) + " decides for all rows alike: its conditions cannot look at resource")
	}
	if kind != KindMask {
		return nil
	}
	return maskFits("policyText", p.mask(), columnName, columns)
}

// columnScope returns the column that a policy's scope is about.
func columnScope(p *ast.Policy) (string, bool) {
	column, ok := p.Resource.(ast.ScopeTypeEq)
	action, named := p.Action.(ast.ScopeTypeEq)
	return string(column.Entity.ID), ok && column.Entity.Type == columnEnt && (!named || action.Entity == unmaskUID)
}

// column notes what one policy of kind cls or mask leaves of its column. It
// concerns every column of that name in any case: statements cannot tell those
// apart.
func (c *compiler) column(p Policy, parsed Parsed) error {
	clear, err := seesClear(parsed, c.req.Principal)
	if err != nil || clear {
		return err
	}
	left := shownNever
	if p.Kind == KindMask {
		left = under(parsed.mask())
	}
	for _, column := range c.req.Columns {
		if foldASCII(column.Name) != foldASCII(p.ColumnName) {
			continue
		}
		of := left
		if of != shownNever && !MaskFits(masks[of], column.Type) {
			of = shownNull // the type changed since, or the policy is for every table
		}
		c.shown[column.Name] = max(c.shown[column.Name], of)
	}
	return nil
}

// mask is how a policy of kind mask shows its column.
func (p Parsed) mask() string {
	if mask := p.annotation(); mask != "" {
		return mask
	}
	return MaskNull
}

// annotation returns the value of @mask, or "" if the policy has none.
func (p Parsed) annotation() string {
	for _, a := range p.policy.Annotations {
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

// seesClear reports whether a policy lets the user see its column as it is. A
// permit that cannot be decided lets nobody, a forbid that cannot holds for
// everybody.
func seesClear(parsed Parsed, user Principal) (bool, error) {
	about := *parsed.policy
	about.Action, about.Resource = ast.ScopeTypeAll{}, ast.ScopeTypeAll{}
	body, err := rowTruth(&about, user, &sqlTerms{})
	if err != nil {
		return false, err
	}
	if parsed.Effect() == Permit {
		return body.yes.kind == predicateTrue, nil
	}
	return body.no.kind == predicateTrue, nil
}

// columns writes what was noted of columns into the filter.
func (c *compiler) columns(out *Filter) {
	for name, left := range c.shown {
		switch {
		case left == shownNever:
			out.HiddenColumns = append(out.HiddenColumns, name)
		case out.Masks == nil:
			out.Masks = map[string]string{name: masks[left]}
		default:
			out.Masks[name] = masks[left]
		}
	}
	slices.Sort(out.HiddenColumns)
}

// Stricter joins two filters of one user over columns of equal names: of each
// column the stricter disclosure stays. Rows are those of f.
func (f Filter) Stricter(hidden []string, masks map[string]string) Filter {
	c := compiler{shown: map[string]disclosure{}}
	note := func(hidden []string, masks map[string]string) {
		for _, name := range hidden {
			c.shown[name] = shownNever
		}
		for name, mask := range masks {
			c.shown[name] = max(c.shown[name], under(mask))
		}
	}
	note(f.HiddenColumns, f.Masks)
	note(hidden, masks)
	f.HiddenColumns, f.Masks = nil, nil
	c.columns(&f)
	return f
}

func maskFits(field, mask, column string, columns []engine.Column) error {
	c, ok := findColumn(columns, column)
	if !ok || MaskFits(mask, c.Type) {
		return nil
	}
	return &FieldError{field, CodeTypeNotSupported, fmt.Sprintf("%s does not mask columns of type %s", mask, c.Type)}
}
