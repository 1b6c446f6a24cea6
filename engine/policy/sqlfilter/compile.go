package sqlfilter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// ErrPolicy is returned by [Compile] for a stored policy that cannot be used. Callers
// refuse the statement: nothing may be read.
var ErrPolicy = errors.New("policy not usable")

// Policy is a stored policy that is enabled and applies to the table.
type Policy struct {
	ID      string
	Version int64
	Kind    policy.Kind
	// Text is the Cedar text, and Reading is how its literals are read.
	Text    string
	Reading policy.Reading
	// ColumnName is the column that policies of kinds cls and mask apply to.
	ColumnName string
	// Uncertain, if not nil, reports that the absence of a column from the [Request]
	// is uncertain, because the rows may have the column under another name. Any test
	// of it, including has, is then an error. Otherwise an absent column is absent
	// from every row.
	Uncertain func(column string) bool
}

// Principal is the user to whom the table is shown.
type Principal struct {
	UserID     string
	Role       string
	Attributes map[string]string
}

// Request holds the arguments of [Compile].
type Request struct {
	Policies  []Policy
	Principal Principal
	// Columns are all columns of the table.
	Columns []engine.Column
	// Alias names the table in the predicate.
	Alias string
	// ReadAs maps the exact names in Columns to the names in the relation that is read, for columns
	// whose names differ. Row policies refer to a column by the former; predicate, condition and
	// [Filter.Columns] by the latter.
	ReadAs map[string]string
}

// Filter describes which part of a table a user may see.
type Filter struct {
	// Restricted reports that some row may be hidden. If it is false, the table may be read without
	// a filter.
	Restricted bool
	// Deny reports that no row is visible, whatever the table contains.
	Deny bool
	// Predicate is SQL over the alias: a row is visible if it is TRUE; FALSE and NULL hide it. It
	// is empty if Restricted is false, and FALSE with Deny. Filters of equal meaning for two users
	// usually have equal text.
	Predicate string
	// Condition is the part of Predicate that pruning understands: every visible row satisfies it.
	// It is meaningless if Restricted is false.
	Condition engine.Condition
	// Assured is the opposite bound: every row that satisfies it is visible. It is meaningless if
	// Restricted is false.
	Assured engine.Condition
	// Columns are the columns that the predicate reads, by their exact names,
	// sorted.
	Columns []string
	// HiddenColumns are the exact names of the columns that the user does not see, sorted. The
	// predicate may read them nevertheless.
	HiddenColumns []string
	// Masks maps the exact name of a column that is not hidden to the mask under
	// which it is shown. The mask fits the column's type.
	Masks map[string]string
}

// Compile turns the policies of one table into the filter of one user.
// Order and number of equal policies do not matter. An error wraps [ErrPolicy];
// it means that a policy cannot be understood, and the table must not be read.
func Compile(req Request) (Filter, error) {
	policies := slices.Clone(req.Policies)
	slices.SortFunc(policies, func(a, b Policy) int { return strings.Compare(a.ID, b.ID) })
	c := compiler{req: req, terms: &sqlTerms{columns: req.Columns, alias: req.Alias, readAs: req.ReadAs}, shown: map[string]disclosure{}}
	for _, p := range policies {
		if err := c.add(p); err != nil {
			// The text error is not wrapped, because only authors of policies may see its position.
			return Filter{}, fmt.Errorf("%w: %s version %d: %s", ErrPolicy, p.ID, p.Version, err.Error())
		}
	}
	out, err := c.rows()
	if err != nil {
		return Filter{}, err
	}
	c.columns(&out)
	return out, nil
}

// compiler gathers the decisions of the policies of one table.
type compiler struct {
	req              Request
	terms            *sqlTerms
	permits, forbids []*predicate
	// shown is how much the user sees of each column; a missing column is shown clear.
	shown map[string]disclosure
}

func (c *compiler) add(p Policy) error {
	parsed, err := policy.Parse(p.Text)
	if err != nil {
		return err
	}
	if err := Check(parsed); err != nil {
		return err
	}
	if err := parsed.Suits(p.Kind, p.ColumnName, nil); err != nil {
		return err
	}
	if p.Kind != policy.KindRLS {
		return c.column(p, parsed)
	}
	terms := *c.terms
	terms.uncertain, terms.reading = p.Uncertain, p.Reading
	body, err := rowTruth(parsed.Tree, c.req.Principal, &terms)
	if err != nil {
		return err
	}
	if parsed.Effect() == policy.Permit {
		c.permits = append(c.permits, body.yes)
	} else {
		c.forbids = append(c.forbids, body.no)
	}
	return nil
}

// rows combines the row policies. If there are none, every row is visible.
func (c *compiler) rows() (Filter, error) {
	if len(c.permits)+len(c.forbids) == 0 {
		return Filter{}, nil
	}
	return rowFilter(and(append(c.forbids, or(c.permits...))...))
}

func rowFilter(visible *predicate) (Filter, error) {
	switch {
	case visible.kind == predicateTrue:
		return Filter{}, nil
	case visible.kind == predicateFalse:
		return Filter{Restricted: true, Deny: true, Predicate: visible.sql, Condition: visible.condition(), Assured: visible.assured()}, nil
	case len(visible.sql) > maxPredicate:
		return Filter{}, fmt.Errorf("%w: %w", ErrPolicy, errComplex)
	}
	used := map[string]bool{}
	visible.columns(used)
	return Filter{Restricted: true, Predicate: visible.sql, Condition: visible.condition(), Assured: visible.assured(),
		Columns: slices.Sorted(maps.Keys(used))}, nil
}

// rowTruth returns the truth of a policy's scope and conditions for one user.
func rowTruth(p *ast.Policy, user Principal, t *sqlTerms) (truth, error) {
	rest, keep := residual(p, user, t)
	if !keep {
		return constant(false), nil
	}
	return bodyTruth(rest, t)
}
