package sqlfilter

import (
	"slices"

	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine/policy"
)

// disclosure is how much of a column a user sees, from all of it to nothing. Of several policies
// the strictest, which has the greatest value, applies.
type disclosure int

const (
	shownClear disclosure = iota
	shownYear
	shownLast4
	shownHash
	shownNull
	shownNever
)

// masks names the disclosures between shownClear and shownNever.
var masks = [...]string{shownYear: policy.MaskYear, shownLast4: policy.MaskLast4, shownHash: policy.MaskHash, shownNull: policy.MaskNull}

// under returns the disclosure of a mask, and shownNever for an unknown mask.
func under(mask string) disclosure {
	for of := shownYear; of < shownNever; of++ {
		if masks[of] == mask {
			return of
		}
	}
	return shownNever
}

// column applies one policy of kind cls or mask to its column. It applies to every column of that
// name in any case, because statements cannot distinguish those.
func (c *compiler) column(p Policy, parsed policy.Parsed) error {
	clear, err := seesClear(parsed, c.req.Principal)
	if err != nil || clear {
		return err
	}
	left := shownNever
	if p.Kind == policy.KindMask {
		left = under(parsed.Mask())
	}
	for _, column := range c.req.Columns {
		if policy.FoldName(column.Name) != policy.FoldName(p.ColumnName) {
			continue
		}
		of := left
		if of != shownNever && !policy.MaskFits(masks[of], column.Type) {
			of = shownNull // the type has changed, or the policy is for every table
		}
		c.shown[column.Name] = max(c.shown[column.Name], of)
	}
	return nil
}

// seesClear reports whether a policy shows its column to the user unchanged. A permit that cannot
// be decided grants nothing; a forbid that cannot be decided applies.
func seesClear(parsed policy.Parsed, user Principal) (bool, error) {
	about := *parsed.Tree
	about.Action, about.Resource = ast.ScopeTypeAll{}, ast.ScopeTypeAll{}
	body, err := rowTruth(&about, user, &sqlTerms{})
	if err != nil {
		return false, err
	}
	if parsed.Effect() == policy.Permit {
		return body.yes.kind == predicateTrue, nil
	}
	return body.no.kind == predicateTrue, nil
}

// columns adds the disclosures of columns to the filter.
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

// Stricter combines two filters of one user over columns of equal names: for each column the
// stricter disclosure applies. Rows are those of f.
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
