package admin

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// The bounds of the warnings about a policy of every table.
const (
	maxWarnedTables = 100
	maxCheckedTime  = 5 * time.Second
)

// warningUnchecked is the code of a warning that the other warnings may be incomplete.
const warningUnchecked = "not_checked"

// PolicyWarning is a part of a policy that decides less about the rows of some tables than it
// seems to.
type PolicyWarning struct {
	Policy catalog.PolicyID
	// Code is one of the codes of [policy.Remark], or not_checked for tables that could not be read
	// in time.
	Code    string
	Column  string
	Message string
	// Tables are the names of the first tables that the warning is about, and Count is the number of
	// all of them.
	Tables []string
	Count  int
}

// warningsOver returns the warnings about a policy over one table.
func warningsOver(p catalog.Policy, table string, columns []engine.Column) []PolicyWarning {
	parsed, err := policy.Parse(p.Text)
	if err != nil {
		return nil // a statement over the table says so
	}
	var out []PolicyWarning
	for _, r := range parsed.Remarks(columns, access.PolicyReading(p)) {
		out = append(out, PolicyWarning{p.ID, r.Code, r.Column, r.Message, []string{table}, 1})
	}
	return out
}

// warnings returns the warnings about a policy over the tables that the viewer sees. It never
// fails, because the policy is stored already.
func (o Policies) warnings(ctx context.Context, viewer catalog.Viewer, p catalog.Policy) []PolicyWarning {
	ctx, cancel := context.WithTimeout(ctx, maxCheckedTime)
	defer cancel()
	var mu sync.Mutex
	var found []PolicyWarning
	var unchecked []string
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(ctx, viewer, catalog.TableFilter{DeltaID: p.Table}, page)
	}, func(t catalog.LocatedTable) error {
		group.Go(func() error {
			columns, err := o.Lake.Columns(groupCtx, t)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				unchecked = append(unchecked, t.FQN())
			case p.Table != "" || p.Column == "" || policy.HasColumn(columns, p.Column):
				found = append(found, warningsOver(p, t.FQN(), columns)...)
			}
			return nil
		})
		return nil
	})
	_ = group.Wait() // no function returns an error
	if err != nil || len(unchecked) > 0 {
		found = append(found, PolicyWarning{p.ID, warningUnchecked, "", "some tables were not checked, because they could not be read in time",
			unchecked, len(unchecked)})
	}
	return joinWarnings(found)
}

// joinWarnings joins the warnings that differ in their tables only.
func joinWarnings(list []PolicyWarning) []PolicyWarning {
	type key struct{ code, column, message string }
	joined := map[key]*PolicyWarning{}
	out := []PolicyWarning{}
	for _, w := range list {
		k := key{w.Code, w.Column, w.Message}
		if first := joined[k]; first != nil {
			first.Tables, first.Count = append(first.Tables, w.Tables...), first.Count+w.Count
			continue
		}
		joined[k] = &w
	}
	for _, w := range joined {
		slices.Sort(w.Tables)
		w.Tables = w.Tables[:min(len(w.Tables), maxWarnedTables)]
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b PolicyWarning) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// ReportUndecidable logs the enabled policies that would be refused if they were written now,
// because the types of its operands make a test undecidable.
func (o Policies) ReportUndecidable(ctx context.Context, log *slog.Logger) error {
	return catalog.Each(func(page catalog.Page) (catalog.List[catalog.Organisation], error) {
		return o.Store.ListOrganisations(ctx, page)
	}, func(org catalog.Organisation) error {
		return catalog.Each(func(page catalog.Page) (catalog.List[catalog.Policy], error) {
			return o.Store.ListPolicies(ctx, org.ID, catalog.PolicyFilter{}, page)
		}, func(p catalog.Policy) error {
			if !p.Enabled {
				return nil
			}
			for _, w := range o.refusals(ctx, p) {
				log.Warn("a policy tests a value of another type: a permit shows nothing by it, and a forbid hides rows",
					"organisation", p.Org, "policy", p.ID, "table", p.Table, "column", w.Column)
			}
			return nil
		})
	})
}

// refusals returns the warnings for which the policy would be refused if it were written now.
func (o Policies) refusals(ctx context.Context, p catalog.Policy) []PolicyWarning {
	list := warningsOver(p, "", nil)
	if p.Table != "" {
		list = o.warnings(ctx, catalog.SystemViewer(p.Org), p)
	}
	return slices.DeleteFunc(list, func(w PolicyWarning) bool { return w.Code != policy.RemarkWrongType })
}
