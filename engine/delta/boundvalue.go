package delta

import "time"

// timestampLayouts are the forms in which DuckDB prints timestamps. time.Parse accepts
// a fractional second after each of them.
var timestampLayouts = []string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07:00:00",
}

// parseTimestamp parses a timestamp as DuckDB prints it. It reports false outside the
// years 1 to 9999. A timestamp without an offset is in UTC.
func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return at, at.Year() >= 1 && at.Year() <= 9999
		}
	}
	return time.Time{}, false
}
