// Package file stores objects as files below one directory, which DuckDB, Spark and delta-rs can
// read and write too.
//
// Other engines may write concurrently and any number of Lakewarden processes may share the
// directory: there is no lock, only atomic operations of the file system. A new object is a hidden
// temporary file that is written, synced, and then renamed (Put) or hard-linked (PutIfAbsent) to
// its name; link(2) fails if the name is taken, on every machine that shares the file system. Then
// the directory is synced, so that an acknowledged commit survives a power failure. Deletes are not
// synced.
//
// Two limits do not exist in stores without folders: a name cannot be both an object and a folder
// of others, and a segment has at most 255 bytes; both are ErrInvalidName.
//
// No cloud SDK and no knowledge of tables belongs here.
//
// Invariants:
//   - Every path is opened through os.Root: a symbolic link, or a race that swaps one in, cannot
//     lead outside the root.
//   - A visible name is always a complete object.
//   - A crash leaves at most temporary files. No listing returns them, no name can address them,
//     and Uploads lists them.
//
// The package requires POSIX file names.
package file
