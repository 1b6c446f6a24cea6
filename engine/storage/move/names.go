package move

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// Table returns the folder of the table whose log contains the object name, without a trailing
// slash; "" is the root itself. It returns false for an object that is not in a log.
func Table(name string) (folder string, ok bool) {
	log := logFolder(name)
	return strings.TrimSuffix(strings.TrimSuffix(log, logpath.Dir), "/"), log != ""
}

// logFolder returns the folder of the log to which the object name belongs, with a trailing slash,
// or "" if it belongs to none. A log includes the folders below it.
func logFolder(name string) string {
	if strings.HasPrefix(name, logpath.Dir) {
		return logpath.Dir
	}
	if at := strings.Index(name, "/"+logpath.Dir); at >= 0 {
		return name[:at+1+len(logpath.Dir)]
	}
	return ""
}

// role is what an object means to the readers of a log.
type role int

const (
	// plain objects are data files and the files of a log that only others refer to.
	plain role = iota
	// commit is a version.
	commit
	// base is a checkpoint or a compacted range: a file from which a version can be read without
	// the commits before it.
	base
	// hint is the name of the newest checkpoint, which readers do not depend on.
	hint
)

func roleOf(name string) role {
	log := logFolder(name)
	if log == "" {
		return plain
	}
	inLog := name[len(log):]
	switch {
	case logpath.Dir+inLog == logpath.LastCheckpoint:
		return hint
	case logpath.Parse(logpath.Dir+inLog).Kind == logpath.Commit:
		return commit
	case strings.Contains(inLog, "/"):
		return plain
	case strings.Contains(inLog, ".checkpoint.") || strings.Contains(inLog, ".compacted."):
		return base
	}
	return plain
}

// afterVersions sorts after the files of a log that begin with a version, and before the hint and
// the folders of sidecars.
const afterVersions = ":"
