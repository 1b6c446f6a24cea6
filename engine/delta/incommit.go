package delta

import (
	"maps"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// propICTTimestamp stands beside propICTVersion: the time of that version.
const propICTTimestamp = "delta.inCommitTimestampEnablementTimestamp"

// stampedAfter reports whether the version that a commit makes of s has an
// in-commit timestamp: that is a matter of the properties with which it leaves
// the table (protocol, "In-Commit Timestamps"). m is its metadata, or nil.
func (s *Snapshot) stampedAfter(m *action.Metadata) bool {
	if m == nil {
		return s.inCommitTimestamps()
	}
	return strings.EqualFold(m.Configuration[propICT], "true")
}

// stampedSince adds to metadata that switches in-commit timestamps on from which
// version they are there: the commits before have none. A new table needs none.
func (s *Snapshot) stampedSince(m *action.Metadata, timestamp int64) *action.Metadata {
	if m == nil || s.version < 0 || s.inCommitTimestamps() {
		return m
	}
	told := *m
	told.Configuration = maps.Clone(m.Configuration)
	told.Configuration[propICTVersion] = strconv.FormatInt(s.version+1, 10)
	told.Configuration[propICTTimestamp] = strconv.FormatInt(timestamp, 10)
	return &told
}
