package delta

import (
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Isolation is the degree to which a transaction tolerates concurrent commits.
type Isolation int

// The isolation levels, strictest first.
const (
	// Serializable: the result is as if the transactions ran one after the other.
	Serializable Isolation = iota
	// WriteSerializable: as Serializable, but blind appends may be ordered before or
	// after a transaction that reads.
	WriteSerializable
	// SnapshotIsolation: only removals of the same files conflict.
	SnapshotIsolation
)

// reads describes what the result of a transaction depends on.
type reads struct {
	whole      bool
	files      map[string]struct{}
	partitions []func(map[string]*string) bool
	apps       map[string]struct{}
}

// attempt describes a transaction to the conflict rules.
type attempt struct {
	reads           reads
	isolation       Isolation
	blindAppend     bool
	partitioned     bool
	changesMetadata bool
	changesProtocol bool
	domains         []string
	removes         map[string]struct{}
}

// winner describes a commit that took a version which the transaction tried to write.
type winner struct {
	version         int64
	protocol        *action.Protocol
	before          *action.Protocol
	changesMetadata bool
	// blindAppend is false if the writer did not state it.
	blindAppend bool
	adds        []*action.Add
	removes     []string
	apps        []string
	domains     []string
}

// rules are applied in this order; the first error decides. Each is a pure function of
// the transaction's reads and writes and of the winning commit.
var rules = []struct {
	name  string
	check func(*attempt, *winner) error
}{
	{"protocol", protocolRule},
	{"metadata", metadataRule},
	{"domain-metadata", domainRule},
	{"transaction", transactionRule},
	{"concurrent-append", appendRule},
	{"concurrent-delete-read", deleteReadRule},
	{"concurrent-delete-delete", deleteDeleteRule},
}

// conflict applies the rules to one winning commit.
func conflict(a *attempt, w *winner) error {
	for _, r := range rules {
		if err := r.check(a, w); err != nil {
			return fmt.Errorf("version %d won (%s): %w", w.version, r.name, err)
		}
	}
	return nil
}

// harmlessFeatures may be added while a transaction runs: they impose no requirement on
// rows that were written without them.
var harmlessFeatures = []string{
	featAppendOnly, featCDF, featMapping, featDV, featNTZ, featDomains, featV2Checkpoint,
	featTypeWidening, featTypeWideningOld, featICT, featICTOld, featVacuumCheck,
}

func protocolRule(a *attempt, w *winner) error {
	if w.protocol == nil {
		return nil
	}
	if a.changesProtocol {
		return ErrProtocolChanged
	}
	old := writerFeatures(w.before)
	now := writerFeatures(w.protocol)
	for _, f := range old {
		if !slices.Contains(now, f) {
			return fmt.Errorf("feature %s removed: %w", f, ErrProtocolChanged)
		}
	}
	for _, f := range now {
		if !slices.Contains(old, f) && !slices.Contains(harmlessFeatures, f) {
			return fmt.Errorf("feature %s added: %w", f, ErrProtocolChanged)
		}
	}
	return nil
}

// metadataRule is stricter than the reference implementation: any change of the
// metadata may have changed the requirements for new rows.
func metadataRule(_ *attempt, w *winner) error {
	if w.changesMetadata {
		return ErrMetadataChanged
	}
	return nil
}

func domainRule(a *attempt, w *winner) error {
	for _, d := range w.domains {
		if slices.Contains(a.domains, d) {
			return fmt.Errorf("domain %s: %w", d, ErrDomainConflict)
		}
	}
	return nil
}

func transactionRule(a *attempt, w *winner) error {
	for _, app := range w.apps {
		if _, ok := a.reads.apps[app]; ok {
			return fmt.Errorf("application %q: %w", app, ErrConcurrentTransaction)
		}
	}
	return nil
}

// appendRule finds added files that the transaction should have read. Files with
// dataChange=false hold no new rows; if the transaction depends on the location of
// rows, the rules about removals detect it.
func appendRule(a *attempt, w *winner) error {
	switch {
	case a.blindAppend || len(w.adds) == 0 || a.isolation == SnapshotIsolation:
		return nil
	case a.isolation == WriteSerializable && w.blindAppend && !a.changesMetadata:
		return nil
	}
	for _, add := range w.adds {
		if add.DataChange && a.wouldRead(add) {
			return fmt.Errorf("file %q: %w", add.Path, ErrConcurrentAppend)
		}
	}
	return nil
}

// wouldRead reports whether the transaction would have read the file if it had existed.
func (a *attempt) wouldRead(add *action.Add) bool {
	if a.reads.whole || a.changesMetadata || a.changesProtocol {
		return true
	}
	if !a.partitioned {
		return len(a.reads.files) > 0 || len(a.reads.partitions) > 0
	}
	if len(a.reads.partitions) == 0 {
		return len(a.reads.files) > 0
	}
	for _, match := range a.reads.partitions {
		if match(add.PartitionValues) {
			return true
		}
	}
	return false
}

func deleteReadRule(a *attempt, w *winner) error {
	if len(w.removes) > 0 && a.reads.whole {
		return fmt.Errorf("whole table was read: %w", ErrConcurrentDeleteRead)
	}
	for _, name := range w.removes {
		if _, ours := a.removes[name]; ours {
			continue
		}
		if _, ok := a.reads.files[name]; ok {
			return fmt.Errorf("file %q: %w", name, ErrConcurrentDeleteRead)
		}
	}
	return nil
}

func deleteDeleteRule(a *attempt, w *winner) error {
	for _, name := range w.removes {
		if _, ok := a.removes[name]; ok {
			return fmt.Errorf("file %q: %w", name, ErrConcurrentDeleteDelete)
		}
	}
	return nil
}

// attempt returns the description of t for the rules.
func (t *Txn) attempt() *attempt {
	a := &attempt{
		reads:           t.reads,
		isolation:       t.isolation(),
		blindAppend:     t.blindAppend(),
		partitioned:     len(t.base.PartitionColumns()) > 0,
		changesMetadata: t.metadata != nil,
		changesProtocol: t.protocol != nil,
		removes:         make(map[string]struct{}),
	}
	for _, d := range t.domains {
		a.domains = append(a.domains, d.Domain)
	}
	for _, r := range t.removes {
		if name, _, err := t.base.state.folder.name(r.Path); err == nil {
			a.removes[name] = struct{}{}
		}
	}
	return a
}

// isolation returns the table's level. A transaction that only rearranges rows gets a
// lower one, because no result depends on the location of a row.
func (t *Txn) isolation() Isolation {
	rearranges := t.metadata == nil && t.protocol == nil && len(t.txns) == 0 && len(t.domains) == 0
	for _, a := range t.adds {
		rearranges = rearranges && !a.DataChange
	}
	for _, r := range t.removes {
		rearranges = rearranges && !r.DataChange
	}
	switch {
	case rearranges:
		return SnapshotIsolation
	case t.base.Properties()[propIsolation] == "WriteSerializable":
		return WriteSerializable
	}
	return Serializable
}

// winner returns the description of the commit for the rules. before is the protocol of
// the previous version.
func (c *commit) winner(before *action.Protocol, at folder) (*winner, error) {
	w := &winner{version: c.version, before: before}
	if blind := c.info().IsBlindAppend; blind != nil {
		w.blindAppend = *blind
	}
	for _, a := range c.actions {
		switch a := a.(type) {
		case *action.Protocol:
			w.protocol = a
		case *action.Metadata:
			w.changesMetadata = true
		case *action.Add:
			w.adds = append(w.adds, a)
		case *action.Remove:
			name, _, err := at.name(a.Path)
			if err != nil {
				return nil, err
			}
			w.removes = append(w.removes, name)
		case *action.Txn:
			w.apps = append(w.apps, a.AppID)
		case *action.DomainMetadata:
			w.domains = append(w.domains, a.Domain)
		}
	}
	return w, nil
}
