package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/sessions"
)

// Domains makes rules of the domains that the catalog has for the columns of tables. It is
// safe for concurrent use.
type Domains struct {
	store  catalog.Domains
	tables access.Tables
	values *memo.Cache[[]catalog.DomainValue]
}

// cachedDomains bounds the number of domains whose values are cached.
const cachedDomains = 64

// NewDomains returns the domains of a catalog, whose sources are opened in tables.
func NewDomains(store catalog.Domains, tables access.Tables) *Domains {
	return &Domains{store: store, tables: tables, values: memo.NewCache[[]catalog.DomainValue](cachedDomains)}
}

// ColumnRule is the rule of a column's domain for one version of a table.
type ColumnRule struct {
	dml.Domain
	// Column is the column as the version has it.
	Column delta.Field
	// Of is the domain.
	Of catalog.ColumnDomain
	// roots are what a session must be able to read for the sources.
	roots []string
}

// TableRules are the rules of a table's domains.
type TableRules struct {
	// Version is that of [catalog.TableDomains].
	Version int64
	Columns []ColumnRule
}

// Domains returns the rules as package dml takes them.
func (r TableRules) Domains() []dml.Domain {
	out := make([]dml.Domain, len(r.Columns))
	for i, c := range r.Columns {
		out[i] = c.Domain
	}
	return out
}

// SessionKey returns the key of a service session that reads a table and the sources of the
// rules.
func (r TableRules) SessionKey(t access.Table) sessions.Key {
	key := t.ServiceKey()
	for _, c := range r.Columns {
		for _, root := range c.roots {
			if !slices.Contains(key.Roots, root) && !slices.Contains(key.ServiceRoots, root) {
				key.ServiceRoots = append(key.ServiceRoots, root)
			}
		}
	}
	return key
}

// Rules returns the rules for the columns of a version of a table. If changes is not nil,
// domains that concern no column for which it returns true are left out. A domain whose
// column the version lacks has no rule. One that was deleted, or whose source cannot be used,
// has a [SourceError]. Errors are those of the store and of reading a source.
func (o *Domains) Rules(ctx context.Context, t access.Table, changes func(column string) bool) (TableRules, error) {
	for attempt := 1; ; attempt++ {
		out, err := o.rules(ctx, t, changes)
		if !errors.Is(err, catalog.ErrDomainsChanged) || attempt == replans {
			return out, err
		}
	}
}

func (o *Domains) rules(ctx context.Context, t access.Table, changes func(column string) bool) (TableRules, error) {
	located := t.Located()
	stored, err := o.store.TableDomains(authz.System(ctx, "domains of a table"), located.Org, located.DeltaID)
	out := TableRules{Version: stored.Version}
	for _, d := range stored.Columns {
		if err != nil {
			break
		}
		column, found := t.PhysicalColumn(d.Column)
		parent, _ := t.PhysicalColumn(d.Parent)
		if !found || changes != nil && !changes(column.Name) && !changes(parent.Name) {
			continue
		}
		var values []catalog.DomainValue
		var rule ColumnRule
		if values, err = o.valuesOf(ctx, d.Domain); err == nil {
			rule, err = o.Rule(ctx, t, d, values)
			out.Columns = append(out.Columns, rule)
		}
	}
	return out, err
}

// valuesOf returns the values of a domain at its version, or [catalog.ErrDomainsChanged] if
// the catalog has another version now.
func (o *Domains) valuesOf(ctx context.Context, d catalog.Domain) ([]catalog.DomainValue, error) {
	if !d.Listed() {
		return nil, nil
	}
	return o.values.Get(string(d.ID)+" "+strconv.FormatInt(d.Version, 10), func() ([]catalog.DomainValue, error) {
		values, err := o.store.DomainValues(authz.System(ctx, "values of a domain"), d.Org, d.ID)
		if errors.Is(err, catalog.ErrNotFound) || err == nil && values.Version != d.Version {
			err = catalog.ErrDomainsChanged
		}
		return values.Values, err
	})
}

// Rule returns the rule of one domain, which the catalog need not have yet, for a version of
// a table. values are those of a domain that lists them. Errors: catalog.ErrNotFound if the
// version lacks the column, and those of [Domains.Rules].
func (o *Domains) Rule(
	ctx context.Context, t access.Table, d catalog.ColumnDomain, values []catalog.DomainValue,
) (ColumnRule, error) {
	f, ok := t.PhysicalColumn(d.Column)
	if !ok {
		return ColumnRule{}, catalog.ErrNotFound
	}
	out := ColumnRule{Column: f, Of: d}
	column := domain.Column{Name: f.Name, Type: f.Type}
	parent, hasParent := domain.Column{}, false
	if p, ok := t.PhysicalColumn(d.Parent); ok && d.Parent != "" {
		parent, hasParent = domain.Column{Name: p.Name, Type: p.Type}, true
	}
	hierarchical := d.Domain.Kind == catalog.DomainHierarchical
	switch {
	case d.Deleted():
		deleted := &SourceError{Code: codeDeleted, Reason: "the shared domain of the column was deleted"}
		if !t.Hides(f.Name) {
			deleted.Column = f.Name
		}
		out.Err, out.Rule = deleted, domain.Nothing(column)
	case hierarchical && !hasParent: // another writer has dropped it
		out.Rule = domain.Nothing(column)
	case d.Domain.Source != nil:
		return out, o.fromSource(ctx, t, column, parent, &out)
	case d.Domain.Range != nil:
		out.Rule = domain.Within(column, domain.Bounds(*d.Domain.Range))
	case hierarchical:
		out.Rule = domain.Paired(column, parent, pairsOf(values))
	case d.Domain.Kind == catalog.DomainFixed:
		out.Rule = domain.Listed(column, textsOf(values))
	default:
		return out, fmt.Errorf("a domain of the unknown kind %q", d.Domain.Kind)
	}
	return out, nil
}

