package delta

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of table properties and keys of field metadata.
const (
	propAppendOnly          = "delta.appendOnly"
	propICT                 = "delta.enableInCommitTimestamps"
	propICTVersion          = "delta.inCommitTimestampEnablementVersion"
	propCDF                 = "delta.enableChangeDataFeed"
	propDV                  = "delta.enableDeletionVectors"
	propRowTracking         = "delta.enableRowTracking"
	propRowTrackingSuspend  = "delta.rowTrackingSuspended"
	propRowIDColumn         = "delta.rowTracking.materializedRowIdColumnName"
	propRowVersionColumn    = "delta.rowTracking.materializedRowCommitVersionColumnName"
	propTypeWidening        = "delta.enableTypeWidening"
	propMappingMode         = "delta.columnMapping.mode"
	propMaxColumnID         = "delta.columnMapping.maxColumnId"
	propCheckpointInterval  = "delta.checkpointInterval"
	propCheckpointPolicy    = "delta.checkpointPolicy"
	propIsolation           = "delta.isolationLevel"
	propDeletedRetention    = "delta.deletedFileRetentionDuration"
	propTxnRetention        = "delta.setTransactionRetentionDuration"
	propLogRetention        = "delta.logRetentionDuration"
	propIndexedCols         = "delta.dataSkippingNumIndexedCols"
	propStatsColumns        = "delta.dataSkippingStatsColumns"
	propStringPrefix        = "delta.dataSkippingStringPrefixLength"
	propCodec               = "delta.parquet.compression.codec"
	propTargetFileSize      = "delta.targetFileSize"
	prefixConstraint        = "delta.constraints."
	keyPhysicalName         = "delta.columnMapping.physicalName"
	keyColumnID             = "delta.columnMapping.id"
	keyNestedIDs            = "delta.columnMapping.nested.ids"
	keyParquetNestedIDs     = "parquet.field.nested.ids"
	keyInvariants           = "delta.invariants"
	keyGenerationExpression = "delta.generationExpression"
	keyDefault              = "CURRENT_DEFAULT"
	keyIdentityPrefix       = "delta.identity."
	keyTypeChanges          = "delta.typeChanges"
)

// valueKind describes the valid values of a property.
type valueKind struct {
	valid func(string) bool
	// must completes the sentence "the value must be …".
	must string
}

// propertyKinds lists the properties of the protocol and of the reference writer, which
// rejects other names with the prefix "delta.". A value that requests behaviour which
// this engine does not implement, and on which other writers or readers would rely, is
// invalid.
var propertyKinds = map[string]valueKind{
	propAppendOnly:                     boolean,
	"delta.autoOptimize.autoCompact":   boolean,
	"delta.autoOptimize.optimizeWrite": boolean,
	propCheckpointInterval:             positive,
	propCheckpointPolicy:               oneOf("classic", "v2"),
	propStatsAsText:                    boolean,
	propStatsAsStruct:                  boolean,
	propMappingMode:                    oneOf(mappingNone, mappingName, "id"),
	propIndexedCols:                    {isIndexedCols, "a number of columns, or -1 for all"},
	propStatsColumns: {columnList.MatchString,
		"a list of columns; names with other characters than letters, digits and _ must be in backticks"},
	propStringPrefix:                 positive,
	propDeletedRetention:             interval,
	propCDF:                          boolean,
	propDV:                           boolean,
	propLogCleanup:                   boolean,
	propICT:                          boolean,
	propRowTracking:                  boolean,
	propTypeWidening:                 boolean,
	propIsolation:                    oneOf("Serializable", "WriteSerializable", "SnapshotIsolation"),
	propLogRetention:                 interval,
	propCodec:                        {isCodec, "one of zstd, snappy, gzip, lz4, lz4_raw, none, uncompressed"},
	"delta.randomizeFilePrefixes":    boolean,
	"delta.randomPrefixLength":       positive,
	"delta.sampling.enabled":         boolean,
	propTxnRetention:                 interval,
	propTargetFileSize:               {isFileSize, "a number of bytes, or one with a unit, such as 128mb"},
	"delta.tuneFileSizesForRewrites": boolean,
	// Readers of manifests would not see commits of this engine.
	"delta.compatibility.symlinkFormatManifest.enabled": {isFalse, "false: manifests are not written"},
	// Other formats impose additional rules on every commit.
	"delta.universalFormat.enabledFormats": {isEmpty, "empty: no other table format is written"},
}

var (
	boolean  = valueKind{isBool, "true or false"}
	positive = valueKind{isPositive, "a number above 0"}
	interval = valueKind{isInterval, "a duration such as interval 7 days"}
)

