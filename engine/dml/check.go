package dml

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// newRows are the rows that a write adds to the table, including changed rows.
type newRows struct {
	relation
	// requestRows maps numbers of rows to indexes in the request; nil means that
	// they are equal.
	requestRows func(ctx context.Context, rows []int64) (map[int64]int64, error)
	// changed names the BOOLEAN column that reports whether a row replaces an
	// existing row; if empty, every row does.
	changed string
	// adds reports that some rows may replace no existing row.
	adds bool
	// canChange reports whether the write can give one of the columns a new value in
	// a row that replaces an existing row; nil means that it can.
	canChange func(columns []string) bool
	// knownFree reports whether it is already known that no remaining row of the
	// table has a new row's key; nil means never.
	knownFree func(key constraint.Key) bool
	// knownDistinct reports whether it is already known that no two new rows have
	// the same key; nil means never.
	knownDistinct func(key constraint.Key) bool
}

func (w *write) scope(r relation, more ...engine.Source) constraint.Scope {
	return constraint.Scope{Session: w.Session, Sources: append(slices.Clone(r.sources), more...), Lease: w.Lease}
}

// check checks the new rows against all rules of the version that the write was
// planned on. Keys are checked against the files that pass, and remaining, which is
// nil if no rows are replaced.
func (w *write) check(ctx context.Context, f newRows, pass func(path string) bool, remaining *relation) error {
	if err := w.checkRows(ctx, f); err != nil {
		return err
	}
	// A writer who does not see all rows learns nothing of hidden keys by a request that cannot
	// succeed.
	inRequest := func() error { return w.checkRepeated(ctx, f) }
	inTable := func() error { return w.checkKeys(ctx, f, w.Snapshot, pass, remaining) }
	first, second := inTable, inRequest
	if !w.seesEverything() {
		first, second = inRequest, inTable
	}
	for _, step := range []func() error{first, second} {
		if err := step(); err != nil {
			return err
		}
	}
	if w.Checked != nil {
		w.Checked()
	}
	return nil
}

// checkRows checks the new rows against NOT NULL and CHECK constraints, domains and
// the writer's row filter.
func (w *write) checkRows(ctx context.Context, f newRows) error {
	all := w.Rules.Rows()
	domains, sources := w.domainRules(f)
	offset := len(all)
	for _, d := range domains {
		all = append(all, d.Rule)
	}
	if w.Filter != "" {
		all = append(all, constraint.RowFilter(w.Filter))
	}
	report, err := w.scope(f.relation, sources...).Broken(ctx, all, f.rules())
	if err != nil || report.Total == 0 {
		return err
	}
	for _, b := range report.Breaches {
		if all[b.Rule].Kind == constraint.InDomain && domains[b.Rule-offset].Err != nil {
			return domains[b.Rule-offset].Err
		}
	}
	broken := &RowsError{Kind: BrokenRule, Total: report.Total}
	rows := make([]int64, len(report.Breaches))
	for i, b := range report.Breaches {
		rows[i] = b.Row
	}
	places, err := f.placesOf(ctx, rows)
	if err != nil {
		return err
	}
	broken.Quiet = w.revealsHidden(f, all, report)
	for _, b := range report.Breaches {
		rule := all[b.Rule]
		breach := Breach{Row: places[b.Row], Column: rule.Column}
		switch rule.Kind {
		case constraint.NotNull:
			breach.Column, breach.Message = rule.Name, "must not be null"
		case constraint.Checked:
			breach.Message = "breaks the constraint " + rule.Name
		case constraint.InDomain:
			breach.Message = "lies outside the domain of the column"
		case constraint.Filtered:
			broken.Kind, breach.Column, breach.Message = BrokenFilter, "", "lies outside the caller's row filter"
		}
		if rule.Kind != constraint.Filtered && w.hidesAny(rule.Columns) {
			breach.Column, breach.Message = "", "breaks a rule of the table"
		}
		broken.Breaches = append(broken.Breaches, breach)
	}
	return broken
}

// domainRules returns the domains that the new rows can break, with the sources of
// their rules. A domain whose columns the write cannot change is checked only for rows
// that replace no row: existing values may lie outside of it.
func (w *write) domainRules(f newRows) (domains []Domain, sources []engine.Source) {
	for _, d := range w.Domains {
		if f.canChange != nil && !f.canChange(d.Rule.Columns) {
			if !f.adds {
				continue
			}
			d.Rule = d.Rule.Unless(column(engine.QuoteIdent(constraint.Alias), f.changed))
		}
		domains, sources = append(domains, d), append(sources, d.Sources...)
	}
	return domains, unique(sources)
}

// revealsHidden reports whether the breaches, or their number, depend on columns of
// existing rows that the writer does not see.
func (w *write) revealsHidden(f newRows, all []constraint.Rule, report constraint.Report) bool {
	if f.requestRows == nil {
		return false // every value comes from the request
	}
	about := func(rule constraint.Rule) bool {
		if rule.Kind == constraint.Filtered {
			return len(w.Hidden)+len(w.Masked) > 0 // a filter may read them
		}
		return w.hidesAny(rule.Columns)
	}
	return slices.ContainsFunc(report.Breaches, func(b constraint.Breach) bool { return about(all[b.Rule]) }) ||
		report.Total > int64(len(report.Breaches)) && slices.ContainsFunc(all, about)
}

