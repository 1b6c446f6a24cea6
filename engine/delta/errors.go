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
	ErrTableNotFound = errors.New("delta table not found")
	// ErrVersionNotFound: the version or time asked for does not exist or is
	// no longer reconstructible. Not retried: 404.
	ErrVersionNotFound = errors.New("delta version not found")
	// ErrLogBroken: the log has a gap, lacks protocol or metadata, contradicts
	// itself, or changed below a snapshot. Not retried: 409.
	ErrLogBroken = errors.New("delta log broken")
	// ErrIdentityChanged: the folder holds a table with another metaData.id than the
	// snapshot. Not retried: 409 table_identity_changed.
	ErrIdentityChanged = errors.New("delta table replaced by another")
	// ErrMalformed: a file of the log cannot be parsed. Not retried: 409.
	ErrMalformed = action.ErrMalformed
	// ErrTooLarge: a file of the log exceeds [Options.Limits]. Not retried: 409.
	ErrTooLarge = action.ErrTooLarge
	// ErrUnsafePath: an action names a file outside the table. Not retried: 409.
	ErrUnsafePath = logpath.ErrUnsafePath
	// ErrUnsupportedFeature: see [FeatureError]. Not retried: 409
	// unsupported_table_feature.
	ErrUnsupportedFeature = errors.New("unsupported table feature")
	// ErrInvalidSchema: a schema, type name or partitioning is invalid. Returned by the
	// parsers and [Create]. Not retried: 422.
	ErrInvalidSchema = errors.New("invalid schema")
	// ErrInvalidValue: a new partition value or statistic is not a valid value of its
	// type. Not retried: 422.
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
	// ErrInvalidTxn: the transaction violates a rule of the protocol or of this
	// package. Not retried: 422.
	ErrInvalidTxn = errors.New("invalid transaction")
	// ErrConflict is matched by all conflicts after which the operation may be planned
	// again from a fresh snapshot: 409.
	ErrConflict = errors.New("delta commit conflict")
	// ErrCommitUnknown: see [UnknownError]. The caller must keep the data files: 503.
	ErrCommitUnknown = errors.New("outcome of commit unknown")
)

// Conflicts that another plan from a fresh snapshot can resolve. Each wraps
// [ErrConflict].
var (
	// ErrConcurrentAppend: files were added that the transaction should have read.
	ErrConcurrentAppend = fmt.Errorf("concurrent append: %w", ErrConflict)
	// ErrConcurrentDeleteRead: a file that the transaction read was removed.
	ErrConcurrentDeleteRead = fmt.Errorf("concurrent delete of read file: %w", ErrConflict)
	// ErrConcurrentDeleteDelete: a file that the transaction removes was removed.
	ErrConcurrentDeleteDelete = fmt.Errorf("concurrent delete of deleted file: %w", ErrConflict)
	// ErrMetadataChanged: schema, partitioning or properties changed.
	ErrMetadataChanged = fmt.Errorf("metadata changed: %w", ErrConflict)
	// ErrDomainConflict: both commits write the same metadata domain.
	ErrDomainConflict = fmt.Errorf("concurrent domain metadata: %w", ErrConflict)
	// ErrContention: every attempt lost the race to a commit that did not conflict.
	ErrContention = fmt.Errorf("too many lost races: %w", ErrConflict)
)

// Conflicts that planning again cannot resolve. They do not wrap [ErrConflict].
var (
	// ErrProtocolChanged: the protocol changed during the transaction: 409.
	ErrProtocolChanged = errors.New("protocol changed")
	// ErrConcurrentTransaction: a commit with the same application id succeeded. The
	// work is already done or must not be repeated: 409.
	ErrConcurrentTransaction = errors.New("concurrent transaction of the same application")
)

// FeatureError names the feature that prevents an operation. It matches
// [ErrUnsupportedFeature].
type FeatureError struct {
	// Feature is the protocol's name of the feature, or a description of a combination.
	Feature string
	// Write reports whether only writing is unsupported.
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

// SchemaError reports an invalid part of a schema or partitioning. It matches
// [ErrInvalidSchema].
type SchemaError struct {
	Part SchemaPart
	// Index is the index of the top-level column, or of the entry in the list of
	// partition columns. It is -1 if the error is about the whole list.
	Index int
	// Reason completes a sentence whose subject is the part. It quotes names of the
	// schema at most.
	Reason string
}

// SchemaPart is the subject of a [SchemaError].
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

// PropertyError reports why properties cannot be set or removed. It matches
// [ErrInvalidProperty].
type PropertyError struct {
	// Reasons holds a predicate for each invalid property, by the property's name.
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

// UnknownError identifies a commit whose outcome is unknown. It matches
// [ErrCommitUnknown]. [LookupCommit] can resolve it later.
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

// Unwrap returns the error of the store.
func (e *UnknownError) Unwrap() error { return e.cause }
