// Package deletion implements deletion vectors: sets of deleted rows of a data file, in
// the three forms in which the log stores them (protocol, "Deletion Vectors").
//
// It converts bytes to [Rows] and back. Callers read and write the bytes and the
// actions that refer to them. The package does not access a store.
//
// Invariants:
//   - [Rows] are immutable and safe for concurrent use.
//   - Damaged or hostile bytes are an error, never a panic and never a different
//     set. Decoding allocates a small multiple of the given bytes, however many
//     rows they claim to hold.
//   - Names of files are always inside the table's folder.
package deletion
