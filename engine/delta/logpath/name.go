package logpath

import (
	"fmt"
	"strconv"
	"strings"
)

// Locations in a table's folder.
const (
	// Dir is the folder of the log, with a trailing slash.
	Dir = "_delta_log/"
	// LastCheckpoint is the name of the hint at the newest checkpoint.
	LastCheckpoint = Dir + "_last_checkpoint"
	// SidecarDir is the folder of the sidecars of V2 checkpoints, with a trailing
	// slash.
	SidecarDir = Dir + "_sidecars/"
)

// digits is the width of a version in a file name.
const digits = 20

// Kind is the kind of a file of the log.
type Kind int

// The kinds of files.
const (
	// Other is a file that this package does not know.
	Other Kind = iota
	// Commit is `<version>.json`.
	Commit
	// Checkpoint is `<version>.checkpoint.parquet`.
	Checkpoint
	// Multipart is one part of `<version>.checkpoint.<part>.<parts>.parquet`.
	Multipart
	// V2 is `<version>.checkpoint.<uuid>.json` or `.parquet`.
	V2
	// Checksum is `<version>.crc`.
	Checksum
	// Compacted is `<version>.<end>.compacted.json`.
	Compacted
)

// File is a parsed name of a file of the log.
type File struct {
	// Name is the object's name below the table's folder.
	Name    string
	Kind    Kind
	Version int64
	// End is the last version of a Compacted file.
	End int64
	// Part and Parts are set for a Multipart checkpoint. Part starts at one.
	Part, Parts int
	// UUID and JSON describe a V2 checkpoint.
	UUID string
	JSON bool
	// Size is the object's size in bytes according to a listing. Parse does not set it.
	Size int64
}

// CommitName returns the name of a version's commit.
func CommitName(version int64) string { return fmt.Sprintf("%s%020d.json", Dir, version) }

// CheckpointName returns the name of a version's classic checkpoint.
func CheckpointName(version int64) string {
	return fmt.Sprintf("%s%020d.checkpoint.parquet", Dir, version)
}

// MultipartName returns the name of a part of a multipart checkpoint. part starts at
// one.
func MultipartName(version int64, part, parts int) string {
	return fmt.Sprintf("%s%020d.checkpoint.%010d.%010d.parquet", Dir, version, part, parts)
}

// ChecksumName returns the name of a version's checksum file.
func ChecksumName(version int64) string { return fmt.Sprintf("%s%020d.crc", Dir, version) }

// Before returns a string that sorts before all files of a version and after all files
// of older versions. A listing can start after it.
func Before(version int64) string { return fmt.Sprintf("%s%020d", Dir, version) }

// Parse parses an object name. Unknown names have kind Other, because the log's folder
// may hold files of unknown features.
func Parse(name string) File {
	f := File{Name: name}
	base, ok := strings.CutPrefix(name, Dir)
	if !ok || strings.Contains(base, "/") {
		return f
	}
	parts := strings.Split(base, ".")
	version, ok := number(parts[0], digits)
	if !ok {
		return f
	}
	f.Version = version
	switch {
	case len(parts) == 2 && parts[1] == "json":
		f.Kind = Commit
	case len(parts) == 2 && parts[1] == "crc":
		f.Kind = Checksum
	case len(parts) == 4 && parts[2] == "compacted" && parts[3] == "json":
		f.parseCompacted(parts[1])
	case len(parts) >= 3 && parts[1] == "checkpoint":
		f.parseCheckpoint(parts[2:])
	}
	return f
}

func (f *File) parseCompacted(end string) {
	last, ok := number(end, digits)
	if ok && last > f.Version {
		f.Kind, f.End = Compacted, last
	}
}

func (f *File) parseCheckpoint(rest []string) {
	last := rest[len(rest)-1]
	switch {
	case len(rest) == 1 && last == "parquet":
		f.Kind = Checkpoint
	case len(rest) == 2 && isUUID(rest[0]) && (last == "parquet" || last == "json"):
		f.Kind, f.UUID, f.JSON = V2, rest[0], last == "json"
	case len(rest) == 3 && last == "parquet":
		part, ok1 := number(rest[0], 10)
		parts, ok2 := number(rest[1], 10)
		if ok1 && ok2 && part >= 1 && part <= parts && parts <= 1<<20 {
			f.Kind, f.Part, f.Parts = Multipart, int(part), int(parts)
		}
	}
}

// number parses exactly width decimal digits.
func number(s string, width int) (int64, bool) {
	if len(s) != width {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}
