package delta

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Names of table properties and of field metadata that mean something to us.
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
	prefixConstraint        = "delta.constraints."
	keyPhysicalName         = "delta.columnMapping.physicalName"
	keyColumnID             = "delta.columnMapping.id"
	keyInvariants           = "delta.invariants"
	keyGenerationExpression = "delta.generationExpression"
	keyDefault              = "CURRENT_DEFAULT"
	keyIdentityPrefix       = "delta.identity."
	keyTypeChanges          = "delta.typeChanges"
)

// propertyKinds lists the properties of the protocol and of the reference
// writer, which rejects other names below "delta.".
var propertyKinds = map[string]func(string) bool{
	propAppendOnly:                                      isBool,
	"delta.autoOptimize.autoCompact":                    anyText,
	"delta.autoOptimize.optimizeWrite":                  isBool,
	propCheckpointInterval:                              isPositive,
	propCheckpointPolicy:                                oneOf("classic", "v2"),
	"delta.checkpoint.writeStatsAsJson":                 isBool,
	"delta.checkpoint.writeStatsAsStruct":               isBool,
	propMappingMode:                                     oneOf("none", "name", "id"),
	propMaxColumnID:                                     isInt,
	"delta.compatibility.symlinkFormatManifest.enabled": isBool,
	propIndexedCols:                                     isIndexedCols,
	propStatsColumns:                                    anyText,
	propStringPrefix:                                    isPositive,
	propDeletedRetention:                                isInterval,
	propCDF:                                             isBool,
	propDV:                                              isBool,
	"delta.enableExpiredLogCleanup":                     isBool,
	propICT:                                             isBool,
	propICTVersion:                                      isInt,
	propICTTimestamp:                                    isInt,
	propRowTracking:                                     isBool,
	propTypeWidening:                                    isBool,
	propIsolation:                                       oneOf("Serializable", "WriteSerializable", "SnapshotIsolation"),
	propLogRetention:                                    isInterval,
	"delta.parquet.compression.codec":                   anyText,
	"delta.randomizeFilePrefixes":                       isBool,
	"delta.randomPrefixLength":                          isPositive,
	"delta.requireCheckpointProtectionBeforeVersion": isInt,
	"delta.sampling.enabled":                         isBool,
	propTxnRetention:                                 isInterval,
	"delta.targetFileSize":                           anyText,
	"delta.tuneFileSizesForRewrites":                 isBool,
	"delta.universalFormat.enabledFormats":           anyText,
}

// CheckProperties judges properties that somebody wants to set: names below
// "delta." must be known and have a value of their kind. Other names are free.
// The error is [ErrInvalidProperty].
func CheckProperties(properties map[string]string) error {
	for name, value := range properties {
		if name == "" || len(name) > 1024 || len(value) > 1<<20 {
			return fmt.Errorf("property %.40q: %w", name, ErrInvalidProperty)
		}
		if !strings.HasPrefix(name, "delta.") || strings.HasPrefix(name, prefixConstraint) {
			continue
		}
		valid, known := propertyKinds[name]
		if !known {
			return fmt.Errorf("unknown property %q: %w", name, ErrInvalidProperty)
		}
		if !valid(value) {
			return fmt.Errorf("property %q has value %q: %w", name, value, ErrInvalidProperty)
		}
	}
	return nil
}

func anyText(string) bool      { return true }
func isBool(v string) bool     { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }
func isInt(v string) bool      { _, err := strconv.ParseInt(v, 10, 64); return err == nil }
func isInterval(v string) bool { _, err := ParseInterval(v); return err == nil }

func isPositive(v string) bool {
	n, err := strconv.ParseInt(v, 10, 32)
	return err == nil && n > 0
}

func isIndexedCols(v string) bool {
	n, err := strconv.ParseInt(v, 10, 32)
	return err == nil && n >= -1
}

func oneOf(choices ...string) func(string) bool {
	return func(v string) bool {
		for _, c := range choices {
			if v == c {
				return true
			}
		}
		return false
	}
}

// ParseInterval reads the notation of durations in properties: "interval 7
// days", "1 week 12 hours". Months and years have no fixed length and are
// refused. The error is [ErrInvalidProperty].
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

// flag reads a boolean property.
func (s *Snapshot) flag(name string) bool {
	return strings.EqualFold(s.Properties()[name], "true")
}

// interval reads a duration property; a value that nobody understands stands
// for the longest retention, so that nothing is forgotten too early.
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

// inCommitTimestampsSince is the first version that has them.
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
