// Package file keeps objects as files below one directory, the same files that
// DuckDB, Spark and delta-rs see there.
//
// Other engines may write beside us and any number of our processes may share
// the directory: there is no lock, only atomic steps of the file system. A new
// object is a hidden temporary file that is written, synced, and then renamed
// (Put) or hard-linked (PutIfAbsent) to its name; link(2) fails when the name
// is taken, on every machine that shares the file system. Then the directory is
// synced, so that a commit that was acknowledged survives a power cut. Deletes
// are not synced.
//
// Limits that stores without folders do not have: a name cannot be an object
// and a folder of others at once, and a segment has at most 255 bytes; both
// give ErrInvalidName.
//
// No cloud SDK and no knowledge of tables belongs here.
//
// Invariants:
//   - Every path is opened through os.Root: a symbolic link, or a race that
//     swaps one in, cannot lead outside the root.
//   - A visible name is always a complete object.
//   - A crash leaves at most temporary files, which no listing shows, no name
//     can address and Uploads lists.
//
// It runs on systems with POSIX file names.
package file
