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

// Snapshot is one version of a table. It is immutable and safe for concurrent
// use; maps and slices that it returns must not be changed.
type Snapshot struct {
	bucket  objstore.Bucket
	opts    Options
	version int64
	state   *state
	schema  Struct
	// head is the commit of this version. After its cleanup, below a
	// checkpoint, only the version is set.
	head      *commit
	timestamp time.Time
	identity  string
	// duplicate is the name of a file that is live under two paths, or "".
	duplicate string
	rows      func() (int64, bool)
	derived   *derived
	committed *committedAt
}

// committedAt is what [Snapshot.CommittedAt] remembers.
type committedAt struct {
	mu    sync.Mutex
	known bool
	at    time.Time
}

// File is a live file of a snapshot.
type File struct {
	// Name is the object's name below the table's folder, decoded.
	Name string
	// Add is the action that made it live.
	Add *action.Add
}

// newSnapshot seals a state. Errors: [ErrLogBroken], [ErrInvalidSchema].
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

// digest covers what decides how the version reads, and the commit that made
// it. Two tables written one after the other at one place differ in it.
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

// Version is the snapshot's version.
func (s *Snapshot) Version() int64 { return s.version }

// TableID is metaData.id. It never changes in the life of a table.
func (s *Snapshot) TableID() string { return s.state.metadata.ID }

// Identity identifies the content: the table's id with a digest of
// protocol, metadata, version and the last commit's bytes.
func (s *Snapshot) Identity() string { return s.identity }

// Metadata is the table's metaData action.
func (s *Snapshot) Metadata() action.Metadata { return *s.state.metadata }

// Protocol is the table's protocol action.
func (s *Snapshot) Protocol() action.Protocol { return *s.state.protocol }

// Schema is the table's schema, partition columns included.
func (s *Snapshot) Schema() Struct { return s.schema }

// PartitionColumns are the names of the partition columns, in order.
func (s *Snapshot) PartitionColumns() []string { return s.state.metadata.PartitionColumns }

// Properties are the table's properties.
func (s *Snapshot) Properties() map[string]string { return s.state.metadata.Configuration }

// Timestamp is when the version was committed: its in-commit timestamp where
// the table has those, else the modification time of the commit's file. It is
// zero when the commit is cleaned up. It can differ from what the history shows:
// see [Snapshot.CommittedAt].
func (s *Snapshot) Timestamp() time.Time { return s.timestamp }

// Bucket is the table's folder.
func (s *Snapshot) Bucket() objstore.Bucket { return s.bucket }

// Damage returns the error of a damaged checkpoint that loading this snapshot avoided, or
// nil. Engines that read the log themselves may fail at the checkpoint. The error is a
// [RefusalError].
func (s *Snapshot) Damage() error { return s.state.damage }

// NumFiles counts the live files.
func (s *Snapshot) NumFiles() int { return s.state.files.n }

// TotalBytes sums the sizes of the live files.
func (s *Snapshot) TotalBytes() int64 { return s.state.bytes }

// Rows counts the rows by the files' statistics, rows that deletion vectors
// hide not included. It is false when a file has no count. The first call reads
// every file's statistics.
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

// Tombstones yields the removals that are still recorded, expired ones
// included, in the order of the files' names.
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

// SetTransactions returns what each application recorded, by id.
func (s *Snapshot) SetTransactions() map[string]action.Txn {
	return values(s.state.txns)
}

// DomainMetadata returns the live metadata domains by name.
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
