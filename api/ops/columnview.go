package ops

import (
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// MaskKeys gives the secret under which values of a table's columns are hashed.
// It is the same for everybody and at any time, so that equal values keep equal
// hashes, and another one for every table.
type MaskKeys interface {
	MaskKey(org catalog.OrgID, table catalog.DeltaID) ([]byte, error)
}

// view is what one subject sees of a table at one version: the rows of the
// filter, and of the columns those that are not hidden, masked where they are.
type view struct {
	policy.Filter
	// columns are those that the subject sees, with the types that they show.
	columns []engine.Column
	// exprs are the masks in SQL, by the columns' names in lower case.
	exprs map[string]string
	// sorted says that the order of rows in files tells of values that the subject
	// does not see.
	sorted bool
}

// view compiles the policies for one subject. An older version shows no more than the
// newest one: see [usedTable.formerFilter]. A version of a replaced table shows
// everything if [Tables.openReplaced] has opened it; otherwise the error is
// errRowsFiltered.
func (u usedTable) view(policies enforced, s subject) (view, error) {
	if u.replaced() {
		if !u.opened {
			return view{}, errRowsFiltered
		}
		all, err := enforced(nil).filter(s, columnsOf(u.snap))
		return newView(all, u.snap), err
	}
	if err := policies.lost(u.located.DeltaID, columnsOf(u.head)); err != nil {
		return view{}, err
	}
	compile := u.formerFilter
	if u.snap == u.head {
		compile = u.headFilter
	}
	filter, err := compile(policies, s)
	if err != nil {
		return view{}, err
	}
	return newView(filter, u.snap), nil
}

func (u usedTable) headFilter(policies enforced, s subject) (policy.Filter, error) {
	return u.applied(policies).filter(s, columnsOf(u.head))
}

func newView(filter policy.Filter, snap *delta.Snapshot) view {
	v := view{Filter: filter, exprs: map[string]string{}}
	for _, c := range columnsOf(snap) {
		if slices.Contains(filter.HiddenColumns, c.Name) {
			continue
		}
		if mask, ok := filter.Masks[c.Name]; ok {
			c, v.exprs[strings.ToLower(c.Name)] = policy.Masked(c, mask, tableAlias)
		}
		v.columns = append(v.columns, c)
	}
	for _, name := range snap.PartitionColumns() {
		_, masked := filter.Masks[name]
		v.sorted = v.sorted || masked || slices.Contains(filter.HiddenColumns, name)
	}
	v.sorted = v.sorted || laidOut(filter, snap)
	return v
}

// laidOut reports files whose order follows from what the subject does not see: a
// column, or rows, among which a curve through any column puts those that are seen.
func laidOut(filter policy.Filter, snap *delta.Snapshot) bool {
	if !filter.Restricted && len(filter.HiddenColumns) == 0 && len(filter.Masks) == 0 {
		return false
	}
	by := datafile.LaidOutBy(snap)
	if filter.Restricted {
		return len(by) > 0
	}
	return slices.ContainsFunc(snap.Schema().Fields, func(f delta.Field) bool {
		_, masked := filter.Masks[f.Name]
		return (masked || slices.Contains(filter.HiddenColumns, f.Name)) && (slices.Contains(by, f.Name) || slices.Contains(by, f.PhysicalName()))
	})
}

// whole reports that every value of the table is seen as it is.
func (v view) whole() bool {
	return !v.Restricted && len(v.HiddenColumns) == 0 && len(v.Masks) == 0
}

// filtered reports that the subject may not learn how the rows lie in files. A
// table of which columns are hidden and nothing else tells nothing of them.
func (v view) filtered() bool { return v.Restricted || len(v.exprs) > 0 || v.sorted }

// restriction returns what pruning may assume about the visible rows.
func (v view) restriction() pruning.Restriction {
	return pruning.Restriction{Needed: v.Condition, Assured: v.Assured}
}

// hashes reports that the SQL of the masks needs the table's secret.
func (v view) hashes() bool {
	return slices.Contains(slices.Collect(maps.Values(v.Masks)), policy.MaskHash)
}

// hides reports whether a name is that of a hidden column.
func (v view) hides(name string) bool {
	return slices.ContainsFunc(v.HiddenColumns, func(hidden string) bool { return strings.EqualFold(hidden, name) })
}

// tableColumns describes the columns that are seen.
func (v view) tableColumns(snap *delta.Snapshot) []Column {
	out, keys := make([]Column, len(v.columns)), constraint.KeysOf(snap.Schema(), snap.Properties())
	for i, c := range v.columns {
		f, _ := snap.Schema().Field(c.Name)
		out[i] = Column{
			Name: c.Name, Type: f.Type.String(), Nullable: c.Nullable, Comment: f.Comment(),
			IsPartition:  slices.Contains(snap.PartitionColumns(), c.Name),
			IsPrimaryKey: keys.IsPrimary(c.Name), IsUnique: keys.IsUnique(c.Name),
			Default: v.defaultText(f),
		}
		if v.Masks[c.Name] == policy.MaskHash {
			out[i].Type = delta.String.String()
		}
	}
	return out
}

// partitionColumns are those that are seen.
func (v view) partitionColumns(snap *delta.Snapshot) []string {
	return slices.DeleteFunc(slices.Clone(snap.PartitionColumns()), v.hides)
}

// effective lists policies as the subject may learn of them: that there is one,
// and about which column, unless that column is hidden from the subject. A
// policy that is about nothing else is then left out.
func (v view) effective(policies enforced) []EffectivePolicy {
	out := []EffectivePolicy{}
	for _, p := range policies {
		if v.hides(p.Column) {
			if p.Kind != catalog.PolicyRows {
				continue
			}
			p.Column = ""
		}
		out = append(out, EffectivePolicy{Kind: p.Kind, Column: p.Column})
	}
	return out
}

// withSecrets gives a relation under a view the parameters of its masks.
func (o Tables) withSecrets(r sqlguard.Relation, v view, t catalog.LocatedTable) (sqlguard.Relation, error) {
	if !v.hashes() {
		return r, nil
	}
	key, err := o.Keys.MaskKey(t.Org, t.DeltaID)
	if err != nil {
		return sqlguard.Relation{}, err
	}
	r.Secrets = policy.HashKeys(key)
	return r, nil
}
