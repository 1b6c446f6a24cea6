package delta

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Snapshot is one version of a table. It is immutable and safe for concurrent use.
// Callers must not change the maps and slices that it returns.
type Snapshot struct {
	bucket  objstore.Bucket
	opts    Options
	version int64
	state   *state
	schema  Struct
	// head is the commit of this version. If it was cleaned up, only its version is
	// set.
	head      *commit
	timestamp time.Time
	identity  string
	// duplicate is the name of an object that is live under two paths, or "".
	duplicate string
	rows      func() (int64, bool)
	derived   *derived
	committed *committedAt
}

// committedAt caches the result of [Snapshot.CommittedAt].
type committedAt struct {
	mu    sync.Mutex
	known bool
	at    time.Time
}

// File is a live file of a snapshot.
type File struct {
	// Name is the object's name below the table's folder, decoded.
	Name string
	// Add is the add action of the file.
	Add *action.Add
}

// newSnapshot returns the snapshot of a state, which must not change anymore. Errors:
// [ErrLogBroken], [ErrInvalidSchema].
func newSnapshot(b objstore.Bucket, opts Options, version int64, st *state, head *commit) (*Snapshot, error) {
	if st.protocol == nil || st.metadata == nil || st.metadata.ID == "" || st.metadata.SchemaString == "" {
		return nil, withReason(ReasonMetadataMissing, "", fmt.Errorf("version %d has no protocol or no complete metaData: %w", version,
			ErrLogBroken))
	}
	schema, err := ParseSchema(st.metadata.SchemaString)
	if err != nil {
		return nil, withReason(ReasonSchemaInvalid, "", fmt.Errorf("version %d: %w", version, err))
	}
	for _, name := range st.metadata.PartitionColumns {
		if _, ok := schema.Field(name); !ok {
			return nil, withReason(ReasonSchemaInvalid, "", fmt.Errorf("version %d: partition column %q does not exist: %w", version, name,
				ErrInvalidSchema))
		}
	}
	st.compact()
	s := &Snapshot{bucket: b, opts: opts, version: version, state: st, schema: schema, head: head, derived: new(derived),
		committed: new(committedAt)}
	s.timestamp = head.object.ModTime
	if ict := head.info().InCommitTimestamp; ict != nil && s.inCommitTimestamps() {
		s.timestamp = time.UnixMilli(*ict)
	}
	s.timestamp = s.timestamp.UTC()
	if s.identity, err = s.digest(); err != nil {
		return nil, err
	}
	if st.absolute {
		s.duplicate = st.duplicate()
	}
	s.rows = sync.OnceValues(s.countRows)
	return s, nil
}

// digest returns the table's id with a hash of everything that determines how the
// version is read and of its commit. Two tables created one after the other at the same
// location have different digests.
func (s *Snapshot) digest() (string, error) {
	h := sha256.New()
	for _, a := range []action.Action{s.state.protocol, s.state.metadata} {
		line, err := action.Encode(a)
		if err != nil {
			return "", err
		}
		h.Write(line)
		h.Write([]byte{'\n'})
	}
	h.Write(strconv.AppendInt(nil, s.version, 10))
	h.Write(s.head.digest[:])
	return s.state.metadata.ID + "-" + hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// Version returns the snapshot's version.
func (s *Snapshot) Version() int64 { return s.version }

// TableID returns metaData.id.
func (s *Snapshot) TableID() string { return s.state.metadata.ID }

// Identity returns a string that identifies the content: the table's id with a digest
// of protocol, metadata, version and the last commit.
func (s *Snapshot) Identity() string { return s.identity }

// Metadata returns the table's metaData action.
func (s *Snapshot) Metadata() action.Metadata { return *s.state.metadata }

// Protocol returns the table's protocol action.
func (s *Snapshot) Protocol() action.Protocol { return *s.state.protocol }

// Schema returns the table's schema, including partition columns.
func (s *Snapshot) Schema() Struct { return s.schema }

// PartitionColumns returns the names of the partition columns, in order.
func (s *Snapshot) PartitionColumns() []string { return s.state.metadata.PartitionColumns }

// Properties returns the table's properties.
func (s *Snapshot) Properties() map[string]string { return s.state.metadata.Configuration }

// Timestamp returns when the version was committed: its in-commit timestamp if the
// table has those, else the modification time of the commit's file. It is zero if the
// commit was cleaned up. It can differ from the time in the history: see
// [Snapshot.CommittedAt].
func (s *Snapshot) Timestamp() time.Time { return s.timestamp }

// Bucket returns the bucket whose root is the table's folder.
func (s *Snapshot) Bucket() objstore.Bucket { return s.bucket }

// Damage returns the error of a damaged checkpoint that was avoided when this snapshot
// was loaded, or nil. Other engines may fail to read that checkpoint. The error is a
// [RefusalError].
func (s *Snapshot) Damage() error { return s.state.damage }

// NumFiles returns the number of live files.
func (s *Snapshot) NumFiles() int { return s.state.files.n }

// TotalBytes returns the sum of the sizes of the live files.
func (s *Snapshot) TotalBytes() int64 { return s.state.bytes }

// Rows returns the number of rows according to the files' statistics, without the rows
// that deletion vectors hide. It is false if a file has no row count. The first call
// reads every file's statistics.
func (s *Snapshot) Rows() (int64, bool) { return s.rows() }

func (s *Snapshot) countRows() (int64, bool) {
	var total int64
	for _, a := range s.state.files.all() {
		n, ok := numRecords(a.Stats)
		if !ok {
			return 0, false
		}
		if a.DeletionVector != nil {
			n -= a.DeletionVector.Cardinality
		}
		total += n
	}
	return total, true
}

// Files yields the live files in the order of their names.
func (s *Snapshot) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for key, a := range s.state.files.all() {
			if !yield(File{Name: fileName(key), Add: a}) {
				return
			}
		}
	}
}

// Tombstones yields the remove actions of the state, including expired ones, in the
// order of the files' names.
func (s *Snapshot) Tombstones() iter.Seq[*action.Remove] {
	return func(yield func(*action.Remove) bool) {
		for _, r := range s.state.tombs.all() {
			if !yield(r) {
				return
			}
		}
	}
}

// SetTransaction returns the last version that an application recorded.
func (s *Snapshot) SetTransaction(appID string) (version int64, ok bool) {
	t := s.state.txns[appID]
	if t == nil {
		return 0, false
	}
	return t.Version, true
}

// SetTransactions returns the last recorded transaction of each application, by its id.
func (s *Snapshot) SetTransactions() map[string]action.Txn {
	return values(s.state.txns)
}

// DomainMetadata returns the metadata domains that are not removed, by name.
func (s *Snapshot) DomainMetadata() map[string]action.DomainMetadata {
	return values(s.state.domains)
}

func values[T any](m map[string]*T) map[string]T {
	out := make(map[string]T, len(m))
	for k, v := range m {
		out[k] = *v
	}
	return out
}

// sortedValues yields a map's values in the order of the keys.
func sortedValues[T any](m map[string]T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(m[k]) {
				return
			}
		}
	}
}

// AbsolutePaths reports whether the log names files by absolute paths, so that a copy of the
// table's folder would refer to the original.
func (s *Snapshot) AbsolutePaths() bool { return s.state.absolute }
