package delta

import (
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// Reason classifies why a table, or one version of it, is unreadable. It never depends
// on values of rows, so every caller may see it.
type Reason string

// The reasons of a [RefusalError].
const (
	// ReasonAbsolutePath: the log names a file that lies outside the table's folder.
	ReasonAbsolutePath Reason = "absolute_path"
	// ReasonShallowClone: the table is a clone whose files lie in its source's folder.
	ReasonShallowClone Reason = "shallow_clone"
	// ReasonUnsafePath: a path of the log leads out of the table's folder, or is not a
	// valid path.
	ReasonUnsafePath Reason = "unsafe_path"
	// ReasonCommitMissing: the log lacks a commit that the version needs.
	ReasonCommitMissing Reason = "commit_missing"
	// ReasonCommitDamaged: a commit cannot be decoded.
	ReasonCommitDamaged Reason = "commit_damaged"
	// ReasonCheckpointMissing: a checkpoint, or a part of one, is missing.
	ReasonCheckpointMissing Reason = "checkpoint_missing"
	// ReasonCheckpointDamaged: a file of a checkpoint cannot be decoded.
	ReasonCheckpointDamaged Reason = "checkpoint_damaged"
	// ReasonSidecarMissing: a sidecar of a checkpoint is missing.
	ReasonSidecarMissing Reason = "sidecar_missing"
	// ReasonSidecarDamaged: a sidecar of a checkpoint cannot be decoded.
	ReasonSidecarDamaged Reason = "sidecar_damaged"
	// ReasonLogTooLarge: a file of the log exceeds [Options.Limits].
	ReasonLogTooLarge Reason = "log_too_large"
	// ReasonMetadataMissing: the version has no protocol, or no complete metaData.
	ReasonMetadataMissing Reason = "metadata_missing"
	// ReasonSchemaInvalid: the schema in the version's metaData is invalid.
	ReasonSchemaInvalid Reason = "schema_invalid"
	// ReasonVectorMissing: a file of deletion vectors is missing.
	ReasonVectorMissing Reason = "deletion_vector_missing"
	// ReasonVectorDamaged: a deletion vector cannot be decoded.
	ReasonVectorDamaged Reason = "deletion_vector_damaged"
	// ReasonFileMissing: a data file is missing.
	ReasonFileMissing Reason = "data_file_missing"
	// ReasonFileDamaged: a data file is damaged.
	ReasonFileDamaged Reason = "data_file_damaged"
	// ReasonFileMismatch: a column of a data file is not of the table's type.
	ReasonFileMismatch Reason = "data_file_mismatch"
	// ReasonFileText: a text of a data file is not UTF-8.
	ReasonFileText Reason = "data_file_text"
)

// RefusalError reports why a table, or one version of it, cannot be read.
type RefusalError struct {
	Reason Reason
	// Name is the name of the damaged or missing object below the table's folder. It is
	// empty if the object is outside or unknown. It can contain partition values: only
	// callers who may read the whole table may see it.
	Name string
	Err  error
}

func (e *RefusalError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Reason, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *RefusalError) Unwrap() error { return e.Err }

// withReason returns err with a reason, unless it has one already.
func withReason(reason Reason, name string, err error) error {
	var known *RefusalError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &RefusalError{Reason: reason, Name: name, Err: err}
}

// withActionReason is withReason for an error of decoding or applying actions. damaged is
// the reason if they cannot be decoded; unsafe paths and excessive sizes have their own.
// Other errors, such as those of the store, are returned unchanged.
func withActionReason(damaged Reason, name string, err error) error {
	switch {
	case errors.Is(err, logpath.ErrElsewhere):
		return withReason(ReasonAbsolutePath, name, err)
	case errors.Is(err, ErrUnsafePath):
		return withReason(ReasonUnsafePath, name, err)
	case errors.Is(err, ErrTooLarge):
		return withReason(ReasonLogTooLarge, name, err)
	case isDamage(err):
		return withReason(damaged, name, err)
	}
	return err
}
