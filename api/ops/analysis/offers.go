package analysis

import (
	"context"
	"errors"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Offer says whether the caller may make the change of a proposal.
type Offer struct {
	// Applicable reports that the proposal has a change and that the request would be accepted
	// from the caller: it has the scopes that the request needs, and a new rule is from a caller
	// who may change the whole table.
	Applicable bool
	// RequiresScope is the first scope that the caller lacks, if any. For a new rule of a table
	// of which the caller sees only a part it is rls_policies:write.
	RequiresScope auth.Scope
}

// scopesOf returns the scopes that the request of a change needs. Those of the whole
// organisation are judged by the role there, the others where the table is.
func scopesOf(change analysis.Change) (scopes []auth.Scope, organisation bool) {
	switch change.(type) {
	case analysis.UpdateRows:
		return []auth.Scope{auth.ScopeRowsUpdate}, false
	case analysis.MergeRows:
		return []auth.Scope{auth.ScopeRowsInsert, auth.ScopeRowsUpdate, auth.ScopeRowsDelete}, false
	case analysis.MapColumns:
		return []auth.Scope{auth.ScopeRowsInsert}, false
	case analysis.ListDomain, analysis.RangeDomain:
		return []auth.Scope{auth.ScopeDomainsWrite}, false
	case analysis.MaskColumn:
		return []auth.Scope{auth.ScopePoliciesWrite}, true
	}
	return []auth.Scope{auth.ScopeTablesModify}, false
}

// offers judges the proposals for their caller.
func (o *Service) offers(ctx context.Context, a caller.Identity, t access.Table, proposals []analysis.Proposal) ([]Offer, error) {
	out := make([]Offer, len(proposals))
	lacks := map[auth.Scope]bool{}
	for i, p := range proposals {
		if p.Change == nil {
			continue
		}
		scopes, organisation := scopesOf(p.Change)
		for _, scope := range scopes {
			missing, known := lacks[scope]
			if !known {
				var err error
				if missing, err = o.missing(ctx, a, t, scope, organisation); err != nil {
					return nil, err
				}
				lacks[scope] = missing
			}
			if missing {
				out[i].RequiresScope = scope
				break
			}
		}
		if out[i].RequiresScope == "" && isRule(p.Change) {
			whole, err := t.MayChangeWhole(ctx)
			if err != nil {
				return nil, err
			}
			if !whole {
				out[i].RequiresScope = auth.ScopePoliciesWrite
			}
		}
		out[i].Applicable = out[i].RequiresScope == "" && !writesMasked(t, p)
	}
	return out, nil
}

// isRule reports whether a change adds a rule that all rows of the table must satisfy.
func isRule(change analysis.Change) bool {
	switch change.(type) {
	case analysis.AddCheck, analysis.ForbidNull, analysis.MakeUnique, analysis.SetPrimaryKey, analysis.ListDomain, analysis.RangeDomain:
		return true
	}
	return false
}

// writesMasked reports whether a proposal is about a column of which the caller sees masked
// values: they must not be written, nor become a rule.
func writesMasked(t access.Table, p analysis.Proposal) bool {
	if _, ok := p.Change.(analysis.MaskColumn); ok {
		return false
	}
	return slices.ContainsFunc(p.Columns, t.Masks)
}

func (o *Service) missing(ctx context.Context, a caller.Identity, t access.Table, scope auth.Scope, organisation bool) (bool, error) {
	var err error
	if organisation {
		err = a.Require(scope)
	} else {
		err = o.Tables.Permit(ctx, a, t.Located().Config, scope)
	}
	var scopeless *auth.ScopeError
	if errors.Is(err, catalog.ErrDenied) || errors.As(err, &scopeless) {
		return true, nil
	}
	return false, err
}