// reservedProperties cannot be set or removed by users, because they must agree with
// the files and the log.
var reservedProperties = []string{
	propMaxColumnID, propICTVersion, propICTTimestamp, propRowTrackingSuspend, propRowIDColumn, propRowVersionColumn,
	"delta.requireCheckpointProtectionBeforeVersion",
}

const reservedReason = "is maintained by writers and cannot be set"

// checkProperties checks properties for a table with the given columns. The error is a
// [PropertyError].
func checkProperties(schema Struct, partitions []string, properties map[string]string) error {
	broken := make(map[string]string)
	for name, value := range properties {
		if reason := invalidProperty(schema, partitions, name, value); reason != "" {
			broken[name] = reason
		}
	}
	return refuseProperties(broken)
}

func refuseProperties(broken map[string]string) error {
	if len(broken) == 0 {
		return nil
	}
	return &PropertyError{broken}
}

// invalidProperty returns why a property cannot have the value, or "" if it can. A name
// with the prefix "delta." must be known, not reserved, and have a valid value. Other
// names are unrestricted.
func invalidProperty(schema Struct, partitions []string, name, value string) string {
	switch {
	case name == "" || len(name) > 1024 || len(value) > 1<<20:
		return "is empty or too long"
	case !strings.HasPrefix(name, "delta.") || strings.HasPrefix(name, prefixConstraint):
		return ""
	case slices.Contains(reservedProperties, name):
		return reservedReason
	}
	kind, known := propertyKinds[name]
	switch {
	case !known:
		return "is not known"
	case !kind.valid(value):
		return "must be " + kind.must
	case name == propStatsColumns:
		return invalidStatsColumns(schema, partitions, value)
	}
	return ""
}

func isEmpty(v string) bool    { return v == "" }
func isFalse(v string) bool    { return strings.EqualFold(v, "false") }
func isBool(v string) bool     { return strings.EqualFold(v, "true") || isFalse(v) }
func isInterval(v string) bool { _, err := ParseInterval(v); return err == nil }
func isCodec(v string) bool    { _, ok := parseCodec(v); return ok }
func isFileSize(v string) bool { _, ok := parseFileSize(v); return ok }

func isPositive(v string) bool {
	n, err := strconv.ParseInt(v, 10, 32)
	return err == nil && n > 0
}

func isIndexedCols(v string) bool {
	n, err := strconv.ParseInt(v, 10, 32)
	return err == nil && n >= -1
}

func oneOf(choices ...string) valueKind {
	return valueKind{func(v string) bool { return slices.Contains(choices, v) }, "one of " + strings.Join(choices, ", ")}
}

// ParseInterval parses the value of an interval property, such as "interval 7 days" or
// "1 week 12 hours". Months and years are refused because their length varies. The
// error is [ErrInvalidProperty].
func ParseInterval(text string) (time.Duration, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	bad := fmt.Errorf("interval %q: %w", text, ErrInvalidProperty)
	if len(words) == 0 || len(words)%2 != 0 {
		return 0, bad
	}
	var total time.Duration
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		unit, ok := intervalUnits[strings.TrimSuffix(words[i+1], "s")]
		if err != nil || !ok || n < 0 || n > int64(maxInterval/unit) {
			return 0, bad
		}
		if total += time.Duration(n) * unit; total > maxInterval {
			return 0, bad
		}
	}
	return total, nil
}

const maxInterval = 200 * 365 * 24 * time.Hour

var intervalUnits = map[string]time.Duration{
	"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute,
	"second": time.Second, "millisecond": time.Millisecond, "microsecond": time.Microsecond,
}

// flag reports whether a boolean property is true.
func (s *Snapshot) flag(name string) bool {
	return strings.EqualFold(s.Properties()[name], "true")
}

// interval returns the value of a duration property, or absent if it is not set. An
// invalid value means the longest retention, so that nothing is deleted too early.
func (s *Snapshot) interval(name string, absent time.Duration) time.Duration {
	return intervalIn(s.Properties(), name, absent)
}

func intervalIn(properties map[string]string, name string, absent time.Duration) time.Duration {
	text, ok := properties[name]
	if !ok {
		return absent
	}
	d, err := ParseInterval(text)
	if err != nil {
		return maxInterval
	}
	return d
}

func (s *Snapshot) inCommitTimestamps() bool { return s.flag(propICT) }

// inCommitTimestampsSince returns the first version with in-commit timestamps.
func (s *Snapshot) inCommitTimestampsSince() int64 {
	n, err := strconv.ParseInt(s.Properties()[propICTVersion], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (s *Snapshot) checkpointInterval() int64 {
	const usual = 10
	n, err := strconv.ParseInt(s.Properties()[propCheckpointInterval], 10, 32)
	if err != nil || n <= 0 {
		return usual
	}
	return n
}
