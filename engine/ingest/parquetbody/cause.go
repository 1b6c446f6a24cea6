package parquetbody

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// causes are the reasons for which DuckDB cannot read a file, by a part of its message in lower
// case.
var causes = []struct{ part, cause string }{
	{"decompress", "a page cannot be decompressed, so the file is damaged"},
	{"is not valid utf8", staging.NotUTF8},
	{"column named file_row_number", "a column named file_row_number cannot be read"},
	{"encrypt", "an encrypted file cannot be read"},
	{"codec", "the compression of a column is not known"},
	{"encoding", "the encoding of a column is not known"},
}

// Damaged is the cause of a file whose parts contradict each other.
const Damaged = "its pages do not match its footer, or are damaged"

// Cause returns why a file cannot be read, for clients, by the engine's message, which may hold
// values and paths.
func Cause(message string) string {
	message = strings.ToLower(message)
	for _, c := range causes {
		if strings.Contains(message, c.part) {
			return c.cause
		}
	}
	return Damaged
}
