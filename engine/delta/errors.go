package delta

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// Errors of reading.
var (
	// ErrTableNotFound: the folder holds no Delta log. Not retried: 404.
	ErrTableNotFound = errors.New("no delta table here")
	// ErrVersionNotFound: the version or time asked for does not exist or is
	// no longer reconstructible. Not retried: 404.
	ErrVersionNotFound = errors.New("delta version not found")
	// ErrLogBroken: the log has a gap, lacks protocol or metadata, contradicts
	// itself, or changed below a snapshot. Not retried: 409.
	ErrLogBroken = errors.New("delta log broken")
	// ErrIdentityChanged: another table (another metaData.id) stands where the
	// snapshot's table stood. Not retried: 409 table_identity_changed.
	ErrIdentityChanged = errors.New("delta table replaced by another")
	// ErrMalformed: a file of the log cannot be parsed. Not retried: 409.
	ErrMalformed = action.ErrMalformed
	// ErrTooLarge: a file of the log exceeds our limits. Not retried: 409.
	ErrTooLarge = action.ErrTooLarge
	// ErrUnsafePath: an action names a file outside the table. Not retried: 409.
	ErrUnsafePath = logpath.ErrUnsafePath
	// ErrUnsupportedFeature: see [FeatureError]. Not retried: 409
	// unsupported_table_feature.
	ErrUnsupportedFeature = errors.New("unsupported table feature")
	// ErrInvalidSchema: a schema, type name or partitioning is not usable.
	// Returned by the parsers and [Create]. Not retried: 422.
	ErrInvalidSchema = errors.New("invalid schema")
	// ErrInvalidValue: a new partition value or statistic does not have its
	// type's form. Not retried: 422.
	ErrInvalidValue = errors.New("invalid value")
	// ErrPartitionValue: see [PartitionError]. Not retried: 409
	// partition_value_unreadable.
	ErrPartitionValue = errors.New("partition value cannot be read")
)

// Errors of writing.
var (
	// ErrTableExists: [Create] found a log. Not retried: 409.
	ErrTableExists = errors.New("delta table exists")
	// ErrInvalidProperty: a table property is unknown or has a bad value.
	// Not retried: 422.
	ErrInvalidProperty = errors.New("invalid table property")
	// ErrInvalidTxn: the transaction may not be committed as it stands. Not
	// retried: 422.
	ErrInvalidTxn = errors.New("invalid transaction")
	// ErrConflict is the family of conflicts after which the operation may be
	// planned again from a fresh snapshot: 409.
	ErrConflict = errors.New("delta commit conflict")
	// ErrCommitUnknown: see [UnknownError]. The data files must be kept: 503.
	ErrCommitUnknown = errors.New("outcome of commit unknown")
)

// Conflicts that another plan from a fresh snapshot can resolve. Each wraps
// [ErrConflict].
var (
	// ErrConcurrentAppend: files were added that we should have read.
	ErrConcurrentAppend = fmt.Errorf("concurrent append: %w", ErrConflict)
	// ErrConcurrentDeleteRead: a file that we read was removed.
	ErrConcurrentDeleteRead = fmt.Errorf("concurrent delete of read file: %w", ErrConflict)
	// ErrConcurrentDeleteDelete: a file that we remove was removed.
	ErrConcurrentDeleteDelete = fmt.Errorf("concurrent delete of deleted file: %w", ErrConflict)
	// ErrMetadataChanged: schema, partitioning or properties changed.
	ErrMetadataChanged = fmt.Errorf("metadata changed: %w", ErrConflict)
	// ErrDomainConflict: a metadata domain was written by both.
	ErrDomainConflict = fmt.Errorf("concurrent domain metadata: %w", ErrConflict)
	// ErrContention: every attempt lost the race to a commit that was no
	// conflict in itself.
	ErrContention = fmt.Errorf("too many lost races: %w", ErrConflict)
)

// Conflicts that planning again cannot resolve. They do not wrap [ErrConflict].
var (
	// ErrProtocolChanged: the protocol changed under the transaction: 409.
	ErrProtocolChanged = errors.New("protocol changed")
	// ErrConcurrentTransaction: the same application id committed; the work is
	// done already or must not be done again: 409.
	ErrConcurrentTransaction = errors.New("concurrent transaction of one application")
)

// FeatureError names the feature that stands against an operation. It matches
// [ErrUnsupportedFeature].
type FeatureError struct {
	// Feature is the protocol's name for it, or ours for a combination.
	Feature string
	// Write is true when reading would be possible.
	Write bool
	// Reason completes the sentence "feature X: …".
	Reason string
}

func (e *FeatureError) Error() string {
	what := "read"
	if e.Write {
		what = "write"
	}
	text := fmt.Sprintf("%s of table with feature %s", what, e.Feature)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text + ": " + ErrUnsupportedFeature.Error()
}

// Is matches [ErrUnsupportedFeature].
func (e *FeatureError) Is(target error) bool { return target == ErrUnsupportedFeature }

// SchemaError says what part of a schema, or of a partitioning, cannot be. It
// matches [ErrInvalidSchema].
type SchemaError struct {
	Part SchemaPart
	// Index is that of the top-level column, or of the entry among the partition
	// columns; -1 means that all of them together are wrong.
	Index int
	// Reason completes a sentence about the part. It has no words but ours and
	// those of the schema.
	Reason string
}

// SchemaPart is what a [SchemaError] is about.
type SchemaPart int

// The parts of a schema.
const (
	ColumnName SchemaPart = iota
	ColumnType
	PartitionColumn
)

func (e *SchemaError) Error() string {
	what := [...]string{"name of column", "type of column", "partition column"}[e.Part]
	return fmt.Sprintf("%s %d %s: %v", what, e.Index, e.Reason, ErrInvalidSchema)
}

// Is matches [ErrInvalidSchema].
func (e *SchemaError) Is(target error) bool { return target == ErrInvalidSchema }

// PropertyError says of properties, by name, why they are not set or removed. It
// matches [ErrInvalidProperty].
type PropertyError struct {
	// Reasons complete sentences about the properties, in our words.
	Reasons map[string]string
}

func (e *PropertyError) Error() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.Reasons)) {
		fmt.Fprintf(&b, "property %.40q %s: ", name, e.Reasons[name])
	}
	return b.String() + ErrInvalidProperty.Error()
}

// Is matches [ErrInvalidProperty].
func (e *PropertyError) Is(target error) bool { return target == ErrInvalidProperty }

// UnknownError says which commit may or may not have landed. It matches
// [ErrCommitUnknown]. [LookupCommit] resolves it later.
type UnknownError struct {
	Version int64
	TxnID   string
	cause   error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("commit %d: %v: %v", e.Version, ErrCommitUnknown, e.cause)
}

// Is matches [ErrCommitUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrCommitUnknown }

// Unwrap returns what the store said.
func (e *UnknownError) Unwrap() error { return e.cause }
