package policy

import (
	"fmt"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
)

// Summary says which columns the policies of one kind are about. It is safe to
// show to the user that the policies bind: it holds no text, value, role or
// attribute.
type Summary struct {
	Kind Kind
	// Columns are exact names of columns of the table, sorted.
	Columns []string
}

// Summarize describes policies by kind, in the order rls, cls, mask. Kinds
// without a policy are left out; a policy of kind rls that names no column of
// the table still counts. An error wraps [ErrPolicy].
func Summarize(policies []Policy, columns []engine.Column) ([]Summary, error) {
	found := map[Kind]map[string]bool{}
	for _, p := range policies {
		if !p.Kind.Valid() {
			return nil, fmt.Errorf("%w: %s has kind %q", ErrPolicy, p.ID, p.Kind)
		}
		if found[p.Kind] == nil {
			found[p.Kind] = map[string]bool{}
		}
		names := []string{p.ColumnName}
		if p.Kind == KindRLS {
			parsed, err := Parse(p.Text)
			if err != nil {
				return nil, fmt.Errorf("%w: %s version %d: %w", ErrPolicy, p.ID, p.Version, err)
			}
			names = parsed.Columns()
		}
		for _, name := range names {
			if c, ok := findColumn(columns, name); ok {
				found[p.Kind][c.Name] = true
			}
		}
	}
	var out []Summary
	for _, kind := range []Kind{KindRLS, KindCLS, KindMask} {
		if names, ok := found[kind]; ok {
			out = append(out, Summary{Kind: kind, Columns: sortedKeys(names)})
		}
	}
	return out, nil
}

// Columns returns the columns that the policy names, as written, sorted.
func (p Parsed) Columns() []string {
	return p.members("resource")
}

// Attributes returns the user attributes that the policy names, sorted.
func (p Parsed) Attributes() []string {
	return p.members("principal")
}

func (p Parsed) members(variable types.String) []string {
	names := map[string]bool{}
	note := func(op ast.StrOpNode) {
		if v, ok := op.Arg.(ast.NodeTypeVariable); ok && v.Name == variable {
			names[string(op.Value)] = true
		}
	}
	for _, c := range p.policy.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			switch n := n.(type) {
			case ast.NodeTypeAccess:
				note(n.StrOpNode)
			case ast.NodeTypeHas:
				note(n.StrOpNode)
			}
			return true
		})
	}
	return sortedKeys(names)
}
