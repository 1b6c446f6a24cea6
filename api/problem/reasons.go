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
}

// discloser is implemented by errors of refused tables that depend on what the caller can
// see of the table.
type discloser interface {
	// DisclosedFile returns the file that caused the error, relative to the table's
	// folder, or "" if the caller may not learn it: a name can contain values of hidden
	// rows.
	DisclosedFile() string
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

// reasonFields yields the reason of a refusal and, if the error discloses it, the file
// that caused it.
func reasonFields(err error, reason TableReason, yield func(string, string) bool) {
	var known discloser
	if !yield("reason", string(reason.Name)) || !errors.As(err, &known) {
		return
	}
	if name := known.DisclosedFile(); name != "" {
		yield("file", name)
	}
}
