package delta

import (
	"fmt"
	"maps"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// Operation describes a transaction in the log.
type Operation struct {
	// Name is the operation in the words of the reference writer: WRITE,
	// DELETE, MERGE, OPTIMIZE, "ADD CONSTRAINT" …
	Name string
	// Parameters holds JSON text by name; see [action.JSONText].
	Parameters map[string]string
	// Metrics holds decimal numbers by name: numFiles, numOutputRows …
	Metrics  map[string]string
	UserID   string
	UserName string
	// Duties are what the caller did for every new row.
	Duties []Duty
}

// AddFile is a data file that a transaction makes part of the table. It must be
// in place before the commit, and hold every column of the schema but the
// partition columns, see [Snapshot.FileColumns] and [Snapshot.WholeFiles].
type AddFile struct {
	// Name is the object's name below the table's folder, not encoded.
	Name string
	// PartitionValues has an entry for exactly the partition columns, by the
	// names of the schema, in the log's form; see [PartitionValue].
	PartitionValues map[string]*string
	Size            int64
	ModTime         time.Time
	// Stats is the statistics' JSON; see [EncodeStats].
	Stats string
	Tags  map[string]*string
	// Rearranged marks rows that were in the table before (dataChange=false).
	Rearranged bool
	// DeletionVector hides rows of the file. See [Txn.DeleteRows] for files that
	// the table has already.
	DeletionVector *action.DeletionVector
}

// Txn gathers what one commit does and what it rests on. It belongs to one
// goroutine.
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
	// old has the paths of adds whose rows were in the table before.
	old map[string]struct{}
	// restores: the adds and removes are the difference of two versions.
	restores bool
}

// Begin starts a transaction on s. Nothing happens before [Txn.Commit].
func (s *Snapshot) Begin(op Operation) *Txn {
	return &Txn{base: s, op: op, id: s.opts.NewID()}
}

// ID is the txnId of the commit. It stays the same over retries.
func (t *Txn) ID() string { return t.id }

// Add makes files part of the table. Errors: [ErrUnsafePath], [ErrInvalidTxn].
func (t *Txn) Add(files ...AddFile) error {
	for _, f := range files {
		path := logpath.Encode(f.Name)
		if name, err := logpath.Decode(path); err != nil || name != f.Name {
			return fmt.Errorf("file %q: %w", f.Name, ErrUnsafePath)
		}
		if _, _, err := t.base.state.place.fileKey(path, f.DeletionVector); err != nil {
			return err
		}
		if f.Size <= 0 {
			return fmt.Errorf("file %q is empty: %w", f.Name, ErrInvalidTxn)
		}
		if _, counted := numRecords(f.Stats); f.DeletionVector != nil && !counted {
			return fmt.Errorf("file %q has a deletion vector, and nobody knows of how many rows: %w", f.Name, ErrInvalidTxn)
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

// emptied turns empty partition values into nulls, which is what every reader
// takes them for.
func emptied(values map[string]*string) map[string]*string {
	out := make(map[string]*string, len(values))
	for name, v := range values {
		if v != nil && *v == "" {
			v = nil
		}
		out[name] = v
	}
	return out
}

// partition checks the partition values of a new file and gives them the names
// that the log has for the columns.
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
	return emptied(out), nil
}

// tableAfter is the table as it stands after the transaction.
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

// Remove takes live files out of the table. rearranged says that their rows
// stay in it. The files also count as read.
func (t *Txn) Remove(rearranged bool, files ...File) error {
	now := t.base.opts.Clock().UnixMilli()
	for _, f := range files {
		key, _, err := t.base.state.place.fileKey(f.Add.Path, f.Add.DeletionVector)
		if err != nil {
			return err
		}
		if _, live := t.base.state.files.get(key); !live {
			return fmt.Errorf("file %q is not live: %w", f.Name, ErrInvalidTxn)
		}
		size := f.Add.Size
		t.removes = append(t.removes, &action.Remove{
			Path: f.Add.Path, DeletionTimestamp: &now, DataChange: !rearranged,
			ExtendedFileMetadata: new(true), PartitionValues: emptied(f.Add.PartitionValues), Size: &size,
			Tags: f.Add.Tags, DeletionVector: f.Add.DeletionVector, BaseRowID: f.Add.BaseRowID,
			DefaultRowCommitVersion: f.Add.DefaultRowCommitVersion,
		})
	}
	t.ReadFiles(files...)
	return nil
}

// SetTransaction records the progress of an application. Two commits of one
// application that start from the same snapshot conflict.
func (t *Txn) SetTransaction(appID string, version int64) {
	t.txns = append(t.txns, &action.Txn{
		AppID: appID, Version: version, LastUpdated: new(t.base.opts.Clock().UnixMilli()),
	})
	t.ReadTransaction(appID)
}

// SetMetadata replaces the metadata as a whole. The id must stay.
func (t *Txn) SetMetadata(m action.Metadata) {
	m.Configuration = maps.Clone(m.Configuration)
	t.metadata = &m
}

// SetProtocol replaces the protocol.
func (t *Txn) SetProtocol(p action.Protocol) { t.protocol = &p }

// SetDomain writes a metadata domain; removed ends it. That of row tracking is
// the commit's own.
func (t *Txn) SetDomain(domain, configuration string, removed bool) {
	t.domains = append(t.domains, &action.DomainMetadata{
		Domain: domain, Configuration: configuration, Removed: removed,
	})
}

// ReadFiles records that the outcome depends on these files.
func (t *Txn) ReadFiles(files ...File) {
	if t.reads.files == nil {
		t.reads.files = make(map[string]struct{})
	}
	for _, f := range files {
		t.reads.files[f.Name] = struct{}{}
	}
}

// ReadWholeTable records that the outcome depends on every row, files that are
// added meanwhile included. A merge and a uniqueness check do.
func (t *Txn) ReadWholeTable() { t.reads.whole = true }

// ReadPartitions records that the outcome depends on the rows of the partitions
// for which match is true. match gets values by the names of the schema, and
// must be pure.
func (t *Txn) ReadPartitions(match func(values map[string]*string) bool) {
	if t.base.Mapped() {
		byName := match
		match = func(values map[string]*string) bool { return byName(t.base.logicalValues(values)) }
	}
	t.reads.partitions = append(t.reads.partitions, match)
}

// ReadTransaction records that the outcome depends on the progress of an
// application.
func (t *Txn) ReadTransaction(appID string) {
	if t.reads.apps == nil {
		t.reads.apps = make(map[string]struct{})
	}
	t.reads.apps[appID] = struct{}{}
}

// blindAppend: only files added, and nothing read (protocol of conflicts).
func (t *Txn) blindAppend() bool {
	return len(t.adds) > 0 && len(t.removes) == 0 && t.metadata == nil && t.protocol == nil &&
		!t.reads.whole && len(t.reads.files) == 0 && len(t.reads.partitions) == 0
}
