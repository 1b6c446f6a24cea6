package gateway

import (
	"path"
	"strings"
)

// writeOnce reports whether objects of this name are never changed while their table lives: data
// files, deletion vectors and change data next to the log; commits, compacted commits, checksums,
// checkpoints and their sidecars in it. _last_checkpoint and all other names may change, and are
// never cached.
func writeOnce(name string) bool {
	dir, base := path.Split(name)
	folder := path.Base(dir)
	switch {
	case strings.HasPrefix(base, "_"), strings.HasPrefix(base, "."):
		return false
	case folder == "_delta_log":
		return versioned(base)
	case strings.HasSuffix(base, ".parquet"):
		return true
	}
	return strings.HasPrefix(base, "deletion_vector_") && strings.HasSuffix(base, ".bin")
}

// versioned reports whether the name of a log file begins with a version.
func versioned(base string) bool {
	const width = 20
	if len(base) <= width || base[width] != '.' {
		return false
	}
	for _, c := range []byte(base[:width]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	switch path.Ext(base) {
	case ".json", ".parquet", ".crc":
		return true
	}
	return false
}
