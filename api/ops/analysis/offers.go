package analysis

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Offer says whether the caller may make the change of a proposal.
type Offer struct {
	// Applicable reports that the proposal has a change and that the caller has the scopes
	// that the request needs.
	Applicable bool
	// RequiresScope is the first scope that the caller lacks, if any.
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
		out[i].Applicable = out[i].RequiresScope == ""
	}
	return out, nil
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
