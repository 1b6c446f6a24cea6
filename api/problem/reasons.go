package problem

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// TableReason is an entry of the table of reasons for which a table, or a version of it,
// is refused.
type TableReason struct {
	// Name is the message of the detail with the field reason.
	Name delta.Reason
	// Code is the name of an entry of [Codes].
	Code string
	// When describes the reason for the documentation.
	When string
}

// The codes of refused tables.
const (
	logBroken          = "table_log_broken"
	dataFileMissing    = "data_file_missing"
	dataFileUnreadable = "data_file_unreadable"
	unsupportedFeature = "unsupported_table_feature"
)

// TableReasons is the table of reasons. docs/errors.md is generated from it.
var TableReasons = []TableReason{
	{delta.ReasonAbsolutePath, unsupportedFeature, "The log names a file by an absolute path outside the table's folder. Only files of the " +
		"folder are read."},
	{delta.ReasonShallowClone, unsupportedFeature, "The table is a shallow clone: its files lie in the folder of another table. Read that " +
		"one, or make a deep clone."},
	{delta.ReasonUnsafePath, logBroken, "A path of the log leaves the table's folder, or is not a path."},
	{delta.ReasonCommitMissing, logBroken, "The log lacks a commit that the version needs, and no checkpoint covers it."},
	{delta.ReasonCommitDamaged, logBroken, "A commit of the log cannot be decoded."},
	{delta.ReasonCheckpointMissing, logBroken, "A checkpoint lacks a file, and the commits that it covers are gone."},
	{delta.ReasonCheckpointDamaged, logBroken, "A checkpoint cannot be decoded, or differs from its checksum file, and the commits that it " +
		"covers are gone."},
	{delta.ReasonSidecarMissing, logBroken, "A checkpoint lacks a sidecar file, and the commits that it covers are gone."},
	{delta.ReasonSidecarDamaged, logBroken, "A sidecar file of a checkpoint cannot be decoded, and the commits that it covers are gone."},
	{delta.ReasonLogTooLarge, logBroken, "A file of the log exceeds the limits of this server."},
	{delta.ReasonMetadataMissing, logBroken, "The version has no protocol, or no metaData with an id and a schema."},
	{delta.ReasonSchemaInvalid, logBroken, "The schema of the version cannot be used."},
	{delta.ReasonVectorMissing, dataFileMissing, "A file of deletion vectors is missing. Versions that do not need it can be read, and " +
		"restored."},
	{delta.ReasonVectorDamaged, logBroken, "A deletion vector cannot be decoded. Versions that do not need it can be read, and restored."},
	{delta.ReasonFileMissing, dataFileMissing, "A data file is missing. Versions and rows that do not need it can be read."},
	{delta.ReasonFileDamaged, dataFileUnreadable, "A data file is damaged, incomplete, or not a Parquet file."},
	{delta.ReasonFileMismatch, dataFileUnreadable, "A column of a data file has another type than in the table, or a value that the table's " +
		"type does not hold."},
	{delta.ReasonFileText, dataFileUnreadable, "A text in a data file is not UTF-8."},
}

// discloser is implemented by errors of refused tables that depend on what the caller can
// see of the table.
type discloser interface {
	// Disclosed returns the file that caused the error, relative to the table's folder, and
	// the column that cannot be read in it; each is "" if it is unknown. It returns false if
	// the caller may not learn them: a name can contain values of hidden rows.
	Disclosed() (file, column string, ok bool)
}

// unreadable maps the classes of engine errors about files that were read to reasons.
var unreadable = map[string]delta.Reason{
	engine.ClassDataFile:   delta.ReasonFileDamaged,
	engine.ClassFileSchema: delta.ReasonFileMismatch,
	engine.ClassFileText:   delta.ReasonFileText,
}

// tableReason returns the reason for which err refuses a table.
func tableReason(err error) (TableReason, bool) {
	var (
		refusal *delta.RefusalError
		failure *engine.Error
		name    delta.Reason
	)
	switch {
	case errors.As(err, &refusal):
		name = refusal.Reason
	case errors.As(err, &failure) && failure.Kind == engine.KindIO && failure.Class == engine.ClassMissing:
		name = delta.ReasonFileMissing
	case failure != nil && failure.Unreadable():
		name = unreadable[failure.Class]
	}
	for _, r := range TableReasons {
		if r.Name == name {
			return r, true
		}
	}
	return TableReason{}, false
}

// RefusesTable reports whether err refuses a table, or a version of it, for one of
// [TableReasons], an unsupported feature or a partition value that cannot be read.
func RefusesTable(err error) bool {
	var feature *delta.FeatureError
	_, known := tableReason(err)
	return known || errors.As(err, &feature) || errors.Is(err, delta.ErrPartitionValue)
}

// reasonFields yields the reason of a refusal and, if the error discloses them, the file that
// caused it and the column. If the content of a file is the reason, it is disclosed with them
// or not at all.
func reasonFields(err error, reason TableReason, yield func(string, string) bool) {
	var (
		known        discloser
		file, column string
		discloses    bool
		failure      *engine.Error
	)
	if errors.As(err, &known) {
		file, column, discloses = known.Disclosed()
	}
	content := errors.As(err, &failure) && failure.Unreadable()
	if content && !discloses || !yield("reason", string(reason.Name)) || !discloses {
		return
	}
	if file != "" && !yield("file", file) {
		return
	}
	if column != "" {
		yield("column", column)
	}
}
