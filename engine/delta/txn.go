package delta

import (
	"fmt"
	"maps"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// Operation describes a transaction in commitInfo.
type Operation struct {
	// Name is the operation as the reference writer names it: WRITE, DELETE, MERGE,
	// OPTIMIZE, "ADD CONSTRAINT" …
	Name string
	// Parameters holds JSON values by name; see [action.JSONText].
	Parameters map[string]string
	// Metrics holds decimal numbers by name: numFiles, numOutputRows …
	Metrics  map[string]string
	UserID   string
	UserName string
	// Duties are the duties that the caller fulfilled for every new row.
	Duties []Duty
}

// AddFile describes a data file that a transaction adds to the table. The file must
// exist before the commit and hold every column of the schema except partition columns;
// see [Snapshot.FileColumns] and [Snapshot.WholeFiles].
type AddFile struct {
	// Name is the object's name below the table's folder, not encoded.
	Name string
	// PartitionValues has exactly one entry for each partition column, by logical name
	// and in the form of the log; see [PartitionValue].
	PartitionValues map[string]*string
	Size            int64
	ModTime         time.Time
	// Stats holds the statistics as JSON; see [EncodeStats].
	Stats string
	Tags  map[string]*string
	// Rearranged reports whether all rows were in the table before (dataChange=false).
	Rearranged bool
	// DeletionVector hides rows of the file. For files that are already live, see
	// [Txn.DeleteRows].
	DeletionVector *action.DeletionVector
}

// Txn collects the actions of one commit and what it depends on. It is not safe for
// concurrent use.
type Txn struct {
	base *Snapshot
	op   Operation
	id   string
	done bool

	adds     []*action.Add
	removes  []*action.Remove
	cdcs     []*action.CDC
	metadata *action.Metadata
	protocol *action.Protocol
	txns     []*action.Txn
	domains  []*action.DomainMetadata

	reads reads
	// old holds the paths of adds whose rows were in the table before.
	old map[string]struct{}
	// restores reports whether the adds and removes are the difference of two versions.
	restores bool
}

// Begin starts a transaction on s. It does not access the store.
func (s *Snapshot) Begin(op Operation) *Txn {
	return &Txn{base: s, op: op, id: s.opts.NewID()}
}

// ID returns the txnId of the commit, which is the same for all attempts.
func (t *Txn) ID() string { return t.id }

// Add adds files to the table. Errors: [ErrUnsafePath], [ErrInvalidTxn].
func (t *Txn) Add(files ...AddFile) error {
	for _, f := range files {
		path := logpath.Encode(f.Name)
		if name, err := logpath.Decode(path); err != nil || name != f.Name {
			return fmt.Errorf("file %q: %w", f.Name, ErrUnsafePath)
		}
		if _, _, err := t.base.state.folder.fileKey(path, f.DeletionVector); err != nil {
			return err
		}
		if f.Size <= 0 {
			return fmt.Errorf("file %q is empty: %w", f.Name, ErrInvalidTxn)
		}
		if _, counted := numRecords(f.Stats); f.DeletionVector != nil && !counted {
			return fmt.Errorf("file %q has a deletion vector but no row count: %w", f.Name, ErrInvalidTxn)
		}
		values, err := t.partition(f.Name, f.PartitionValues)
		if err != nil {
			return err
		}
		t.adds = append(t.adds, &action.Add{
			Path: path, PartitionValues: values, Size: f.Size,
			ModificationTime: f.ModTime.UnixMilli(), DataChange: !f.Rearranged,
			Stats: f.Stats, Tags: f.Tags, DeletionVector: f.DeletionVector,
		})
	}
	return nil
}

// emptyToNull replaces empty partition values by null, as every reader does.
func emptyToNull(values map[string]*string) map[string]*string {
	out := make(map[string]*string, len(values))
	for name, v := range values {
		if v != nil && *v == "" {
			v = nil
		}
		out[name] = v
	}
	return out
}

// partition checks the partition values of a new file and returns them by physical
// names.
func (t *Txn) partition(file string, values map[string]*string) (map[string]*string, error) {
	meta, schema, err := t.tableAfter()
	if err != nil {
		return nil, err
	}
	if len(values) != len(meta.PartitionColumns) {
		return nil, fmt.Errorf("file %q has %d partition values, the table %d partition columns: %w",
			file, len(values), len(meta.PartitionColumns), ErrInvalidTxn)
	}
	out := make(map[string]*string, len(values))
	for _, column := range meta.PartitionColumns {
		value, ok := values[column]
		if !ok {
			return nil, fmt.Errorf("file %q has no value of partition column %q: %w", file, column, ErrInvalidTxn)
		}
		field, _ := schema.Field(column)
		if (value == nil || *value == "") && field.Type != nil && !field.Nullable {
			return nil, fmt.Errorf("file %q: partition column %q is null: %w", file, column, ErrInvalidTxn)
		}
		out[fileNaming(meta.Configuration)(field)] = value
	}
	return emptyToNull(out), nil
}

// tableAfter returns the metadata and schema that the transaction leaves in effect.
func (t *Txn) tableAfter() (*action.Metadata, Struct, error) {
	if t.metadata == nil || t.metadata.SchemaString == t.base.state.metadata.SchemaString {
		if t.metadata != nil {
			return t.metadata, t.base.schema, nil
		}
		return t.base.state.metadata, t.base.schema, nil
	}
	schema, err := ParseSchema(t.metadata.SchemaString)
	return t.metadata, schema, err
}

// Remove removes live files from the table. rearranged reports whether their rows
// remain in the table in other files. The files also count as read.
func (t *Txn) Remove(rearranged bool, files ...File) error {
	now := t.base.opts.Clock().UnixMilli()
	for _, f := range files {
		key, _, err := t.base.state.folder.fileKey(f.Add.Path, f.Add.DeletionVector)
		if err != nil {
			return err
		}
		if _, live := t.base.state.files.get(key); !live {
			return fmt.Errorf("file %q is not live: %w", f.Name, ErrInvalidTxn)
		}
		size := f.Add.Size
		t.removes = append(t.removes, &action.Remove{
			Path: f.Add.Path, DeletionTimestamp: &now, DataChange: !rearranged,
			ExtendedFileMetadata: new(true), PartitionValues: emptyToNull(f.Add.PartitionValues), Size: &size,
			Tags: f.Add.Tags, DeletionVector: f.Add.DeletionVector, BaseRowID: f.Add.BaseRowID,
			DefaultRowCommitVersion: f.Add.DefaultRowCommitVersion,
		})
	}
	t.ReadFiles(files...)
	return nil
}

// SetTransaction records the progress of an application. Concurrent commits of the same
// application conflict.
func (t *Txn) SetTransaction(appID string, version int64) {
	t.txns = append(t.txns, &action.Txn{
		AppID: appID, Version: version, LastUpdated: new(t.base.opts.Clock().UnixMilli()),
	})
	t.ReadTransaction(appID)
}

// SetMetadata replaces the metadata. The table's id must not change.
func (t *Txn) SetMetadata(m action.Metadata) {
	m.Configuration = maps.Clone(m.Configuration)
	t.metadata = &m
}

// SetProtocol replaces the protocol.
func (t *Txn) SetProtocol(p action.Protocol) { t.protocol = &p }

// SetDomain writes a metadata domain, or removes it if removed is set. Commit itself
// writes the domain of row tracking.
func (t *Txn) SetDomain(domain, configuration string, removed bool) {
	t.domains = append(t.domains, &action.DomainMetadata{
		Domain: domain, Configuration: configuration, Removed: removed,
	})
}

// ReadFiles records that the transaction depends on these files.
func (t *Txn) ReadFiles(files ...File) {
	if t.reads.files == nil {
		t.reads.files = make(map[string]struct{})
	}
	for _, f := range files {
		t.reads.files[f.Name] = struct{}{}
	}
}

// ReadWholeTable records that the transaction depends on every row, including those in
// files that are added concurrently. A merge and a uniqueness check need it.
func (t *Txn) ReadWholeTable() { t.reads.whole = true }

// ReadPartitions records that the transaction depends on the rows of the partitions for
// which match is true. match gets the partition values by logical names and must be a
// pure function.
func (t *Txn) ReadPartitions(match func(values map[string]*string) bool) {
	if t.base.Mapped() {
		byName := match
		match = func(values map[string]*string) bool { return byName(t.base.logicalValues(values)) }
	}
	t.reads.partitions = append(t.reads.partitions, match)
}

// ReadTransaction records that the transaction depends on the recorded progress of an
// application.
func (t *Txn) ReadTransaction(appID string) {
	if t.reads.apps == nil {
		t.reads.apps = make(map[string]struct{})
	}
	t.reads.apps[appID] = struct{}{}
}

// blindAppend reports whether the transaction only adds files and reads nothing.
func (t *Txn) blindAppend() bool {
	return len(t.adds) > 0 && len(t.removes) == 0 && t.metadata == nil && t.protocol == nil &&
		!t.reads.whole && len(t.reads.files) == 0 && len(t.reads.partitions) == 0
}
