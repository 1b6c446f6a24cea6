package delta

import (
	"fmt"
	"iter"
	"slices"
)

// check returns an error if the transaction must not be committed on top of s.
func (t *Txn) check(s *Snapshot) error {
	if err := s.checkWriter(); err != nil {
		return err
	}
	if err := t.checkRows(s); err != nil {
		return err
	}
	changes, rearranges := false, false
	for _, r := range t.removes {
		changes = changes || r.DataChange
		rearranges = rearranges || !r.DataChange
	}
	if changes && s.AppendOnly() {
		return refuseWrite(featAppendOnly, "rows may only be added")
	}
	if err := t.checkChangeFeed(s, changes); err != nil {
		return err
	}
	for _, a := range t.adds {
		changes = changes || a.DataChange
		rearranges = rearranges || !a.DataChange
		if a.DeletionVector != nil && !supports(s.state.protocol, featDV) {
			return fmt.Errorf("deletion vector without its feature: %w", ErrInvalidTxn)
		}
	}
	if changes && rearranges {
		return fmt.Errorf("files with and without dataChange in one commit: %w", ErrInvalidTxn)
	}
	for _, d := range t.domains {
		if d.Domain == rowTrackingDomain {
			return fmt.Errorf("domain %s: %w", d.Domain, ErrInvalidTxn)
		}
	}
	if len(t.domains) > 0 && !supports(s.state.protocol, featDomains) && t.protocol == nil {
		return fmt.Errorf("domain metadata without its feature: %w", ErrInvalidTxn)
	}
	return t.checkUpgrade(s)
}

// checkRows applies the table's requirements for new and moved rows. A commit without
// such rows always passes.
func (t *Txn) checkRows(s *Snapshot) error {
	files, fresh := false, false
	for _, a := range t.adds {
		if _, old := t.old[a.Path]; !old {
			files = true
			fresh = fresh || a.DataChange
		}
	}
	if err := t.checkRowIDs(s, files); err != nil {
		return err
	}
	if fresh {
		if err := s.checkDuties(t.op.Duties); err != nil {
			return err
		}
	}
	if files {
		return s.checkFileTypes()
	}
	return nil
}

// checkRowIDs makes sure that, in a table with row tracking enabled, every row has an
// id and moved rows preserve theirs. A file that replaces another one holds moved rows.
func (t *Txn) checkRowIDs(s *Snapshot, files bool) error {
	if !files || !s.flag(propRowTracking) {
		return nil
	}
	if s.flag(propRowTrackingSuspend) {
		return refuseWrite(featRowTracking, "new rows would have no ids")
	}
	if len(t.removes) == 0 {
		return nil
	}
	if err := s.checkRowColumns(); err != nil {
		return err
	}
	if !slices.Contains(t.op.Duties, KeepsRowIDs) {
		return refuseWrite(featRowTracking, "moved rows would lose their ids")
	}
	return nil
}

// checkChangeFeed makes sure that the change data feed is complete. If a commit both
// removes and adds files, these do not show which rows changed, so the commit needs
// change files.
func (t *Txn) checkChangeFeed(s *Snapshot, removes bool) error {
	switch feed := s.flag(propCDF); {
	case !feed && len(t.cdcs) > 0:
		return fmt.Errorf("change files of a table without change data feed: %w", ErrInvalidTxn)
	case feed && removes && len(t.adds) > 0 && len(t.cdcs) == 0 && !t.restores:
		return refuseWrite(featCDF, "the commit has no change files")
	}
	return nil
}

// checkUpgrade checks new metadata, a new protocol and a restore: the table id is
// unchanged, versions and features only grow, the protocol covers the features in use,
// and the result is readable.
func (t *Txn) checkUpgrade(s *Snapshot) error {
	if t.protocol == nil && t.metadata == nil && !t.restores {
		return nil
	}
	then, after := *s.state, *s
	after.state = &then
	if t.protocol != nil {
		then.protocol = t.protocol
		if err := grows(s.state.protocol, t.protocol); err != nil {
			return err
		}
	}
	if m := t.metadata; m != nil {
		if m.ID != s.TableID() {
			return fmt.Errorf("table id changes: %w", ErrInvalidTxn)
		}
		schema, err := ParseSchema(m.SchemaString)
		if err != nil {
			return err
		}
		then.metadata, after.schema = m, schema
	}
	// A restored version may use a feature that its protocol does not list.
	if !t.restores {
		for f := range s.newlyNeeded(after.schema, after.Properties()) {
			if !supports(then.protocol, f) {
				return fmt.Errorf("protocol lacks feature %s: %w", f, ErrInvalidTxn)
			}
		}
	}
	if err := after.checkWriter(); err != nil {
		return err
	}
	if err := after.checkResult(t.filesAfter(s)); err != nil {
		return err
	}
	return t.checkRows(&after)
}

// filesAfter yields the live files of the version that follows s if t is committed.
func (t *Txn) filesAfter(s *Snapshot) iter.Seq[File] {
	return func(yield func(File) bool) {
		gone := make(map[string]bool, len(t.removes))
		for _, r := range t.removes {
			if key, _, err := s.state.folder.fileKey(r.Path, r.DeletionVector); err == nil {
				gone[key] = true
			}
		}
		for key, a := range s.state.files.all() {
			if !gone[key] && !yield(File{Name: fileName(key), Add: a}) {
				return
			}
		}
		for _, a := range t.adds {
			if !yield(File{Name: a.Path, Add: a}) {
				return
			}
		}
	}
}
