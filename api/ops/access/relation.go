package access

import (
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// appliedView is a view with the policies that it applies, and with what the bounds of
// the version's files reveal about it.
type appliedView struct {
	view
	policies policySet
	exposure pruning.Exposure
}

// viewOf returns the view of a version under the rules. It is compiled once for each pair
// of versions, because it depends on nothing else.
func (r rules) viewOf(v tableVersion) (appliedView, error) {
	k := memo.NewDigest()
	k.Text(string(v.located.DeltaID), v.snap.Identity(), v.head.Identity())
	k.Numbers(v.snap.Version(), v.head.Version())
	return r.views.Get(k.String(), func() (appliedView, error) {
		seen, err := v.view(r.policies, r.subject)
		if err != nil {
			return appliedView{}, err
		}
		return appliedView{seen, v.applicable(r.policies), v.exposure(seen)}, nil
	})
}

// exposure returns what the bounds of the table's files reveal about the rows of a
// view.
func (v tableVersion) exposure(seen view) pruning.Exposure {
	if !seen.Restricted {
		return pruning.Exposure{Bytes: v.snap.TotalBytes()}
	}
	return pruning.ExposureOf(v.snap, seen.restriction())
}

// relation returns what a statement reads of the table under a view. If the policies
// only hide columns, it reads the table in place without them. fromLog has the engine
// read the log. copyBytes is the size of files up to which a filtered copy fits.
func (v tableVersion) relation(seen view, e pruning.Exposure, fromLog bool, copyBytes int64) sqlguard.Relation {
	filtered := seen.filtered()
	source := lake.Source(v.located, v.snap)
	return sqlguard.Relation{
		Columns: seen.columns, Source: source, Narrow: v.narrow(source, seen, fromLog, filtered, shieldsFiles(e, copyBytes)),
		Filtered: filtered, Predicate: seen.Predicate, Condition: seen.Condition, Shielded: e.Mixed,
		ColumnExpr: seen.exprs, Sorted: seen.sorted,
		Bytes: e.Bytes,
		// Whether the process survives must not depend on hidden rows: see
		// [gateway.ReadsRemoteLog]. Filling a copy always reads to the end.
		NoPushdown: filtered && gateway.ReadsRemoteLog(source) && (fromLog || !pruning.ListsRestricted(v.snap)),
	}
}

// shieldsFiles reports whether the conditions of a statement may exclude only files
// without hidden rows. Otherwise a filtered copy would not fit, and they exclude files by
// all bounds. They never exclude row groups of a file that may hold hidden rows: that is
// [sqlguard.Relation.Shielded].
func shieldsFiles(e pruning.Exposure, copyBytes int64) bool {
	return e.Mixed && e.MixedBytes <= copyBytes
}

// narrow reads a table as a list of the files that can hold a needed row, if the table
// can be read as a list; otherwise the engine reads the log. The list names all columns
// of the table, because the row filter may read hidden ones. If restricted is true, the
// list does not reveal files with hidden rows. If shielded is true, it does not reveal
// their bounds.
func (v tableVersion) narrow(
	source engine.Source, seen view, fromLog, restricted, shielded bool,
) func(visible, asked engine.Condition) engine.Source {
	columns := lake.Columns(v.snap)
	return func(visible, asked engine.Condition) engine.Source {
		var files *engine.FileList
		var ok bool
		switch {
		case fromLog:
		case shielded:
			files, ok = pruning.ListShielded(v.snap, columns, pruning.Restriction{Needed: visible, Assured: seen.Assured}, asked)
		case restricted:
			files, ok = pruning.ListRestricted(v.snap, columns, engine.AllOf(visible, asked))
		default:
			files, ok = pruning.List(v.snap, columns, engine.AllOf(visible, asked))
		}
		if ok {
			source.Files = files
		} else {
			source.Checked = pruning.CheckedFiles(v.snap, columns)
		}
		return source
	}
}

// Relation returns what a statement of the caller reads of the table: the columns and
// rows that the policies leave. Up to copyBytes of files, a filtered copy fits the memory
// of a statement. Errors: those of pruning.CheckRestricted and of the keys of masks.
func (t Table) Relation(copyBytes int64) (sqlguard.Relation, error) {
	relation := t.relation(t.seen, t.exposed(), t.readsLog(), copyBytes)
	if relation.Filtered {
		if err := pruning.CheckRestricted(t.snap); err != nil {
			return sqlguard.Relation{}, err
		}
	}
	return t.withSecrets(relation)
}

// PositionRelation is [Table.Relation] with the positions of rows as two more columns.
// The table is read as a list, or positions cannot be had. The order of the rows that are
// found does not matter, so a caller who sees all of them gets a list wherever a filtered
// caller gets one.
func (t Table) PositionRelation(copyBytes int64, positions engine.PositionColumns) (sqlguard.Relation, error) {
	exposure := t.exposed()
	relation, err := t.withSecrets(t.relation(t.seen, exposure, false, copyBytes))
	if err != nil {
		return sqlguard.Relation{}, err
	}
	narrow := t.narrow(relation.Source, t.seen, false, true, shieldsFiles(exposure, copyBytes))
	relation.Columns = append(slices.Clone(relation.Columns),
		engine.Column{Name: positions.File, Type: sqltype.UInteger}, engine.Column{Name: positions.Row, Type: sqltype.BigInt})
	relation.Narrow = func(visible, asked engine.Condition) engine.Source {
		source := narrow(visible, asked)
		if source.Files != nil {
			source.Files = source.Files.WithPositions(positions)
		}
		return source
	}
	return relation, nil
}

// Shield returns what conditions with values of the caller may exclude where the server looks for
// rows that the caller does not see; nil if the caller sees all rows. copyBytes is that of
// [Table.Relation].
func (t Table) Shield(copyBytes int64) *pruning.Shield {
	if !t.seen.Restricted {
		return nil
	}
	return pruning.NewShield(t.snap, t.seen.restriction(), copyBytes)
}

// RowsRelation returns the rows that the subject sees, whatever it sees of their columns.
func (t Table) RowsRelation() sqlguard.Relation {
	rows := t.seen.Filter
	rows.HiddenColumns, rows.Masks = nil, nil
	return t.relation(newView(rows, t.snap), pruning.Exposure{}, false, 0)
}

// exposed returns the exposure of the table's rows under its view.
func (t Table) exposed() pruning.Exposure {
	if t.exposure != nil {
		return *t.exposure
	}
	return t.tableVersion.exposure(t.seen)
}

// readsLog reports whether the engine reads the version through its log: see
// [Options.ReadLog].
func (t Table) readsLog() bool {
	return t.tables.readLog != nil && t.tables.readLog(t.located) && pruning.ReadsLog(t.snap)
}

// withSecrets gives a relation the parameters of its masks.
func (t Table) withSecrets(r sqlguard.Relation) (sqlguard.Relation, error) {
	if !t.seen.hashes() {
		return r, nil
	}
	key, err := t.tables.keys.MaskKey(t.located.Org, t.located.ID)
	if err != nil {
		return sqlguard.Relation{}, err
	}
	r.Secrets = sqlfilter.HashKeys(key)
	return r, nil
}