func (f newRows) placesOf(ctx context.Context, rows []int64) (map[int64]int64, error) {
	if f.requestRows != nil {
		return f.requestRows(ctx, rows)
	}
	return sameRows(ctx, rows)
}

// sameRows maps each row to itself.
func sameRows(_ context.Context, rows []int64) (map[int64]int64, error) {
	places := make(map[int64]int64, len(rows))
	for _, r := range rows {
		places[r] = r
	}
	return places, nil
}

// affectedKeys returns the keys that the new rows can break.
func (w *write) affectedKeys(f newRows) []constraint.Key {
	return slices.DeleteFunc(w.Rules.AllKeys(), func(k constraint.Key) bool {
		return !f.adds && f.canChange != nil && !f.canChange(keyColumns(k))
	})
}

func keyColumns(k constraint.Key) []string {
	out := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		out[i] = c.Name
	}
	return out
}

// checkKeys checks that no other row of the version snap has a key of a new row. It
// reads the files that pass, and remaining, which is nil if no rows are replaced.
func (w *write) checkKeys(ctx context.Context, f newRows, snap *delta.Snapshot, pass func(path string) bool, remaining *relation) error {
	if w.keysUnchecked() {
		return nil
	}
	for _, key := range w.affectedKeys(f) {
		if f.knownFree != nil && f.knownFree(key) {
			continue
		}
		condition, err := w.scope(f.relation).KeyCondition(ctx, key, f.rules())
		if err != nil {
			return err
		}
		others := []relation{}
		// An insert may read the whole table instead, so its outcome does not depend on
		// whether a list can be made.
		restricted := remaining != nil && (w.Restricted || w.hidesAny(keyColumns(key)))
		if list, ok := w.files(snap, condition, restricted); ok {
			if list = restrict(list, func(_ int, path string) bool { return pass(path) }); list.Len() > 0 {
				others = append(others, w.shielded(w.read(snap, list), keyColumns(key)))
			}
		} else if remaining == nil && pruning.ReadsLog(snap) {
			others = append(others, w.shielded(w.read(snap, nil), keyColumns(key)))
		} else {
			return ErrNotListed
		}
		if remaining != nil {
			others = append(others, *remaining)
		}
		for _, table := range others {
			w.countKeyFiles(snap, table)
			report, err := w.scope(f.relation, table.sources...).Taken(ctx, key, f.rules(), table.rules())
			if err == nil {
				err = w.keyError(ctx, f, key, KeyTaken, report)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// keysUnchecked reports whether keys are not compared with the table: see [Options.DryRun].
func (w *write) keysUnchecked() bool { return w.DryRun && !w.seesEverything() }

// countKeyFiles reports how many files of the version a check of a key reads: those
// of the relation's list, or all.
func (w *write) countKeyFiles(snap *delta.Snapshot, table relation) {
	n := snap.NumFiles()
	if list := table.sources[0].Files; list != nil {
		n = list.Len()
	}
	if w.KeyFiles != nil {
		w.KeyFiles(n)
	}
}

// checkRepeated checks that no two new rows have the same key.
func (w *write) checkRepeated(ctx context.Context, f newRows) error {
	for _, key := range w.affectedKeys(f) {
		if f.knownDistinct != nil && f.knownDistinct(key) {
			continue
		}
		report, err := w.scope(f.relation).Repeated(ctx, key, f.rules())
		if err == nil {
			err = w.keyError(ctx, f, key, KeyRepeated, report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *write) keyError(ctx context.Context, f newRows, key constraint.Key, kind Kind, report constraint.KeyReport) error {
	if report.Total == 0 {
		return nil
	}
	rows := make([]int64, len(report.Breaches))
	for i, b := range report.Breaches {
		rows[i] = b.Row
	}
	places, err := f.placesOf(ctx, rows)
	if err != nil {
		return err
	}
	out := &RowsError{Kind: kind, Total: report.Total}
	out.Quiet = kind == KeyTaken && !w.seesEverything() || w.hidesAny(keyColumns(key))
	column, message := keyMessage(key, kind)
	for _, b := range report.Breaches {
		out.Breaches = append(out.Breaches, Breach{Row: places[b.Row], Column: column, Message: message})
	}
	return out
}

// keyMessage returns the column and the message for a row that breaks a key. The
// column is empty for a key of several columns, which the message names.
func keyMessage(key constraint.Key, kind Kind) (column, message string) {
	names, which := keyColumns(key), ""
	if len(names) == 1 {
		column = names[0]
	} else {
		which = " (" + strings.Join(names, ", ") + ")"
	}
	if kind == KeyRepeated {
		return column, "another of the new rows has this key" + which
	}
	return column, "a row with this key" + which + " exists"
}
