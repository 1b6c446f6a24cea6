package delta

import (
	"math"
	"strconv"
	"strings"
)

// Codec returns the Parquet compression that delta.parquet.compression.codec selects:
// zstd, snappy, gzip, lz4_raw or uncompressed. It is false if the property is not set
// or not supported.
func (s *Snapshot) Codec() (codec string, ok bool) { return parseCodec(s.Properties()[propCodec]) }

func parseCodec(text string) (codec string, ok bool) {
	switch name := strings.ToLower(text); name {
	case "zstd", "snappy", "gzip", "lz4_raw", "uncompressed":
		return name, true
	case "none":
		return "uncompressed", true
	case "lz4raw", "lz4":
		return "lz4_raw", true
	}
	return "", false
}

// TargetFileSize returns the value of delta.targetFileSize in bytes. It is false if the
// property is not set or invalid.
func (s *Snapshot) TargetFileSize() (bytes int64, ok bool) {
	return parseFileSize(s.Properties()[propTargetFileSize])
}

// parseFileSize parses a number of bytes, or a number with a unit such as 128mb.
func parseFileSize(text string) (bytes int64, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "kmgtb ")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40,
		"tb": 40}[strings.TrimSpace(text[len(digits):])]
	if err != nil || !known || n <= 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}
