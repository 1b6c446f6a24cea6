package result

import (
	"mime"
	"strconv"
	"strings"
)

// Format is a representation of rows.
type Format string

// The formats and their media types.
const (
	JSON    Format = "application/json"
	NDJSON  Format = "application/x-ndjson"
	CSV     Format = "text/csv"
	Arrow   Format = "application/vnd.apache.arrow.stream"
	Parquet Format = "application/vnd.apache.parquet"
)

// ContentType returns the value of the Content-Type header for f.
func (f Format) ContentType() string {
	if f == CSV {
		return "text/csv; charset=utf-8; header=present"
	}
	return string(f)
}

// Negotiate returns the format for an Accept header (RFC 9110, section 12.5.1): the
// acceptable one with the highest weight, and the first of equals. An empty header means
// JSON. ok is false if the header accepts no format.
func Negotiate(accept string) (f Format, ok bool) {
	if strings.TrimSpace(accept) == "" {
		return JSON, true
	}
	best := 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, has := params["q"]; has {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		if candidate, known := formatOf(media); known && q > best {
			f, ok, best = candidate, true, q
		}
	}
	return f, ok
}

func formatOf(media string) (Format, bool) {
	switch media {
	case "application/json", "application/*", "*/*":
		return JSON, true
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return NDJSON, true
	case "text/csv", "text/*":
		return CSV, true
	case "application/vnd.apache.arrow.stream":
		return Arrow, true
	case "application/vnd.apache.parquet":
		return Parquet, true
	}
	return "", false
}
