package delta

import (
	"maps"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// propICTTimestamp holds the in-commit timestamp of the version in propICTVersion.
const propICTTimestamp = "delta.inCommitTimestampEnablementTimestamp"

// timestampedAfter reports whether the commit after s needs an in-commit timestamp. The
// table properties that the commit leaves in effect decide (protocol, "In-Commit
// Timestamps"). m is the metadata that the commit sets, or nil.
func (s *Snapshot) timestampedAfter(m *action.Metadata) bool {
	if m == nil {
		return s.inCommitTimestamps()
	}
	return strings.EqualFold(m.Configuration[propICT], "true")
}

// withEnablement records in metadata that enables in-commit timestamps the version from
// which on commits have them. A new table does not need this.
func (s *Snapshot) withEnablement(m *action.Metadata, timestamp int64) *action.Metadata {
	if m == nil || s.version < 0 || s.inCommitTimestamps() {
		return m
	}
	enabled := *m
	enabled.Configuration = maps.Clone(m.Configuration)
	enabled.Configuration[propICTVersion] = strconv.FormatInt(s.version+1, 10)
	enabled.Configuration[propICTTimestamp] = strconv.FormatInt(timestamp, 10)
	return &enabled
}