// textsOf returns the allowed texts of a fixed domain.
func textsOf(values []catalog.DomainValue) (out []string) {
	for _, v := range values {
		out = append(out, allowedTexts(v)...)
	}
	return out
}

// allowedTexts returns the texts of a value: two while it is being renamed.
func allowedTexts(v catalog.DomainValue) []string {
	if v.Joining != "" {
		return []string{v.Value, v.Joining}
	}
	return []string{v.Value}
}

// pairsOf returns the allowed pairs of a hierarchical domain.
func pairsOf(values []catalog.DomainValue) (out []domain.Pair) {
	parents := map[catalog.ValueID][]string{}
	for _, v := range values {
		if v.Parent == "" {
			parents[v.ID] = allowedTexts(v)
			continue
		}
		for _, parent := range parents[v.Parent] {
			for _, child := range allowedTexts(v) {
				out = append(out, domain.Pair{Parent: parent, Child: child})
			}
		}
	}
	return out
}

// fromSource sets the rule of a domain that takes its values from another table.
func (o *Domains) fromSource(ctx context.Context, t access.Table, column, parent domain.Column, out *ColumnRule) error {
	from := *out.Of.Domain.Source
	source, err := o.openSource(ctx, t, from)
	var unusable *SourceError
	if err == nil {
		err = out.read(source, from, column, parent)
	}
	if errors.As(err, &unusable) {
		if !t.Hides(column.Name) {
			unusable.Column = column.Name
		}
		out.Err, out.Rule = unusable, domain.Nothing(column, parent)
		return nil
	}
	return err
}

// openSource opens the source of a domain of a table.
func (o *Domains) openSource(ctx context.Context, t access.Table, from catalog.DomainSource) (access.Table, error) {
	located, err := o.tables.DomainSource(ctx, t.Located().Org, from)
	if err == nil {
		err = o.tables.CheckShared(ctx, t.Located().StorageConfig, located.StorageConfig)
	}
	if err != nil {
		return access.Table{}, sourceError(err)
	}
	source, err := o.tables.OpenUnfiltered(ctx, located)
	return source.AsSeen(), sourceError(err)
}

// read sets the rule for an open source.
func (r *ColumnRule) read(source access.Table, from catalog.DomainSource, column, parent domain.Column) error {
	relation := source.WholeSource()
	values, ok := source.PhysicalColumn(from.Column)
	in := domain.Source{From: relation.Relation(), Column: domain.Column{Name: values.Name, Type: values.Type}}
	if !ok || !domain.Comparable(column.Type, values.Type) {
		return &SourceError{Code: codeVanished, Reason: "the column that has the allowed values is missing or has another type"}
	}
	if from.ParentKey == "" {
		r.Rule = domain.Referenced(column, in)
	} else {
		key, ok := source.PhysicalColumn(from.ParentKey)
		if !ok || !domain.Comparable(parent.Type, key.Type) {
			return &SourceError{Code: codeVanished, Reason: "the column that has the parents is missing or has another type"}
		}
		in.ParentKey = domain.Column{Name: key.Name, Type: key.Type}
		r.Rule = domain.LookedUp(column, parent, in)
	}
	r.Sources, r.roots = []engine.Source{relation}, source.ServiceKey().Roots
	return nil
}

// Outside describes the rows of a table whose values are outside a domain.
type Outside struct {
	Rows int64
	// Values are the first of the different values, in order.
	Values []string
}

// outsideValues bounds [Outside.Values].
const outsideValues = 100

// Outside finds the rows of a table that break the rule, among the rows that the table's
// view shows. The session of the scope was opened with [TableRules.SessionKey]. Errors: a
// [SourceError], those of the session.
func (r ColumnRule) Outside(ctx context.Context, scope constraint.Scope, t access.Table) (out Outside, err error) {
	if r.Err != nil {
		return out, r.Err
	}
	hidden, err := hiddenRows(t)
	if err != nil {
		return out, err
	}
	source := t.WholeSource()
	scope.Sources = append([]engine.Source{source}, r.Sources...)
	rows := constraint.Relation{From: source.Relation()}
	text := domain.TextSQL(r.Column.Type, engine.QuoteIdent(constraint.Alias)+"."+engine.QuoteIdent(r.Column.Name))
	out.Rows, out.Values, err = scope.BrokenValues(ctx, r.Rule.Unless(hidden), text, rows, outsideValues)
	return out, err
}
